"""What a TaskFrame is made of: frozen values that add."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import TypeVar

STATES = ("running", "runnable", "sleeping", "uninterruptible", "stopped", "throttled")
"""What a thread can be (`enum thread_state` of bpf/task/task.h). `throttled`: off its CPU because of its group's quota,
until it runs again. `runnable`: it waits for a CPU. Blocked is `sleeping` (interruptible) or `uninterruptible`."""

PARTS = ("throttled", "syscalls", "faults", "fault time", "io", "io kinds", "network", "connections", "attributes")
"""Keys of `TaskFrame.unavailable` (with `wakers`, `migrations` and `slow waits`)."""

IO_KINDS = ("file", "pipe", "socket", "device", "other", "unknown")
"""What a file descriptor stands for: regular file or directory, pipe or FIFO, socket, character or block device, what
has no kind (eventfd, epoll, timerfd ...), and what could not be looked up."""

Added = TypeVar("Added", "StateTimes", "TaskLoss")


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
        return _sum_fields(self, other)

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


@dataclass(frozen=True, slots=True)
class Peer:
    """Another task, and how often it woke the task, was woken by it, or took its CPU.

    `wait_ns`: of a preemptor, how long the task then waited until it ran again; of others 0. A tid of 0 is no task: an
    interrupt. What it leaves to be done afterwards (softirq) is taken for the task that it came in; without BTF all is.
    """

    tid: int
    comm: str
    count: int
    wait_ns: int = 0

    def __add__(self, later: Peer) -> Peer:
        return replace(later, count=self.count + later.count, wait_ns=self.wait_ns + later.wait_ns)


@dataclass(frozen=True, slots=True)
class CpuUse:
    """Run time on one CPU, and how often a thread came to run there."""

    cpu: int
    run_ns: int
    timeslices: int

    def __add__(self, later: CpuUse) -> CpuUse:
        return CpuUse(self.cpu, self.run_ns + later.run_ns, self.timeslices + later.timeslices)


@dataclass(frozen=True, slots=True)
class Quota:
    """The CPU quota of its cgroup, or the first one above that has one: `quota_ns` in each `period_ns`.

    `periods` and `throttled_periods` of the interval, `throttled_ns` summed over the CPUs: of the whole group.
    """

    cgroup: str
    quota_ns: int
    period_ns: int
    periods: int = 0
    throttled_periods: int = 0
    throttled_ns: int = 0

    def __add__(self, later: Quota) -> Quota:
        if self.cgroup != later.cgroup:
            return later
        sums = ("periods", "throttled_periods", "throttled_ns")
        return replace(later, **{name: getattr(self, name) + getattr(later, name) for name in sums})


@dataclass(frozen=True, slots=True)
class Attributes:
    """How the scheduler is told to treat it, as of the end of the interval; of a process, its leader.

    `affinity`: a list of CPUs as `taskset -c` takes it, `allowed_cpus` how many they are. `policy`: `other`, `fifo`,
    `rr`, `batch`, `idle`, `deadline`, `ext`; `rt_priority` 0 unless fifo or rr; `nice` -20..19. `cgroup`: its path in
    the hierarchy of the cpu controller, empty if unknown.
    """

    affinity: str
    allowed_cpus: int
    policy: str
    rt_priority: int
    nice: int
    cgroup: str
    quota: Quota | None = None


@dataclass(frozen=True, slots=True)
class Syscall:
    """Calls of one system call that ended in the interval; `total_ns` and `max_ns` from enter to exit.

    `blocked_ns`: not runnable meanwhile, of calls under way, too. `errors`: how often it returned which (`ENOENT`);
    calls that restart themselves return ERESTARTSYS and the like, as strace says, too.
    """

    number: int
    name: str
    count: int
    total_ns: int
    max_ns: int
    blocked_ns: int
    errors: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def error_count(self) -> int:
        """How many of them failed."""
        return sum(self.errors.values())

    def __add__(self, later: Syscall) -> Syscall:
        names = {*self.errors, *later.errors}
        return Syscall(
            self.number,
            self.name,
            self.count + later.count,
            self.total_ns + later.total_ns,
            max(self.max_ns, later.max_ns),
            self.blocked_ns + later.blocked_ns,
            MappingProxyType({name: self.errors.get(name, 0) + later.errors.get(name, 0) for name in sorted(names)}),
        )


@dataclass(frozen=True, slots=True)
class SlowCall:
    """One slow system call. `time_ns`: wall-clock time at its end; `error`: a name like `EAGAIN`, or empty."""

    time_ns: int
    tid: int
    number: int
    name: str
    duration_ns: int
    blocked_ns: int
    result: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class OngoingCall:
    """The system call that a thread is in at the end of the interval, for `duration_ns` so far.

    `at_least`: it began before the task view was opened, when exactly is not known.
    """

    tid: int
    number: int
    name: str
    duration_ns: int
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Faults:
    """Page faults as getrusage counts them. `time_ns`: spent in handling them, `None` where it is not known."""

    minor: int = 0
    major: int = 0
    time_ns: int | None = None

    def __add__(self, later: Faults) -> Faults:
        known = self.time_ns is not None and later.time_ns is not None
        time_ns = (self.time_ns or 0) + (later.time_ns or 0) if known else None
        return Faults(self.minor + later.minor, self.major + later.major, time_ns)


@dataclass(frozen=True, slots=True)
class Io:
    """Reads or writes (`direction`) by system calls on one of IO_KINDS; `count` with the `errors` among them."""

    kind: str
    direction: str
    count: int
    bytes: int
    time_ns: int
    errors: int = 0

    def __add__(self, later: Io) -> Io:
        sums = ("count", "bytes", "time_ns", "errors")
        return replace(later, **{name: getattr(self, name) + getattr(later, name) for name in sums})


@dataclass(frozen=True, slots=True)
class Traffic:
    """Payload sent and received over `tcp` or `udp`, of `ipv4` or `ipv6`; a message is one call of the socket layer."""

    protocol: str
    family: str
    sent_bytes: int = 0
    sent_messages: int = 0
    received_bytes: int = 0
    received_messages: int = 0

    def __add__(self, later: Traffic) -> Traffic:
        sums = ("sent_bytes", "sent_messages", "received_bytes", "received_messages")
        return replace(later, **{name: getattr(self, name) + getattr(later, name) for name in sums})


@dataclass(frozen=True, slots=True)
class ConnectionChange:
    """A connection of the task went from one TCP state to another, at wall-clock time `time_ns`.

    `local`, `remote`: address and port, `127.0.0.1:80` or `[::1]:80`. States as `ss` names them, with underscores.
    """

    time_ns: int
    protocol: str
    old: str
    new: str
    local: str
    remote: str


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread. `state`: which of STATES it is in at the end, or `ended`; `state_ns`: since when, at least.

    `cpu`: where it runs or ran last, -1 if not known. `exit_code` as wait() gives it, if it has ended and it is known.
    """

    tid: int
    comm: str
    states: StateTimes
    state: str
    state_ns: int = 0
    cpu: int = -1
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    migrations: int = 0
    faults: Faults = Faults()
    exit_code: int | None = None

    def __add__(self, later: Thread) -> Thread:
        sums = ("states", "voluntary_switches", "involuntary_switches", "migrations", "faults")
        return replace(later, **{name: getattr(self, name) + getattr(later, name) for name in sums})


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
        return _sum_fields(self, other)

    @property
    def any(self) -> bool:
        """Whether anything at all was lost."""
        return any(getattr(self, f.name) for f in fields(TaskLoss))


