"""A made-up host, for tests, benchmarks and screenshots: Frames by the same rules as the live ones, from a seed."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from schedtop.base.histogram import BUCKETS, bucket_index
from schedtop.base.units import NS_PER_S
from schedtop.model.counts import Overhead, Pressure
from schedtop.model.cpus import CPU_COUNTERS, CpuTable
from schedtop.model.frame import Frame
from schedtop.model.host import Host, Topology
from schedtop.model.latency import LatencyTable
from schedtop.model.queue_lengths import QUEUE_KINDS, QueueTable
from schedtop.model.rows import TASK_DTYPE, WAIT_KINDS, Rows
from schedtop.sources.synthetic import blame as synthetic_blame
from schedtop.sources.synthetic import interrupts as synthetic_interrupts
from schedtop.sources.synthetic.short_lived import short_lived

_START_TIME_NS = 1_790_000_000 * NS_PER_S
_NAMES = (
    b"stress",
    b"nginx",
    b"postgres",
    b"kworker/1:2",
    b"java",
    b"python3",
    b"sshd",
    b"containerd",
    b"node",
    b"cc1",
)


_FORK = WAIT_KINDS.index("fork")
_FORKS, _FORK_NS = 20, 30_000


@dataclass(frozen=True, slots=True)
class Scenario:
    """Size and mood of the made-up host."""

    cpus: int = 2
    tasks: int = 40
    slow_waits: int = 6
    frames: int = 300
    interval_ns: int = NS_PER_S
    steal_ratio: float = 0.03
    seed: int = 1


class SyntheticSource:
    """A Source that makes Frames from a Scenario as fast as they are taken, or one per `pace_s` seconds."""

    def __init__(self, scenario: Scenario = Scenario(), pace_s: float = 0) -> None:
        self.scenario = scenario
        self.pace_s = pace_s
        self.threshold_ns = 5_000_000
        self.grouping = ""
        self.sampling = False
        self.interrupts = False
        topology = make_topology(scenario.cpus)
        self.host = Host("synthetic", "6.18.0", "synthetic", virtualised=True, topology=topology)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None

    def set_threshold(self, threshold_ns: int) -> None:
        """Sets the threshold that the Frames carry."""
        self.threshold_ns = threshold_ns

    def set_grouping(self, kind: str) -> None:
        """Sets the id field that the Frames' histograms are by."""
        self.grouping = kind

    def set_sampling(self, on: bool) -> None:
        """Sets whether the Frames have samples of the run queues."""
        self.sampling = on

    def set_interrupts(self, on: bool) -> None:
        """Sets whether the Frames tell of interrupts."""
        self.interrupts = on

    def set_measuring(self, on: bool) -> None:
        """There are no kernel programs to measure."""

    def frames(self, stop: threading.Event) -> Iterator[Frame]:
        """The scenario's Frames."""
        rng = np.random.default_rng(self.scenario.seed)
        for number in range(self.scenario.frames):
            if stop.wait(self.pace_s) if self.pace_s else stop.is_set():
                return
            asked = {"sampling": self.sampling, "interrupts": self.interrupts}
            yield make_frame(self.scenario, number, rng, self.threshold_ns, self.grouping, **asked)


