"""What all tasks did in an interval; intervals add."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType

import numpy as np

from schedtop.activity import PARTS
from schedtop.activity.rows import ROW_DTYPE, merge_threads
from schedtop.model.host import Host
from schedtop.model.rows import Rows


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
    that happens to them is told. `events_missed`: that the kernel kept from our programs. `negative_times`: by the
    clocks of two CPUs.
    """

    events_untracked: int = 0
    tasks_evicted: int = 0
    errors_untracked: int = 0
    connections_untracked: int = 0
    flows_untracked: int = 0
    events_missed: int = 0
    negative_times: int = 0

    def __add__(self, other: ActivityLoss) -> ActivityLoss:
        return ActivityLoss(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    def __sub__(self, other: ActivityLoss) -> ActivityLoss:
        return ActivityLoss(*(getattr(self, each.name) - getattr(other, each.name) for each in fields(self)))

    @property
    def any(self) -> bool:
        """Whether anything at all was lost."""
        return any(getattr(self, each.name) for each in fields(self))


@dataclass(frozen=True, slots=True, eq=False)
class Activity:
    """One interval, by thread. `rows`, `connections`: ROW_DTYPE, the latter with the open connections of each alone.

    `transitions`: of TCP connections of the host: how often from one state to another. `cgroups`: paths by id.
    `unavailable`: what is not told, with why. `start_time_ns`: wall clock; `end_ns`: CLOCK_MONOTONIC.
    """

    host: Host
    start_time_ns: int
    end_ns: int
    interval_ns: int
    rows: Rows
    only: tuple[str, ...] = PARTS
    connections: Rows = field(default_factory=lambda: np.zeros(0, ROW_DTYPE))
    syscalls: tuple[Call, ...] = ()
    transitions: Mapping[tuple[str, str], int] = field(default_factory=lambda: MappingProxyType({}))
    cgroups: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    unavailable: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    loss: ActivityLoss = ActivityLoss()

    def __add__(self, later: Activity) -> Activity:
        """Both intervals as one; gauges are the later one's."""
        calls = {call.name: call for call in self.syscalls}
        for call in later.syscalls:
            calls[call.name] = calls[call.name] + call if call.name in calls else call
        transitions = dict(self.transitions)
        for change, count in later.transitions.items():
            transitions[change] = transitions.get(change, 0) + count
        return Activity(
            host=self.host,
            start_time_ns=self.start_time_ns,
            end_ns=later.end_ns,
            interval_ns=self.interval_ns + later.interval_ns,
            rows=merge_threads([self.rows, later.rows]),
            only=self.only,
            connections=later.connections,
            syscalls=in_order(calls.values()),
            transitions=MappingProxyType(transitions),
            cgroups=later.cgroups,
            unavailable=later.unavailable,
            loss=self.loss + later.loss,
        )


def in_order(calls: Iterable[Call]) -> tuple[Call, ...]:
    """System calls by time, longest first."""

    return tuple(sorted(calls, key=lambda call: (-call.total_ns, -call.count, call.name)))