CHANGES_KEPT = 2000
"""How many changes of connections a TaskFrame keeps: the last ones."""

SLOW_WAITS_KEPT = 2000
"""How many slow waits it keeps: the longest."""

THREADS_KEPT = 1000
"""How many threads it keeps: those that live, however many they are, and of those that have ended the busiest."""

SLOWEST = 10
"""How many slow calls a TaskFrame keeps."""


def exit_words(code: int | None) -> str:
    """How it ended, to be put behind "ended": ` with status 3`, ` by signal 9`, or nothing if that is not known."""
    if code is None:
        return ""
    return f" with status {code}" if code >= 0 else f" by signal {-code}"


def slowest(calls: Iterable[SlowCall]) -> tuple[SlowCall, ...]:
    """The SLOWEST of them, the slowest first."""
    return tuple(sorted(calls, key=lambda call: -call.duration_ns)[:SLOWEST])


def syscall_order(call: Syscall) -> tuple[int, str]:
    """The most time first."""
    return (-max(call.total_ns, call.blocked_ns), call.name)


def io_order(one: Io) -> tuple[int, str, str]:
    """The most bytes first."""
    return (-one.bytes, one.kind, one.direction)


def traffic_key(one: Traffic) -> tuple[str, str]:
    """What a Traffic is of."""
    return (one.protocol, one.family)


def thread_order(thread: Thread) -> tuple[int, int]:
    """The most run time first."""
    return (-thread.states.running_ns, thread.tid)


def _sum_fields(one: Added, other: Added) -> Added:
    return type(one)(*(getattr(one, f.name) + getattr(other, f.name) for f in fields(one)))
