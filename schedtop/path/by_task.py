"""Rows of events, found by task and time."""

from __future__ import annotations

from typing import Any

import numpy as np

from schedtop.model.rows import Rows


class ByTask:
    """Rows that are sorted by `tid` and then by the field `at`."""

    def __init__(self, rows: Rows, at: str) -> None:
        self._rows = rows
        self._times = rows[at]
        tids, starts = np.unique(rows["tid"], return_index=True)
        ends = np.append(starts[1:], len(rows))[: len(tids)]
        self._spans = dict(zip(tids.tolist(), zip(starts.tolist(), ends.tolist(), strict=True), strict=True))

    @property
    def tids(self) -> tuple[int, ...]:
        """The tasks that have rows."""
        return tuple(self._spans)

    def of(self, tid: int) -> Rows:
        """All rows of a task."""
        low, high = self._spans.get(tid, (0, 0))
        rows: Rows = self._rows[low:high]
        return rows

    def between(self, tid: int, start_ns: int, end_ns: int) -> Rows:
        """Those of a task from `start_ns` until before `end_ns`, in the order of time."""
        low, high = self._spans.get(tid, (0, 0))
        first, last = self._times[low:high].searchsorted((start_ns, end_ns))
        rows: Rows = self._rows[low + first : low + last]
        return rows

    def last_before(self, tid: int, end_ns: int) -> Any:
        """The last one of a task before `end_ns`; `None`: there is none."""
        low, high = self._spans.get(tid, (0, 0))
        last = low + int(self._times[low:high].searchsorted(end_ns)) - 1
        return self._rows[last] if last >= low else None


def by_task(rows: Rows, at: str = "time_ns") -> ByTask:
    """Rows in any order; `at`: the field of their time."""
    return ByTask(rows[np.lexsort((rows[at], rows["tid"]))], at)
