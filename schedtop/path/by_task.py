"""Rows of events, found by task and time."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np

from schedtop.model.rows import Rows


class ByTask:
    """Rows that are sorted by `tid` and then by the field `at`. Their times become lists, which are quick to search."""

    def __init__(self, rows: Rows, at: str) -> None:
        self._rows = rows
        self._times = np.ascontiguousarray(rows[at])
        tids, starts = np.unique(rows["tid"], return_index=True)
        ends = np.append(starts[1:], len(rows))[: len(tids)]
        self._spans = dict(zip(tids.tolist(), zip(starts.tolist(), ends.tolist(), strict=True), strict=True))
        self._lists: dict[int, list[int]] = {}

    @property
    def tids(self) -> tuple[int, ...]:
        """The tasks that have rows."""
        return tuple(self._spans)

    def of(self, tid: int) -> Rows:
        """All rows of a task."""
        low, high = self._spans.get(tid, (0, 0))
        rows: Rows = self._rows[low:high]
        return rows

    def times(self, tid: int) -> list[int]:
        """Their times."""
        found = self._lists.get(tid)
        if found is None:
            low, high = self._spans.get(tid, (0, 0))
            found = self._lists[tid] = self._times[low:high].tolist()
        return found

    def between(self, tid: int, start_ns: int, end_ns: int) -> Rows:
        """Those of a task from `start_ns` until before `end_ns`, in the order of time."""
        low, times = self._spans.get(tid, (0, 0))[0], self.times(tid)
        rows: Rows = self._rows[low + bisect_left(times, start_ns) : low + bisect_left(times, end_ns)]
        return rows

    def last_before(self, tid: int, end_ns: int) -> Any:
        """The last one of a task before `end_ns`; `None`: there is none."""
        last = bisect_left(self.times(tid), end_ns) - 1
        return self._rows[self._spans[tid][0] + last] if last >= 0 else None


def by_task(rows: Rows, at: str = "time_ns") -> ByTask:
    """Rows in any order; `at`: the field of their time."""
    return ByTask(rows[np.lexsort((rows[at], rows["tid"]))], at)
