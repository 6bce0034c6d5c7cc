"""What threads did while they had no CPU: how long, in which state, and by which stacks they came there.

A *wait* is the time from a switch out to the next switch in of one thread. Its first part is spent in the state in
which it left the CPU; from its wakeup on it is `runnable`. A thread that was preempted is runnable all the time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol, Self

from schedtop.base.stacks import Stack, Waker
from schedtop.base.units import NS_PER_US
from schedtop.model.host import Host
from schedtop.offcpu.loss import OffCpuLoss

RUNNABLE, SLEEPING, UNINTERRUPTIBLE, IDLE = "runnable", "sleeping", "uninterruptible", "idle"

STATES = (RUNNABLE, SLEEPING, UNINTERRUPTIBLE, IDLE, "stopped", "traced", "parked")
"""`enum off_state` of bpf/offcpu/offcpu.h, and the letters R, S, D, I, T, t, P of ps. All but `runnable` and `idle` are
*blocked*: idle is a kernel thread that has nothing to do, and the kernel does not count it as waiting either."""

STATE_CHOICES = ("all", "blocked", RUNNABLE, SLEEPING, UNINTERRUPTIBLE)
"""What `selected` and `--state` take."""


class Wakers(IntEnum):
    """What is kept of wakers: that it was an interrupt (where that is cheap to know), names, stacks too."""

    INTERRUPTS = 0
    NAMES = 1
    STACKS = 2


SEPARATOR = "-"
"""Stands between the user part of a path and its kernel part, as in the field's folded stacks."""


@dataclass(frozen=True, slots=True)
class Times:
    """How often and how long. `min_ns` and `max_ns` are 0 without any. `under_way`: how many of `count` had not ended;
    they have their length so far, from the start of the measurement if they are older."""

    count: int = 0
    total_ns: int = 0
    min_ns: int = 0
    max_ns: int = 0
    under_way: int = 0

    def __add__(self, other: Times) -> Times:
        if not self.count or not other.count:
            return other if not self.count else self
        return Times(
            self.count + other.count,
            self.total_ns + other.total_ns,
            min(self.min_ns, other.min_ns),
            max(self.max_ns, other.max_ns),
            self.under_way + other.under_way,
        )

    @property
    def average_ns(self) -> float | None:
        """The mean length, `None` without any."""
        return self.total_ns / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class OffCpuRow:
    """The waits, or parts of them, of one thread in one state with the same stacks.

    The stacks are those with which it left the CPU, also for the runnable part after a wakeup. `process`: the comm of
    the thread group's leader. `waker`: `None` if it was not asked for, or no task woke it. A `tid` of 0: all threads of
    that name that have ended; they are added up when there are very many.
    """

    tid: int
    tgid: int
    comm: str
    process: str
    state: str
    user: Stack
    kernel: Stack
    times: Times
    waker: Waker | None = None

    @property
    def total_ns(self) -> int:
        """`times.total_ns`: the weight of the row."""
        return self.times.total_ns

    @property
    def thread(self) -> tuple[int, str]:
        """The thread: the tid, and the name of those that have ended."""
        return self.tid, "" if self.tid else self.comm

    @property
    def is_blocked(self) -> bool:
        """Whether something else than a CPU was missing."""
        return self.state not in (RUNNABLE, IDLE)

    @property
    def path(self) -> tuple[str, ...]:
        """Names from root to leaf: process, thread, user stack, `-`, kernel stack, state in brackets, waker."""
        thread = f"{self.comm}-{self.tid}" if self.tid else f"{self.comm} (ended)"
        names: tuple[str, ...] = (self.process or f"pid {self.tgid}", thread)
        names += (*self.user.labels, SEPARATOR, *self.kernel.labels, f"[{self.state}]")
        return (*names, f"woken by {self.waker.name}") if self.waker else names


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """One thread. `blocked` is what its rows are that are blocked; `sleeping` and `uninterruptible` are its main parts.

    `share` (0..1): of the blocked time of all threads that were measured, `None` if there was none.
    """

    tid: int
    tgid: int
    comm: str
    process: str
    runnable: Times
    blocked: Times
    sleeping: Times
    uninterruptible: Times
    share: float | None

    @property
    def thread(self) -> tuple[int, str]:
        """As `OffCpuRow.thread`."""
        return self.tid, "" if self.tid else self.comm

    @property
    def total_ns(self) -> int:
        """All time in which it wanted to run or waited for something."""
        return self.runnable.total_ns + self.blocked.total_ns


@dataclass(frozen=True, slots=True)
class LockHolder:
    """A process that has a lock of a file for which a thread waits. `pid` is 0, `comm` empty: the kernel names none
    (a lock of an open file description, or a holder in another pid namespace)."""

    pid: int
    comm: str

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.comm or 'process'}-{self.pid}" if self.pid else "a process that the kernel does not name"


