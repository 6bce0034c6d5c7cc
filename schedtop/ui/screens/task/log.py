"""What a task view has counted so far, added up: since it was opened or begun anew, and over the latest seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from schedtop.model.rows import Integers
from schedtop.task import STATES, Column, TaskFrame

STRIP_NS = 100_000_000
"""How long a piece of the strip is."""

MOST_PIECES = 6000
"""How much of the strip is kept: ten minutes."""

KEEP_NS = 60_000_000_000
"""How much is kept in single intervals: the longest window."""

MOST_CHANGES = 200
"""How many changes of connections are kept: the latest."""


class TaskLog:
    """Intervals of one task view, added up. Not shared between threads."""

    def __init__(self) -> None:
        self.is_anew = False
        self._total: TaskFrame | None = None
        self._latest: deque[TaskFrame] = deque()
        self._strip: deque[Integers] = deque()
        self._window: tuple[int, TaskFrame | None] = (0, None)

    def add(self, task: TaskFrame) -> None:
        """Takes the next interval."""
        for column in task.strip:
            self._strip.extend(_pieces(column))
        while len(self._strip) > MOST_PIECES:
            self._strip.popleft()
        bare = replace(task, strip=())
        self._total = bare if self._total is None else _bounded(self._total + bare)
        self._latest.append(bare)
        while len(self._latest) > 1 and task.end_ns - self._latest[0].end_ns >= KEEP_NS:
            self._latest.popleft()
        self._window = (0, None)

    def begin_anew(self) -> None:
        """Forgets what was counted, but not which task it is and whether it has ended."""
        last = self._latest[-1] if self._latest else None
        self.__init__()  # type: ignore[misc]
        self.is_anew = True
        if last is not None and last.ended:
            self.add(last)

    def copy(self) -> TaskLog:
        """A log that stays as this one is now."""
        twin = TaskLog()
        twin.is_anew, twin._total = self.is_anew, self._total
        twin._latest, twin._strip = deque(self._latest), deque(self._strip)
        return twin

    def counts(self, window_ns: int | None) -> TaskFrame | None:
        """The sum of the latest `window_ns`, `None`: of all of it; `None` before the first interval."""
        if window_ns is None or self._total is None:
            return self._total
        if self._window[0] != window_ns:
            self._window = (window_ns, self._sum(window_ns))
        return self._window[1]

    def _sum(self, window_ns: int) -> TaskFrame:
        left, wanted = window_ns, []
        for task in reversed(self._latest):
            wanted.append(task)
            left -= task.interval_ns
            # Intervals are never exactly as long as they should be.
            if left < task.interval_ns // 2:
                break
        total = wanted.pop()
        while wanted:
            total = total + wanted.pop()
        return total

    def strip(self, window_ns: int | None) -> Integers:
        """Nanoseconds in each of STATES in each piece of STRIP_NS, oldest first, shape (pieces, states)."""
        many = len(self._strip) if window_ns is None else min(len(self._strip), round(window_ns / STRIP_NS))
        if not many:
            return np.zeros((0, len(STATES)), np.int64)
        return np.stack([self._strip[place] for place in range(len(self._strip) - many, len(self._strip))])


def _pieces(column: Column) -> Iterable[Integers]:
    """A column of the strip in pieces of about STRIP_NS."""
    times = np.array([*column.states.by_state().values()], np.int64)
    many = max(1, round(column.duration_ns / STRIP_NS))
    return [times // many] * many


def _bounded(task: TaskFrame) -> TaskFrame:
    """The same with only so many connections."""
    if len(task.connections) <= MOST_CHANGES:
        return task
    return replace(task, connections=task.connections[-MOST_CHANGES:])
