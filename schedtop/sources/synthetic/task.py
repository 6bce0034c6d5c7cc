"""The task view on a task of the made-up host: counts that fit each other, from a seed, for tests and pictures."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from schedtop.base.histogram import Histogram
from schedtop.base.units import NS_PER_S
from schedtop.entitlement.competition import Competition, Contender, Group
from schedtop.entitlement.report import EntitlementReport, report_on
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.model.weights import task_weight
from schedtop.task import (
    Attributes,
    Column,
    ConnectionChange,
    CpuUse,
    Faults,
    Io,
    OngoingCall,
    Peer,
    Quota,
    SlowCall,
    StateTimes,
    Syscall,
    TaskFrame,
    Thread,
    Traffic,
    transitions,
)

COLUMN_NS = 100_000_000
_CALLS = (
    (0, "read", 320, 0.5, ("EAGAIN",)),
    (232, "epoll_wait", 180, 0.9, ("EINTR",)),
    (1, "write", 160, 0.05, ()),
    (202, "futex", 90, 0.8, ("ETIMEDOUT", "EAGAIN")),
    (20, "writev", 40, 0.1, ()),
    (257, "openat", 12, 0.02, ("ENOENT",)),
    (9, "mmap", 6, 0.0, ()),
    (3, "close", 12, 0.0, ()),
    (74, "fsync", 2, 0.95, ()),
)
"""Number, name, calls a second, share of the time that is blocked, errors that occur."""


@dataclass(frozen=True, slots=True)
class TaskScenario:
    """The task that the view is on, and what becomes of it. `ends_after`: it ends after so many intervals."""

    number: int = 4240
    whole_process: bool = False
    threads: int = 1
    process_threads: int = 1
    comm: str = "stress"
    ends_after: int | None = None
    exit_code: int = 9
    unavailable: tuple[tuple[str, str], ...] = ()


class SyntheticTaskSource:
    """A task view that makes its counts as fast as they are taken, or one interval per `pace_s` seconds."""

    def __init__(self, scenario: TaskScenario = TaskScenario(), pace_s: float = 0, interval_ns: int = NS_PER_S) -> None:
        self.scenario = scenario
        self.pace_s = pace_s
        self.interval_ns = interval_ns
        self.host = Host("synthetic", "6.18.0", "synthetic", virtualised=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None

    def take_host(self, frames: Sequence[Frame]) -> None:
        """The made-up task has competitors of its own."""

    def frames(self, stop: threading.Event) -> Iterator[TaskFrame]:
        """The scenario's intervals, until it is stopped or the task ends."""
        number, ended = 0, False
        start_ns = time.time_ns() // NS_PER_S * NS_PER_S
        while not ended and not (stop.wait(self.pace_s) if self.pace_s else stop.is_set()):
            number += 1
            ended = number == self.scenario.ends_after
            yield make_task(self.scenario, number, start_ns + number * self.interval_ns, self.interval_ns, ended=ended)


