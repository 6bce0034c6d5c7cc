"""Rows of events, found by task and time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import numpy as np

from schedtop.base.breath import keep_on
from schedtop.capture.parts import Parted, parts_for
from schedtop.model.rows import Rows, take_rows

ROWS_OF_A_PART = 4096
"""To sort so many takes a third of a millisecond."""


class ByTask:
    """The rows of each task in the order of time. They are made for a part of all tasks once it is asked for one."""

    def __init__(self, parts: int, make: Callable[[int], Rows], at: str, breathe: Callable[[], object]) -> None:
        """`make`: the rows of a part, by task and time; a task is in that of its tid modulo `parts`. `at`: the field
        of their time. `breathe` is called in between."""
        self._parts: list[_Part | None] = [None] * parts
        self._make, self._at, self._breathe = make, at, breathe

    def of(self, tid: int) -> Rows:
        """All rows of a task."""
        part = self._part(tid)
        low, high = part.spans.get(tid, (0, 0))
        rows: Rows = part.rows[low:high]
        return rows

    def times(self, tid: int) -> list[int]:
        """Their times."""
        return self._part(tid).times(tid)

    def between(self, tid: int, start_ns: int, end_ns: int) -> Rows:
        """Those of a task from `start_ns` until before `end_ns`, in the order of time."""
        part = self._part(tid)
        low, times = part.spans.get(tid, (0, 0))[0], part.times(tid)
        rows: Rows = part.rows[low + bisect_left(times, start_ns) : low + bisect_left(times, end_ns)]
        return rows

    def last_before(self, tid: int, end_ns: int) -> Any:
        """The last one of a task before `end_ns`; `None`: there is none."""
        part = self._part(tid)
        last = bisect_left(part.times(tid), end_ns) - 1
        return part.rows[part.spans[tid][0] + last] if last >= 0 else None

    def _part(self, tid: int) -> _Part:
        number = tid & (len(self._parts) - 1)
        part = self._parts[number]
        if part is None:
            part = self._parts[number] = _Part(self._make(number), self._at)
            self._breathe()
        return part


class _Part:
    """Rows that are sorted by task and time. Their times become lists, which are quick to search."""

    def __init__(self, rows: Rows, at: str) -> None:
        self.rows = rows
        self._times = np.ascontiguousarray(rows[at])
        tids, starts = np.unique(rows["tid"], return_index=True)
        ends = np.append(starts[1:], len(rows))[: len(tids)]
        self.spans = dict(zip(tids.tolist(), zip(starts.tolist(), ends.tolist(), strict=True), strict=True))
        self._lists: dict[int, list[int]] = {}

    def times(self, tid: int) -> list[int]:
        found = self._lists.get(tid)
        if found is None:
            low, high = self.spans.get(tid, (0, 0))
            found = self._lists[tid] = self._times[low:high].tolist()
        return found


def by_task(rows: Rows, at: str = "time_ns", breathe: Callable[[], object] = keep_on) -> ByTask:
    """Rows in any order; `at`: the field of their time. `breathe` is called in between."""
    parts = parts_for(len(rows), ROWS_OF_A_PART)
    parted = Parted(rows, parts, breathe)

    def made(number: int) -> Rows:
        found = parted.part(number)
        return take_rows(found, np.lexsort((found[at], found["tid"])))

    breathe()
    return ByTask(parts, made, at, breathe)