@dataclass(frozen=True, slots=True, weakref_slot=True)
class OffCpu:
    """All waits of a time, from `start_time_ns` (wall clock) on for `duration_ns`. `host.scope`: which threads alone.

    `min_ns`: shorter waits are not in `rows`, but in `below_count` and `below_ns`; 0: every wait is in them. Waits that
    had not ended are in, up to the end. `wakers`: what was kept of them. `notes`: what else the user must know
    (hidden kernel symbols, an early end), a sentence each. `rows` are in no order. `lock_holders`: by tid, of threads
    that were blocked in a lock of a file at the end; several where a process waits for several.
    """

    host: Host
    start_time_ns: int
    duration_ns: int
    rows: tuple[OffCpuRow, ...]
    min_ns: int = 0
    below_count: int = 0
    below_ns: int = 0
    wakers: Wakers = Wakers.INTERRUPTS
    loss: OffCpuLoss = field(default_factory=OffCpuLoss)
    notes: tuple[str, ...] = ()
    lock_holders: Mapping[int, tuple[LockHolder, ...]] = field(default_factory=dict)
    end_ns: int = 0
    """CLOCK_MONOTONIC at its end, 0: not known. Until it is shown some time may pass."""

    blocked_ns: int = field(init=False)
    """The blocked time of all threads: what shares are of."""
    runnable_ns: int = field(init=False)
    """The run delay of all threads."""

    def __post_init__(self) -> None:
        """Several panes ask for the sums, and an export in a thread of its own: nothing is noted here later."""
        blocked = sum(row.total_ns for row in self.rows if row.is_blocked)
        object.__setattr__(self, "blocked_ns", blocked)
        object.__setattr__(self, "runnable_ns", sum(row.total_ns for row in self.rows if row.state == RUNNABLE))

    def times(self, state: str) -> Times:
        """Of all threads together; `state`: one of STATE_CHOICES or STATES."""
        return sum((row.times for row in filter(selected(state), self.rows)), Times())

    @property
    def threads(self) -> tuple[ThreadSummary, ...]:
        """Every thread that was without a CPU, those with the most blocked time first."""
        states: dict[tuple[int, str], dict[str, Times]] = {}
        last: dict[tuple[int, str], OffCpuRow] = {}
        for row in self.rows:
            times = states.setdefault(row.thread, {})
            for key in (row.state, "blocked") if row.is_blocked else (row.state,):
                times[key] = times.get(key, Times()) + row.times
            last[row.thread] = row
        found = [self._summary(last[thread], times) for thread, times in states.items()]
        return tuple(sorted(found, key=lambda one: (-one.blocked.total_ns, -one.runnable.total_ns, one.tid)))

    def _summary(self, row: OffCpuRow, times: dict[str, Times]) -> ThreadSummary:
        blocked = times.get("blocked", Times())
        return ThreadSummary(
            row.tid,
            row.tgid,
            row.comm,
            row.process,
            runnable=times.get(RUNNABLE, Times()),
            blocked=blocked,
            sleeping=times.get(SLEEPING, Times()),
            uninterruptible=times.get(UNINTERRUPTIBLE, Times()),
            share=blocked.total_ns / self.blocked_ns if self.blocked_ns else None,
        )


class OffCpuSource(Protocol):
    """Where an OffCpu comes from. A context manager, opened and used by one thread; closing it detaches.

    Opening raises SourceError with one sentence for the user.
    """

    host: Host

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: Any) -> None: ...

    def frames(self, stop: threading.Event) -> Iterator[OffCpu]:
        """Each interval all that was measured since the source was opened: show the last one, add nothing up.

        Ends soon when `stop` is set; the last one is exact, those before may miss waits that ended while they were
        read.
        """
        ...


def selected(state: str) -> Callable[[OffCpuRow], bool]:
    """Whether a row is of a state: one of STATE_CHOICES or STATES."""
    if state == "all":
        return lambda row: True
    if state == "blocked":
        return lambda row: row.is_blocked
    return lambda row: row.state == state


def paths(rows: Iterable[OffCpuRow], *, wakers: bool = True) -> Iterator[tuple[tuple[str, ...], int]]:
    """Names from root to leaf (`OffCpuRow.path`) and nanoseconds of each row: what a flame graph is drawn from."""
    return ((row.path if wakers or not row.waker else row.path[:-1], row.total_ns) for row in rows)


def folded(offcpu: OffCpu, state: str = "all") -> Iterator[str]:
    """Lines `process;comm-tid;user root..leaf;-;kernel root..leaf;[state] microseconds`, as flamegraph.pl reads them.

    Equal paths are one line. Less than a microsecond in all is rounded up, so that nothing disappears.
    """
    wanted = selected(state)
    sums: dict[tuple[str, ...], int] = {}
    for path, ns in paths(filter(wanted, offcpu.rows), wakers=bool(offcpu.wakers)):
        sums[path] = sums.get(path, 0) + ns
    for path, ns in sorted(sums.items()):
        if ns:
            names = (" ".join(name.replace(";", ":").split()) or "?" for name in path)
            yield f"{';'.join(names)} {max(1, round(ns / NS_PER_US))}"
