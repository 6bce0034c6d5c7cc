"""Waits that are over although no tracepoint told so: the task sleeps by /proc, and has the same wait still.

Some kernels hide the switches of some tasks from all tracepoints (docs/kernels-found.md): such a task would seem to
starve until it is seen again.
"""

from __future__ import annotations

from collections.abc import Callable

from schedtop.base.breath import keep_on
from schedtop.base.units import NS_PER_MS
from schedtop.model.rows import Integers, Rows
from schedtop.sources.host.pid_numbers import PROC
from schedtop.sources.host.task_stat import stat_fields
from schedtop.sources.kernel.mapped_rows import MappedRows

LONG_NS = 200 * NS_PER_MS
"""Waits that have lasted as long are looked at."""

MOST_READ = 16
"""How many files are read for one interval, for the oldest waits first."""

_RUNNABLE = "R"


class EndedWaits:
    """Looks at the long waits under way, and remembers those that are over."""

    def __init__(self, proc: str = str(PROC)) -> None:
        self._proc = proc
        self._over: set[tuple[int, int]] = set()

    def drop(
        self,
        rows: Rows,
        slots: Rows | MappedRows,
        places: Integers,
        now_ns: int,
        inside: Callable[[int], int],
        breathe: Callable[[], object] = keep_on,
    ) -> None:
        """Clears `wait_start_ns` in `rows`, copies of `slots` at `places`, of the waits that are over.

        A wait that ended in the meantime, and was seen to, is not in the slot any more. `inside`: what a task of the
        host is called in /proc (0: not at all). Takes breaths.
        """
        starts = rows["wait_start_ns"]
        if not len(long := ((starts > 0) & (starts < now_ns - LONG_NS)).nonzero()[0]):
            self._over.clear()
            return
        over: set[tuple[int, int]] = set()
        left = MOST_READ
        for at in long[starts[long].argsort()].tolist():
            wait = (int(rows["tid"][at]), int(starts[at]))
            if wait not in self._over:
                if not left:
                    continue
                left -= 1
                breathe()
                if not self._sleeps(inside(wait[0])) or slots.take(places[at])["wait_start_ns"] != wait[1]:
                    continue
            over.add(wait)
            rows["wait_start_ns"][at] = 0
        self._over = over

    def _sleeps(self, number: int) -> bool:
        """Whether a task is known not to be runnable."""
        if not number:
            return False
        try:
            with open(f"{self._proc}/{number}/stat", "rb", buffering=0) as file:
                fields = stat_fields(file.read())
        except OSError:
            return False
        return bool(fields) and fields[0] != _RUNNABLE