def make_topology(cpus: int) -> Topology:
    """A machine of so many CPUs as they are built: from 8 on two threads a core, 8 cores a cache (4 if that is all),
    128 CPUs a node and at least two nodes from 32 on; second threads have the upper half of the numbers, as in Linux.
    """
    ids = range(cpus)
    if cpus < 8 or cpus % 2:
        return Topology(tuple(cpu * 4 // cpus for cpu in ids), tuple(cpu * 2 // cpus for cpu in ids), tuple(ids))
    cores = cpus // 2
    nodes = max(1 if cpus < 32 else 2, cores // 64)
    return Topology(
        tuple(cpu % cores // 8 * 8 for cpu in ids),
        tuple(cpu % cores * nodes // cores for cpu in ids),
        tuple(cpu % cores for cpu in ids),
    )


def hot_cpus(cpus: int) -> list[int]:
    """The CPUs that are clearly worse than the others, on hosts that have many."""
    return list(range(5, cpus, max(8, cpus // 6))) if cpus >= 8 else []


def make_frame(
    scenario: Scenario,
    number: int,
    rng: np.random.Generator,
    threshold_ns: int = 5_000_000,
    grouping: str = "",
    *,
    sampling: bool = False,
    interrupts: bool = False,
) -> Frame:
    """The Frame `number` of a scenario; `grouping` is an id field of GROUPS or empty."""
    start = _START_TIME_NS + number * scenario.interval_ns
    latency = _latency(scenario, rng)
    tasks = _tasks(scenario, rng, int(latency.sum_ns.sum()))
    pairs, attribution = synthetic_blame.pairs(tasks, latency)
    if interrupts:
        tasks["interrupted_ns"] = synthetic_interrupts.taken(tasks["run_ns"])
    return Frame(
        start_time_ns=start,
        end_ns=(number + 1) * scenario.interval_ns,
        interval_ns=scenario.interval_ns,
        cpus=(cpus := _cpus(scenario, number, rng)),
        latency=latency,
        tasks=tasks,
        short_lived=short_lived(number, scenario.interval_ns),
        slow_waits=_slow_waits(scenario, start, tasks, threshold_ns, rng),
        threshold_ns=threshold_ns,
        kernel_switches=int(cpus.column("switches").sum()),
        pressure=Pressure(int(rng.integers(scenario.interval_ns // 4)), 0),
        overhead=Overhead(cpu_ns=scenario.interval_ns // 90, rss_bytes=140 << 20),
        pairs=pairs,
        attribution=attribution,
        throttling=synthetic_blame.throttling(number, scenario.interval_ns),
        groups=synthetic_blame.groups(grouping, tasks, latency),
        queue=_queue(scenario, number) if sampling else None,
        interrupts=synthetic_interrupts.interrupts(number, scenario.cpus, scenario.interval_ns) if interrupts else None,
        cgroups=synthetic_blame.CGROUPS,
    )


def _cpus(scenario: Scenario, number: int, rng: np.random.Generator) -> CpuTable:
    table = CpuTable.empty(scenario.cpus)
    column = {name: table.counters[:, index] for index, name in enumerate(CPU_COUNTERS)}
    wave = 1 + 0.8 * np.sin(number / 9 + np.arange(scenario.cpus))
    column["voluntary_switches"][:] = rng.poisson(1500 * wave)
    column["involuntary_switches"][:] = rng.poisson(300 * wave**2)
    column["switches"][:] = (
        column["voluntary_switches"] + column["involuntary_switches"] + rng.poisson(800, scenario.cpus)
    )
    column["wakeups"][:] = rng.poisson(1400 * wave)
    column["migrations_in"][:] = rng.poisson(20, scenario.cpus)
    column["migrations_out"][:] = column["migrations_in"]
    column["cache_migrations"][:] = column["migrations_in"] // 4
    column["numa_migrations"][:] = column["migrations_in"] // 10
    column["accounted_ns"][:] = scenario.interval_ns
    steal = scenario.steal_ratio * (1 + np.sin(number / 20)) * rng.random(scenario.cpus) * 2
    column["steal_ns"][:] = (np.minimum(steal, 0.9) * scenario.interval_ns).astype(np.int64)
    busy = np.clip(0.5 * wave, 0.01, 1) * (scenario.interval_ns - column["steal_ns"])
    column["busy_ns"][:] = busy.astype(np.int64)
    column["idle_ns"][:] = scenario.interval_ns - column["busy_ns"] - column["steal_ns"]
    table.queue_length[:] = rng.poisson(0.7 * wave)
    _heat(table, number, hot_cpus(scenario.cpus))
    return table


def _heat(table: CpuTable, number: int, hot: Sequence[int]) -> None:
    """Makes CPUs hot: no room left, tasks put off all the time, a queue; the first is the worst, the others in turn."""
    column = {name: table.counters[:, index] for index, name in enumerate(CPU_COUNTERS)}
    for place, cpu in enumerate(hot):
        if place and (number // 15 + place) % 3 == 0:
            continue
        more = column["involuntary_switches"][cpu] * 3 + 1500
        column["involuntary_switches"][cpu] += more
        column["switches"][cpu] += more
        column["busy_ns"][cpu] = column["accounted_ns"][cpu] - column["steal_ns"][cpu]
        column["idle_ns"][cpu] = 0
        table.queue_length[cpu] += 9 - min(place, 5)


def _queue(scenario: Scenario, number: int) -> QueueTable:
    """Queues with a tail, the first CPU's the longest; from numbers of their own, so that the rest stays as it is."""
    rng = np.random.default_rng((scenario.seed, number))
    cpus, hz = scenario.cpus, 99
    expected = np.full(cpus, scenario.interval_ns * hz // NS_PER_S)
    samples = expected - rng.binomial(expected, 0.01)
    wave = 1 + 0.8 * np.sin(number / 9 + np.arange(cpus))
    load = 0.7 * wave + 2.5 / (1 + np.arange(cpus))
    tables = []
    for cpu in range(cpus):
        fair = rng.negative_binomial(1.2, 1.2 / (1.2 + load[cpu]), samples[cpu])
        whole = fair + (rng.random(samples[cpu]) < 0.05)
        tables.append((whole, fair))
    width = 1 + max((int(one.max()) for table in tables for one in table if len(one)), default=0)
    kinds = range(len(QUEUE_KINDS))
    counts = [[np.bincount(table[kind], minlength=width) for table in tables] for kind in kinds]
    sums = [[int(table[kind].sum()) for table in tables] for kind in kinds]
    longest = [[int(table[kind].max(initial=0)) for table in tables] for kind in kinds]
    return QueueTable(
        hz, np.array(counts), np.array(sums), np.array(longest), samples, expected, np.zeros(cpus, np.int64)
    )


def _latency(scenario: Scenario, rng: np.random.Generator) -> LatencyTable:
    # As wide as those of a live source.
    table = LatencyTable.empty(scenario.cpus, np.uint32)
    for cpu in range(scenario.cpus):
        for kind, (median_ns, waits) in enumerate(((20_000, 1400), (400_000, 300))):
            sample = rng.lognormal(np.log(median_ns), 1.1, waits).astype(np.int64)
            table.counts[kind, cpu] = np.bincount(bucket_index(sample), minlength=BUCKETS)
            table.sum_ns[kind, cpu] = sample.sum()
            table.max_ns[kind, cpu] = sample.max()
        # Few new tasks, the same number in each interval.
        sample = _FORK_NS * (1 + np.arange(_FORKS) % 5)
        table.counts[_FORK, cpu] = np.bincount(bucket_index(sample), minlength=BUCKETS)
        table.sum_ns[_FORK, cpu], table.max_ns[_FORK, cpu] = sample.sum(), sample.max()
    return table


def _tasks(scenario: Scenario, rng: np.random.Generator, waited_ns: int) -> Rows:
    """Tasks that together waited `waited_ns`."""
    rows = np.zeros(scenario.tasks, TASK_DTYPE)
    index = np.arange(scenario.tasks)
    rows["tid"] = 4240 + index
    rows["tgid"] = 4240 + index // 4 * 4
    rows["start_ns"] = 1 + index
    rows["comm"] = np.array(_NAMES)[index % len(_NAMES)]
    rows["process"] = np.array(_NAMES)[rows["tgid"] % len(_NAMES)]
    weight = 1 / (1 + index)
    rows["run_ns"] = rng.exponential(weight * scenario.interval_ns)
    delay = rng.exponential(weight)
    rows["run_delay_ns"] = delay / delay.sum() * waited_ns if scenario.tasks else delay
    rows["max_wait_ns"] = rows["run_delay_ns"] * rng.random(scenario.tasks)
    rows["voluntary_switches"] = rng.poisson(40, scenario.tasks)
    rows["involuntary_switches"] = rng.poisson(10 + 100 * weight)
    rows["timeslices"] = rows["voluntary_switches"] + rows["involuntary_switches"]
    rows["migrations"] = rng.poisson(2, scenario.tasks)
    rows["cache_migrations"] = rows["migrations"] // 3
    rows["numa_migrations"] = rows["migrations"] // 5
    rows["last_cpu"] = index % scenario.cpus
    rows["parent"], rows["parent_tgid"] = b"systemd", 1
    rows["waiting_ns"] = np.where(rng.random(scenario.tasks) < 0.05, rng.exponential(4e6, scenario.tasks), 0)
    synthetic_blame.place(rows)
    return rows


def _slow_waits(scenario: Scenario, start: int, tasks: Rows, threshold_ns: int, rng: np.random.Generator) -> Rows:
    count = scenario.slow_waits
    victims, *others = (tasks[rng.integers(len(tasks), size=count)] for _ in range(4))
    wait_ns = (threshold_ns * (1 + rng.exponential(1.5, count))).astype(np.int64)
    return synthetic_blame.slow_waits(start, scenario.interval_ns, victims, others, wait_ns)