def make_task(
    scenario: TaskScenario,
    number: int,
    start_ns: int = 1_790_000_000 * NS_PER_S,
    interval_ns: int = NS_PER_S,
    *,
    ended: bool = False,
) -> TaskFrame:
    """The interval `number` of a scenario, beginning at a wall-clock time."""
    rng = np.random.default_rng([scenario.number, number])
    share_s = interval_ns / NS_PER_S
    strip = _strip(rng, interval_ns, scenario.threads)
    states = sum((column.states for column in strip), StateTimes())
    waits = rng.lognormal(np.log(300_000), 1.6, int(rng.poisson(160 * share_s))).astype(np.int64)
    task = TaskFrame(
        start_time_ns=start_ns,
        end_ns=number * interval_ns,
        interval_ns=interval_ns,
        tid=scenario.number,
        tgid=scenario.number if scenario.whole_process else scenario.number // 4 * 4,
        whole_process=scenario.whole_process,
        comm=scenario.comm,
        process=scenario.comm,
        states=states,
        strip=strip,
        waits=Histogram.of(waits),
        wakers=_peers(rng, ((0, ""), (4250, "nginx"), (4260, "ksoftirqd/0")), 60 * share_s),
        wakees=_peers(rng, ((4251, "postgres"), (4261, "python3")), 40 * share_s),
        preemptors=_peers(rng, ((4241, "nginx"), (4243, "kworker/1:2"), (4245, "java")), 20 * share_s, 2_000_000),
        cpus=_cpus(states.running_ns, len(waits)),
        migrations=int(rng.poisson(3 * share_s)),
        voluntary_switches=int(rng.poisson(120 * share_s)),
        involuntary_switches=int(rng.poisson(40 * share_s)),
        attributes=_attributes(rng, interval_ns),
        entitlement=_entitlement(scenario),
        syscalls=(calls := _calls(rng, share_s, states.blocked_ns)),
        slow_calls=_slow_calls(rng, scenario, calls, start_ns),
        ongoing=()
        if ended
        else (OngoingCall(scenario.number, 232, "epoll_wait", int(rng.integers(1, 40)) * 1_000_000),),
        faults=Faults(int(rng.poisson(240 * share_s)), int(rng.poisson(0.4)), int(rng.integers(1, 9)) * 100_000),
        io=_io(rng, share_s),
        traffic=(
            Traffic(
                "tcp",
                "ipv4",
                *(int(value) for value in rng.integers((90_000, 60, 400_000, 90), (100_000, 70, 500_000, 99))),
            ),
            Traffic("udp", "ipv6", int(rng.integers(200, 900)), 2, int(rng.integers(200, 900)), 2),
        ),
        connections=(changes := _connections(rng, number, start_ns)),
        transitions=transitions(changes),
        threads=_threads(scenario, states, ended),
        process_threads=0 if ended else max(scenario.threads, scenario.process_threads),
        threads_started=0,
        command_line=f"/usr/bin/{scenario.comm} --config /etc/{scenario.comm}.conf",
        ended=ended,
        exit_code=scenario.exit_code if ended else None,
    )
    return _without(task, scenario.unavailable)


