"""The orders that rows and CPUs are shown in: their keys with words, and the sorting."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from schedtop.base.breath import keep_on
from schedtop.model.rows import Rows, take_many, take_rows

TASK_SORTS = {
    "run_delay_ns": "run delay",
    "max_wait_ns": "longest wait",
    "switches": "switches",
    "involuntary_switches": "involuntary switches",
    "run_ns": "run time",
    "migrations": "migrations",
}
"""Sort keys of the task table with their words, all descending."""


CPU_SORTS = {
    "cpu": "number",
    "busy": "busy",
    "switches": "switches",
    "involuntary": "involuntary switches",
    "share": "involuntary share",
    "steal": "steal",
    "queue": "queue",
    "wait": "longest wait",
}
"""Orders of the CPUs with their words: by number from the first on, by all others the largest first."""


PAIR_SORTS = {"blocker": "blocked_ns", "preemptor": "preempted_ns"}
"""The other task of a pair, and the time that counts then."""


PAIR_ORDERS = {"time": "most time first", "count": "most often first"}
"""Orders of the pairs, when they are grouped, with their words."""


SLOW_WAIT_SORTS = {"wait_ns": "slowest first", "time_ns": "newest first"}


def sort_tasks(rows: Rows, key: str) -> Rows:
    """Rows of tasks or of groups of them by one of TASK_SORTS, largest first; equals by tid or id."""
    values = rows["voluntary_switches"] + rows["involuntary_switches"] if key == "switches" else rows[key]
    number = "tid" if "tid" in (rows.dtype.names or ()) else "id"
    return take_rows(rows, np.lexsort((rows[number], -values)))


def sort_slow_waits(rows: Rows, key: str, breathe: Callable[[], object] = keep_on) -> Rows:
    """Slow-wait rows by one of SLOW_WAIT_SORTS, largest (or newest) first; `breathe` is called in between."""
    if len(rows) < 2:
        return rows
    order = np.lexsort((-rows["time_ns"], -rows[key]))
    breathe()
    return take_many(rows, order, breathe)


def sort_pairs(rows: Rows, blame: str) -> Rows:
    """Pair rows by the time that counts for one of PAIR_SORTS, largest first; equals by victim."""
    return take_rows(rows, np.lexsort((rows["other_tid"], rows["victim_tid"], -rows[PAIR_SORTS[blame]])))
