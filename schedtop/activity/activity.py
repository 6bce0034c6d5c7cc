"""What all tasks did in an interval; intervals add."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from types import MappingProxyType
from typing import Any, Protocol, Self

import numpy as np

from schedtop.activity import PARTS
from schedtop.model.activity import ActivityLoss, Call, merged_calls
from schedtop.model.activity_rows import DEVICE_DTYPE, ROW_DTYPE, merge_devices, merge_threads
from schedtop.model.host import Host
from schedtop.model.rows import Rows
from schedtop.model.tcp_changes import MOST_LATEST, TcpChange


@dataclass(frozen=True, slots=True, eq=False)
class Activity:
    """One interval, by thread. `rows`, `connections`: ROW_DTYPE, the latter with the open connections of each alone.

    `selected_syscalls`: those of the process `selected_tgid` alone, if there is one (0: none).
    `transitions`: of TCP connections of the host: how often from one state to another; `latest`: the last MOST_LATEST
    of them at most, oldest first. `devices`: DEVICE_DTYPE, named in `device_names`. `cgroups`: paths by id.
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
    selected_tgid: int = 0
    selected_syscalls: tuple[Call, ...] = ()
    transitions: Mapping[tuple[str, str], int] = field(default_factory=lambda: MappingProxyType({}))
    latest: tuple[TcpChange, ...] = ()
    devices: Rows = field(default_factory=lambda: np.zeros(0, DEVICE_DTYPE))
    device_names: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    cgroups: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    unavailable: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    loss: ActivityLoss = field(default_factory=ActivityLoss)

    def __add__(self, later: Activity) -> Activity:
        """Both intervals as one; gauges are the later one's."""
        return total((self, later))


class ActivitySource(Protocol):
    """Where activity comes from. A context manager, opened and used by one thread; closing it detaches.

    Opening raises SourceError with one sentence for the user.
    """

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: Any) -> None: ...

    def select(self, tgid: int) -> None:
        """From the next interval on the system calls of this process are told as well; 0: of none. Of any thread."""
        ...

    def frames(self, stop: threading.Event) -> Iterator[Activity]:
        """What was done in each interval; ends soon when `stop` is set."""
        ...


def total(intervals: Sequence[Activity]) -> Activity:
    """Intervals that follow each other as one; gauges are the last one's. Raises ValueError without any."""
    if not intervals:
        raise ValueError("there is no interval")
    if len(intervals) == 1:
        return intervals[0]
    first, last = intervals[0], intervals[-1]
    transitions: dict[tuple[str, str], int] = {}
    for each in intervals:
        for change, count in each.transitions.items():
            transitions[change] = transitions.get(change, 0) + count
    return Activity(
        host=first.host,
        start_time_ns=first.start_time_ns,
        end_ns=last.end_ns,
        interval_ns=sum(each.interval_ns for each in intervals),
        rows=merge_threads([each.rows for each in intervals]),
        only=first.only,
        connections=last.connections,
        syscalls=merged_calls(each.syscalls for each in intervals),
        selected_tgid=last.selected_tgid,
        selected_syscalls=merged_calls(
            each.selected_syscalls for each in intervals if each.selected_tgid == last.selected_tgid
        ),
        transitions=MappingProxyType(transitions),
        latest=tuple(change for each in intervals for change in each.latest)[-MOST_LATEST:],
        devices=merge_devices([each.devices for each in intervals]),
        device_names=MappingProxyType(
            {number: name for each in intervals for number, name in each.device_names.items()}
        ),
        cgroups=MappingProxyType({number: path for each in intervals for number, path in each.cgroups.items()}),
        unavailable=last.unavailable,
        loss=reduce(add, (each.loss for each in intervals)),
    )