def _strip(rng: np.random.Generator, interval_ns: int, threads: int) -> tuple[Column, ...]:
    columns = []
    for _ in range(max(1, interval_ns // COLUMN_NS)):
        weight = rng.dirichlet(np.array([0.9, 0.4, 1.7, 0.2, 1e-9, 0.12]))
        shares = (weight * COLUMN_NS * threads).astype(np.int64)
        shares[2] += COLUMN_NS * threads - shares.sum()
        columns.append(Column(COLUMN_NS, StateTimes(*shares.tolist())))
    return tuple(columns)


def _peers(
    rng: np.random.Generator, tasks: tuple[tuple[int, str], ...], most: float, wait_ns: int = 0
) -> tuple[Peer, ...]:
    return tuple(
        Peer(tid, comm, 1 + int(rng.poisson(most / (place + 1))), int(rng.poisson(5) * wait_ns))
        for place, (tid, comm) in enumerate(tasks)
    )


def _cpus(running_ns: int, slices: int) -> tuple[CpuUse, ...]:
    first = running_ns * 3 // 4
    return CpuUse(0, first, slices * 3 // 4), CpuUse(1, running_ns - first, slices // 4)


def _attributes(rng: np.random.Generator, interval_ns: int) -> Attributes:
    periods = interval_ns // 100_000_000
    throttled = int(rng.integers(0, 3))
    path = "/system.slice/docker-4f5ab1c09d3e" + "7a" * 26 + ".scope"
    quota = Quota(path, 50_000_000, 100_000_000, periods, throttled, throttled * 37_000_000)
    return Attributes("0-1", 2, "other", 0, 0, path, quota)


def _entitlement(scenario: TaskScenario) -> EntitlementReport | None:
    """Beside a task of another group on CPU 0, which has four times the weight."""
    groups = {
        path: Group("cgroup", path, weight, None, f"/sys/fs/cgroup{path}/cpu.weight", weight * 100 // 1024)
        for path, weight in (("/batch.slice", 1024), ("/web.slice", 4096))
    }
    mine = tuple(
        _contender(scenario.number + place, scenario.comm, "/batch.slice", 0.2 / scenario.threads)
        for place in range(scenario.threads)
    )
    others = (_contender(4241, "nginx", "/web.slice", 0.8),)
    competition = Competition(10 * NS_PER_S, mine + others, groups, {0: 1.0})
    return report_on(competition, {one.tid for one in mine})


def _contender(tid: int, comm: str, path: str, used: float) -> Contender:
    return Contender(tid, tid, comm, "other", 0, 0, task_weight("other", 0), frozenset({0}), (path,), used, 1.0)


def _calls(rng: np.random.Generator, share_s: float, blocked_ns: int) -> tuple[Syscall, ...]:
    calls = []
    for number, name, per_s, blocked, errors in _CALLS:
        count = int(rng.poisson(per_s * share_s))
        if count:
            total = int(blocked_ns * blocked / 4 + count * rng.integers(800, 4000))
            failed = MappingProxyType({error: 1 + int(rng.poisson(count / 12)) for error in errors})
            longest = min(total, total // count * 3 + 900)
            calls.append(Syscall(number, name, count, total, longest, int(total * blocked), failed))
    return tuple(sorted(calls, key=lambda call: (-call.total_ns, call.name)))


def _slow_calls(
    rng: np.random.Generator, scenario: TaskScenario, calls: tuple[Syscall, ...], start_ns: int
) -> tuple[SlowCall, ...]:
    found = [
        SlowCall(start_ns + int(rng.integers(NS_PER_S)), scenario.number, call.number, call.name, call.max_ns,
                 int(call.max_ns * 0.9), -11 if call.errors else 64, next(iter(call.errors), ""))
        for call in calls
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda call: -call.duration_ns)[:5])


def _io(rng: np.random.Generator, share_s: float) -> tuple[Io, ...]:
    kinds = (("socket", "read", 220, 1800), ("socket", "write", 130, 900), ("file", "read", 100, 4096),
             ("file", "write", 30, 600), ("pipe", "write", 20, 8))  # fmt: skip
    made = []
    for kind, direction, per_s, size in kinds:
        count = int(rng.poisson(per_s * share_s))
        made.append(Io(kind, direction, count, count * size, count * 5200, count // 40))
    return tuple(sorted(made, key=lambda one: -one.bytes))


def _connections(rng: np.random.Generator, number: int, start_ns: int) -> tuple[ConnectionChange, ...]:
    if number % 3:
        return ()
    remote = f"10.0.0.{number % 250}:{40000 + number}"
    return (
        ConnectionChange(start_ns + 10**8, "tcp", "SYN_RECV", "ESTABLISHED", "10.0.0.1:80", remote),
        ConnectionChange(start_ns + 9 * 10**8, "tcp", "ESTABLISHED", "CLOSE_WAIT", "10.0.0.1:80", remote),
    )


def _threads(scenario: TaskScenario, states: StateTimes, ended: bool) -> tuple[Thread, ...]:
    many = scenario.threads
    each = StateTimes(*(value // many for value in states.by_state().values()))
    code = scenario.exit_code if ended else None
    return tuple(
        Thread(scenario.number + place, scenario.comm if place == 0 else f"worker/{place}", each,
               "ended" if ended else ("running", "sleeping", "runnable")[place % 3], 12_000_000, place % 2,
               120 // many, 40 // many, 3 // many, Faults(240 // many, 0, 500_000), code)
        for place in range(many)
    )  # fmt: skip


def _without(task: TaskFrame, parts: tuple[tuple[str, str], ...]) -> TaskFrame:
    """The same on a kernel that cannot give some parts."""
    empty: dict[str, Any] = {"syscalls": {"syscalls": (), "slow_calls": (), "ongoing": ()}, "faults": {"faults": None},
             "io": {"io": ()}, "network": {"traffic": ()}, "connections": {"connections": ()},
             "wakers": {"wakers": (), "wakees": ()}, "attributes": {"attributes": None},
             "entitlement": {"entitlement": None}}  # fmt: skip
    for part, _ in parts:
        task = replace(task, **empty.get(part, {}))
    return replace(task, unavailable=MappingProxyType(dict(parts)))


def synthetic_task(number: int, whole_process: bool, pace_s: float = 1) -> SyntheticTaskSource:
    """The task view on a task or process of the made-up host."""
    threads = 4 if whole_process else 1
    return SyntheticTaskSource(TaskScenario(number, whole_process, threads), pace_s)
