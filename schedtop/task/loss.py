"""What a TaskFrame does not have: parts that a kernel cannot give, what is more than it keeps, what was lost."""

from __future__ import annotations

from dataclasses import dataclass, fields

PARTS = ("throttled", "syscalls", "faults", "fault time", "io", "io kinds", "network", "connections", "attributes")
"""Keys of `TaskFrame.unavailable` (with `wakers`, `woken_by`, `migrations`, `slow waits` and `entitlement`)."""

CHANGES_KEPT = 2000
"""How many changes of connections a TaskFrame keeps: the last ones."""

SLOW_WAITS_KEPT = 2000
"""How many slow waits it keeps: the longest."""

THREADS_KEPT = 1000
"""How many threads it keeps: those that live, however many they are, and of those that have ended the busiest."""


@dataclass(frozen=True, slots=True)
class TaskLoss:
    """What was not seen or found no room, counted.

    `switches_unseen`: switches that the kernel does not report; their times are told by its own count of run time.
    What was forgotten was seen, and is no longer among what is kept one by one.
    """

    threads_untracked: int = 0
    peers_untracked: int = 0
    errors_untracked: int = 0
    slow_calls_overwritten: int = 0
    connections_overwritten: int = 0
    events_missed: int = 0
    negative_times: int = 0
    switches_unseen: int = 0
    connections_forgotten: int = 0
    slow_waits_forgotten: int = 0
    threads_forgotten: int = 0

    def __add__(self, other: TaskLoss) -> TaskLoss:
        return TaskLoss(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(TaskLoss)))

    @property
    def any(self) -> bool:
        """Whether anything at all was lost."""
        return any(getattr(self, f.name) for f in fields(TaskLoss))
