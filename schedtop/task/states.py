"""What a thread can be, and for how long it was."""

from __future__ import annotations

from dataclasses import dataclass, fields

STATES = ("running", "runnable", "sleeping", "uninterruptible", "stopped", "throttled")
"""What a thread can be (`enum thread_state` of bpf/task/task.h). `throttled`: off its CPU because of its group's quota,
until that comes back. `runnable`: it waits for a CPU. Blocked is `sleeping` (interruptible) or `uninterruptible`."""


@dataclass(frozen=True, slots=True)
class StateTimes:
    """Nanoseconds in each of STATES; of several threads their sum."""

    running_ns: int = 0
    runnable_ns: int = 0
    sleeping_ns: int = 0
    uninterruptible_ns: int = 0
    stopped_ns: int = 0
    throttled_ns: int = 0

    def __add__(self, other: StateTimes) -> StateTimes:
        return StateTimes(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(StateTimes)))

    @property
    def blocked_ns(self) -> int:
        """Sleeping or uninterruptible."""
        return self.sleeping_ns + self.uninterruptible_ns

    @property
    def total_ns(self) -> int:
        """All states: the interval, times the threads that lived all of it."""
        return sum(self.by_state().values())

    def by_state(self) -> dict[str, int]:
        """Nanoseconds by the words of STATES, in that order."""
        return {state: getattr(self, f"{state}_ns") for state in STATES}

    def ratio(self, state: str) -> float | None:
        """The share (0..1) of one of STATES, `None` where there is no time at all."""
        whole = self.total_ns
        return int(getattr(self, f"{state}_ns")) / whole if whole else None


@dataclass(frozen=True, slots=True)
class Column:
    """A piece of the strip, about 100 ms: `duration_ns` of wall-clock time, and the states of all threads in it."""

    duration_ns: int
    states: StateTimes
