"""What is shown of activity: a window of it, filtered, in groups, in an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from schedtop.activity.activity import Activity, total
from schedtop.activity.fields import SUMMED_DTYPE, absent_fields, with_sums
from schedtop.base.units import NS_PER_S
from schedtop.model.activity_rows import grouped, merge_threads
from schedtop.model.containers import cgroup_label, container_label
from schedtop.model.filters import Filter
from schedtop.model.rows import Rows, text

NO_TASK = "(unknown)"
"""Whose connections they are that no task of ours opened, accepted or sent to."""

VIEW_DTYPE = np.dtype(
    [("id", "<u8"), ("born", "<u8"), *((name, SUMMED_DTYPE[name]) for name in SUMMED_DTYPE.names or ())]
)
"""A row with what tells it from all others: `id` is the number of its group, `born` (of threads) their start."""

EVERYTHING = Filter()

NAME, NUMBER = "name", "number"
"""Orders that are none of the numbers that were counted."""


@dataclass(frozen=True, slots=True)
class ActivitySettings:
    """`by`: one of GROUPS; `sort`: NAME, NUMBER or a field of VIEW_DTYPE; `window_ns`: what numbers are of."""

    by: str = "process"
    sort: str = "syscalls"
    window_ns: int = NS_PER_S
    filter: Filter = EVERYTHING


@dataclass(frozen=True, slots=True, eq=False)
class ActivityView:
    """A moment: `activity` of the window, `rows` of VIEW_DTYPE in order, of `row_count` that there are unfiltered.

    `absent`: the numbers that are not there. `behind_ns`: how far it is behind now, `None`: it is live.
    """

    settings: ActivitySettings
    activity: Activity
    rows: Rows
    row_count: int
    absent: frozenset[str]
    behind_ns: int | None = None

    def missing(self, part: str) -> str:
        """Why a part of it is not there, in words; empty if it is."""
        why = self.activity.unavailable.get(part, "")
        return why or ("" if part in self.activity.only else f"{part} is not measured")

    def names(self, rows: Rows) -> list[str]:
        """What rows are called: the task, the process, the cgroup, the container."""
        return row_names(rows, self.settings.by, self.activity)


def view_of(intervals: Sequence[Activity], settings: ActivitySettings, behind_ns: int | None = None) -> ActivityView:
    """The view of intervals that follow each other."""
    activity = total(intervals)
    # A task may have connections and do nothing: that is a row, too.
    threads = merge_threads([activity.rows, activity.connections])
    passed = _passed(threads, settings, activity)
    rows = _identified(grouped(passed, settings.by, activity.cgroups), settings.by, activity)
    count = len(rows) if len(passed) == len(threads) else len(grouped(threads, settings.by, activity.cgroups))
    return ActivityView(
        settings=settings,
        activity=activity,
        rows=_in_order(rows, settings, activity),
        row_count=count,
        absent=frozenset(absent_fields(activity)),
        behind_ns=behind_ns,
    )


def row_names(rows: Rows, by: str, activity: Activity) -> list[str]:
    """What rows are called that are grouped by one of GROUPS."""
    if by in ("cgroup", "container"):
        label = cgroup_label if by == "cgroup" else container_label
        return [label(activity.cgroups.get(number, "")) for number in rows["cgroup_id"].tolist()]
    if by == "comm":
        return [text(name) or NO_TASK for name in rows["comm"].tolist()]
    return [
        text(name) or ("" if tgid else NO_TASK)
        for name, tgid in zip(rows["comm"].tolist(), rows["tgid"].tolist(), strict=True)
    ]


def _passed(threads: Rows, settings: ActivitySettings, activity: Activity) -> Rows:
    """The threads that the filter lets through, by the name that is shown."""
    wanted = settings.filter
    if not wanted or not len(threads):
        return threads
    shown = threads
    if settings.by != "thread":
        shown = threads.copy()
        shown["comm"] = threads["process"]
    return wanted.rows(shown, "", activity.cgroups)


def _identified(rows: Rows, by: str, activity: Activity) -> Rows:
    summed = with_sums(rows)
    found = np.zeros(len(rows), VIEW_DTYPE)
    for name in SUMMED_DTYPE.names or ():
        found[name] = summed[name]
    if by == "thread":
        found["id"], found["born"] = rows["tid"], rows["start_ns"]
    elif by in ("process", "cgroup"):
        found["id"] = rows["tgid" if by == "process" else "cgroup_id"]
    else:
        found["id"] = [crc32(name.encode(errors="surrogateescape")) for name in row_names(rows, by, activity)]
    return found


def _in_order(rows: Rows, settings: ActivitySettings, activity: Activity) -> Rows:
    """Numbers from the largest on, names and tids from the smallest."""
    if settings.sort == NUMBER:
        return rows[np.argsort(rows["id"], kind="stable")]
    names = np.array([name.casefold() for name in row_names(rows, settings.by, activity)], dtype=str)
    if settings.sort == NAME:
        return rows[np.lexsort((rows["id"], names))]
    return rows[np.lexsort((rows["id"], names, -rows[settings.sort]))]
