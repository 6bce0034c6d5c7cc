"""The TaskFrame itself, and where it comes from."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from schedtop.base.histogram import Histogram
from schedtop.entitlement.report import EntitlementReport
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.model.rows import SLOW_WAIT_DTYPE, Rows
from schedtop.task.calls import OngoingCall, SlowCall, Syscall, slowest, syscall_order
from schedtop.task.connections import ConnectionChange, Transition, transition_order
from schedtop.task.loss import CHANGES_KEPT, SLOW_WAITS_KEPT, THREADS_KEPT, TaskLoss
from schedtop.task.scheduling import Attributes, CpuUse, Peer
from schedtop.task.states import Column, StateTimes
from schedtop.task.threads import Faults, Thread, thread_order
from schedtop.task.traffic import Io, Traffic, io_order, traffic_key

Added = TypeVar("Added")


@dataclass(frozen=True, slots=True, eq=False)
class TaskFrame:
    """One task (`tid`), or all threads of the process `tgid` (`whole_process`), in one interval.

    `start_time_ns` is wall-clock time, `end_ns` CLOCK_MONOTONIC, `interval_ns` the true length. `comm`: of the thread;
    `process`: of its leader. `states` is the sum of all threads, `strip` the same over time, oldest first. `waits`:
    those for a CPU that ended. Tables: what matters first. `slow_waits`: rows of SLOW_WAIT_DTYPE, with blockers, if
    whoever made the TaskFrame had them (else see `unavailable`). `ended`: the task is gone, nothing more will come.
    `connections`: the last changes one by one, `transitions`: all of them, counted.
    `entitlement`: what the weights give it, if whoever made the TaskFrame knew the competitors.
    `process_threads`: how many threads its process has at the end, 0 if that is not known; `threads_started`: how many
    it has started in the interval, also if one thread alone is looked at; `None` where the kernel does not tell.
    """

    start_time_ns: int
    end_ns: int
    interval_ns: int
    tid: int
    tgid: int
    whole_process: bool
    comm: str
    process: str
    states: StateTimes
    strip: tuple[Column, ...] = ()
    waits: Histogram = field(default_factory=Histogram.empty)
    wakers: tuple[Peer, ...] = ()
    wakees: tuple[Peer, ...] = ()
    preemptors: tuple[Peer, ...] = ()
    cpus: tuple[CpuUse, ...] = ()
    migrations: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    attributes: Attributes | None = None
    slow_waits: Rows = field(default_factory=lambda: np.empty(0, SLOW_WAIT_DTYPE))
    syscalls: tuple[Syscall, ...] = ()
    slow_calls: tuple[SlowCall, ...] = ()
    ongoing: tuple[OngoingCall, ...] = ()
    faults: Faults | None = None
    io: tuple[Io, ...] = ()
    traffic: tuple[Traffic, ...] = ()
    connections: tuple[ConnectionChange, ...] = ()
    transitions: tuple[Transition, ...] = ()
    threads: tuple[Thread, ...] = ()
    process_threads: int = 0
    threads_started: int | None = None
    entitlement: EntitlementReport | None = None
    command_line: str = ""
    unavailable: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    loss: TaskLoss = field(default_factory=TaskLoss)
    ended: bool = False
    exit_code: int | None = None

    def __add__(self, later: TaskFrame) -> TaskFrame:
        connections = self.connections + later.connections
        waits = np.concatenate((self.slow_waits, later.slow_waits))
        threads = _merged(self.threads, later.threads, lambda one: one.tid, thread_order)
        kept = _kept_threads(threads)
        forgotten = TaskLoss(
            connections_forgotten=max(0, len(connections) - CHANGES_KEPT),
            slow_waits_forgotten=max(0, len(waits) - SLOW_WAITS_KEPT),
            threads_forgotten=len(threads) - len(kept),
        )
        entitlement = later.entitlement or self.entitlement
        unavailable = {**self.unavailable, **later.unavailable}
        if entitlement is not None:
            unavailable.pop("entitlement", None)
        return replace(
            later,
            start_time_ns=self.start_time_ns,
            interval_ns=self.interval_ns + later.interval_ns,
            states=self.states + later.states,
            strip=self.strip + later.strip,
            waits=self.waits + later.waits,
            wakers=_merged(self.wakers, later.wakers, _peer_key, _peer_order),
            wakees=_merged(self.wakees, later.wakees, _peer_key, _peer_order),
            preemptors=_merged(self.preemptors, later.preemptors, _peer_key, _peer_order),
            cpus=_merged(self.cpus, later.cpus, lambda one: one.cpu, lambda one: one.cpu),
            migrations=self.migrations + later.migrations,
            voluntary_switches=self.voluntary_switches + later.voluntary_switches,
            involuntary_switches=self.involuntary_switches + later.involuntary_switches,
            attributes=_later_attributes(self.attributes, later.attributes),
            slow_waits=longest_waits(waits),
            syscalls=_merged(self.syscalls, later.syscalls, lambda one: one.number, syscall_order),
            slow_calls=slowest(self.slow_calls + later.slow_calls),
            faults=self.faults + later.faults if self.faults and later.faults else later.faults or self.faults,
            io=_merged(self.io, later.io, lambda one: (one.kind, one.direction), io_order),
            traffic=_merged(self.traffic, later.traffic, traffic_key, traffic_key),
            connections=connections[-CHANGES_KEPT:],
            transitions=_merged(self.transitions, later.transitions, lambda one: (one.old, one.new), transition_order),
            threads=kept,
            threads_started=_both(self.threads_started, later.threads_started),
            entitlement=entitlement,
            unavailable=MappingProxyType(unavailable),
            loss=self.loss + later.loss + forgotten,
        )

    def syscall(self, name: str) -> Syscall | None:
        """The system call of that name, `None` if it did not occur."""
        return next((call for call in self.syscalls if call.name == name), None)


def waited_before_ns(task: TaskFrame, row: Any) -> int:
    """How much of a wait (a row of SLOW_WAIT_DTYPE) lies before the interval: `states` and `strip` lack that part."""
    return max(0, task.start_time_ns - (int(row["time_ns"]) - int(row["wait_ns"])))


def longest_waits(waits: Rows) -> Rows:
    """The longest SLOW_WAITS_KEPT of rows of SLOW_WAIT_DTYPE, in their order."""
    if len(waits) <= SLOW_WAITS_KEPT:
        return waits
    kept: Rows = waits[np.sort(np.argsort(-waits["wait_ns"], kind="stable")[:SLOW_WAITS_KEPT])]
    return kept


def _kept_threads(threads: tuple[Thread, ...]) -> tuple[Thread, ...]:
    """Those of THREADS_KEPT, in their order."""
    if len(threads) <= THREADS_KEPT:
        return threads
    room = THREADS_KEPT - sum(thread.state != "ended" for thread in threads)
    ended = [thread.tid for thread in threads if thread.state == "ended"]
    dropped = set(ended[max(0, room) :])
    return tuple(thread for thread in threads if thread.tid not in dropped)


class TaskSource(Protocol):
    """Where TaskFrames come from: a context manager, used by one thread. Programs are attached while it is open.

    Opening raises `SourceError` with one sentence for the user, also if there is no such task.
    """

    host: Host

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: Any) -> None: ...

    def frames(self, stop: threading.Event) -> Iterator[TaskFrame]:
        """A TaskFrame after each interval; a last, shorter one at once when `stop` is set or the task has ended."""
        ...

    def take_host(self, frames: Sequence[Frame]) -> None:
        """Takes what the dashboard saw of the whole host, oldest first. Any thread may call it."""
        ...


def _merged(
    earlier: tuple[Added, ...],
    later: tuple[Added, ...],
    key: Callable[[Added], Hashable],
    order: Callable[[Added], Any],
) -> tuple[Added, ...]:
    """Both, those of equal keys added."""
    found: dict[Hashable, Any] = {key(one): one for one in earlier}
    for one in later:
        found[key(one)] = found[key(one)] + one if key(one) in found else one
    return tuple(sorted(found.values(), key=order))


def _both(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _peer_key(peer: Peer) -> Hashable:
    return (peer.tid, peer.comm, peer.woken_by)


def _peer_order(peer: Peer) -> tuple[int, int]:
    return (-peer.count, peer.tid)


def _later_attributes(one: Attributes | None, later: Attributes | None) -> Attributes | None:
    if not one or not later:
        return later or one
    return replace(later, quota=one.quota + later.quota if one.quota and later.quota else later.quota)
