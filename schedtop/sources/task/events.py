"""What happens to a task one by one: its slowest calls and the changes of its connections, as they come."""

from __future__ import annotations

import time
from collections.abc import Mapping

from schedtop.sources.task import tables
from schedtop.sources.task.programs import TaskPrograms
from schedtop.task import SLOWEST, ConnectionChange, SlowCall, slowest

_MANY_SLOW = 32


class SingleEvents:
    """Those of one interval; `slow_lost`, `changes_lost`: how many were overwritten before they were taken."""

    def __init__(self, programs: TaskPrograms, names: Mapping[int, str]) -> None:
        """`names`: of system calls, by number."""
        self._programs = programs
        self._names = names
        self.slow: tuple[SlowCall, ...] = ()
        self.slow_lost = 0
        self.changes: tuple[ConnectionChange, ...] = ()
        self.changes_lost = 0

    def take(self) -> None:
        """Takes what has come since the last time, in the middle of the interval."""
        self._take_slow()
        self._take_changes()

    def take_last(self) -> None:
        """The same at its end."""
        self._take_slow()
        # The next interval is likely to be as this one; if it is not, the one after that starts from the bottom.
        self._programs.keep_from(self.slow[-1].duration_ns // 2 if len(self.slow) == SLOWEST else 0)
        self._take_changes()

    def _take_slow(self) -> None:
        rows, overwritten = self._programs.take_slow_calls()
        self.slow = slowest(self.slow + tables.slow_calls(rows, self._names, clock_offset_ns()))
        self.slow_lost += overwritten
        if len(rows) >= _MANY_SLOW:
            # Only those that may still be among the slowest.
            self._programs.keep_from(self.slow[-1].duration_ns if len(self.slow) == SLOWEST else 0)

    def _take_changes(self) -> None:
        rows, overwritten = self._programs.take_changes()
        self.changes += tables.connection_changes(rows, clock_offset_ns())
        self.changes_lost += overwritten


def clock_offset_ns() -> int:
    """Wall clock less CLOCK_MONOTONIC."""
    return time.time_ns() - time.monotonic_ns()
