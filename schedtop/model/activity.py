"""Pieces of what tasks do that are not by task: system calls, and what was lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Call:
    """One system call of all tasks that are measured. `errors`: how often it failed with what."""

    name: str
    count: int
    failed: int
    total_ns: int
    max_ns: int
    errors: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def __add__(self, other: Call) -> Call:
        errors = dict(self.errors)
        for name, count in other.errors.items():
            errors[name] = errors.get(name, 0) + count
        return Call(
            self.name,
            self.count + other.count,
            self.failed + other.failed,
            self.total_ns + other.total_ns,
            max(self.max_ns, other.max_ns),
            MappingProxyType(errors),
        )


@dataclass(frozen=True, slots=True)
class ActivityLoss:
    """What was not seen or found no room, counted. All zero means: nothing was lost.

    `events_untracked`: of tasks that found no place. `tasks_evicted`: whose number went to another task before their
    last counts were read. `errors_untracked`: calls that failed, without their error. `connections_untracked`: nothing
    that happens to them is told. `flows_untracked`: of the connections of threads that found no place.
    `devices_untracked`: reads and writes in no row of `devices`. `events_missed`: that the kernel kept from our
    programs. `negative_times`: by the clocks of two CPUs. `processes_folded`: of an interval that was recorded; they
    are in one row, sums are exact.
    """

    events_untracked: int = 0
    tasks_evicted: int = 0
    errors_untracked: int = 0
    connections_untracked: int = 0
    flows_untracked: int = 0
    devices_untracked: int = 0
    events_missed: int = 0
    negative_times: int = 0
    processes_folded: int = 0

    def __add__(self, other: ActivityLoss) -> ActivityLoss:
        return ActivityLoss(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    def __sub__(self, other: ActivityLoss) -> ActivityLoss:
        return ActivityLoss(*(getattr(self, each.name) - getattr(other, each.name) for each in fields(self)))

    @property
    def any(self) -> bool:
        """Whether anything at all was lost."""
        return any(getattr(self, each.name) for each in fields(self))


def merged_calls(tables: Iterable[Sequence[Call]]) -> tuple[Call, ...]:
    """Calls merged by name, in order."""
    calls: dict[str, Call] = {}
    for table in tables:
        for call in table:
            calls[call.name] = calls[call.name] + call if call.name in calls else call
    return in_order(calls.values())


def in_order(calls: Iterable[Call]) -> tuple[Call, ...]:
    """System calls by time, longest first."""
    return tuple(sorted(calls, key=lambda call: (-call.total_ns, -call.count, call.name)))
