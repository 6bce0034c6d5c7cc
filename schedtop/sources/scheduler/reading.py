"""Reading: what the kernel and /proc tell at one moment. `difference` of two Readings is a Frame.

The task table is 65,536 slots of kernel memory, most of them unchanged between two moments, so a Reading does not copy
it: `TaskLedger` gives the tasks that moved, as differences. They, and the events of the interval, are in `SinceLast`;
all else of a Reading is cumulative or holds at its moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from schedtop.base.breath import keep_on
from schedtop.base.histogram import BUCKETS
from schedtop.model.activity_table import ActivityTable
from schedtop.model.counts import Attribution, Loss, Overhead, Pressure, subtract
from schedtop.model.cpus import CPU_COUNTERS, CpuTable
from schedtop.model.ext_scheduler import ExtScheduler
from schedtop.model.frame import Frame
from schedtop.model.group_latency import GroupLatency
from schedtop.model.latency import LatencyTable
from schedtop.model.queue_lengths import QueueTable
from schedtop.model.rows import PAIR_DTYPE, SLOW_WAIT_DTYPE, TASK_DTYPE, THROTTLING_DTYPE, WAIT_KINDS, Integers, Rows
from schedtop.model.short_lived import no_short_lived
from schedtop.sources.host.proc import StatReading, cpu_times
from schedtop.sources.interrupts import reader as interrupt_reader
from schedtop.sources.interrupts.reader import InterruptReading
from schedtop.sources.scheduler.caused import Caused, longest_caused_ns
from schedtop.sources.scheduler.causes import assign_causes, infer_throttled, stolen_at_least
from schedtop.sources.scheduler.samples import Between, queue_table

_KERNEL_CPU_COUNTERS = {
    "switches": "switches",
    "voluntary_switches": "voluntary",
    "involuntary_switches": "involuntary",
    "wakeups": "wakeups",
    "migrations_in": "migrations_in",
    "migrations_out": "migrations_out",
    "cache_migrations": "cache_migrations",
    "numa_migrations": "numa_migrations",
}
_KERNEL_ATTRIBUTION = {
    "looked_at_ns": "looked_at_ns",
    "over_budget_ns": "over_budget_ns",
    "uncovered_ns": "uncovered_ns",
    "idle_ns": "blocked_idle_ns",
    "others_ns": "others_ns",
    "unpaired_ns": "unpaired_ns",
}
_KERNEL_LOSS = {
    "ring_dropped": "ring_dropped",
    "slow_waits_suppressed": "slow_suppressed",
    "tasks_untracked": "untracked",
    "tasks_evicted": "evicted",
    "negative_waits": "negative_waits",
    "switches_unseen": "switches_unseen",
    "waits_unseen": "waits_unseen",
    "short_lived_dropped": "short_lived_dropped",
}


@dataclass(frozen=True, slots=True, eq=False)
class SinceLast:
    """What is of the interval that ends at a Reading alone: differences already, or events of it.

    `tasks`, `slow_waits`, `short_lived` and `pairs` are rows as in a Frame, `small_pairs_ns` what the pairs that were
    too many had,
    `caused` what is known of the waits that schedtop caused; `activity` comes from a source of its own
    (sources/activity/beside.py).
    """

    tasks: Rows = field(default_factory=lambda: np.zeros(0, TASK_DTYPE))
    slow_waits: Rows = field(default_factory=lambda: np.zeros(0, SLOW_WAIT_DTYPE))
    short_lived: Rows = field(default_factory=no_short_lived)
    pairs: Rows = field(default_factory=lambda: np.zeros(0, PAIR_DTYPE))
    small_pairs_ns: int = 0
    caused: Caused | None = None
    activity: ActivityTable | None = None


@dataclass(slots=True, eq=False)
class Reading:
    """Counters, gauges and settings at `time_ns` (CLOCK_MONOTONIC), which is `wall_ns` by the wall clock.

    Cumulative: `cpus` (rows of `struct cpu_state`), `stat`, `pressure`, `own`, `late_ticks`, `events_missed`,
    `waits_ungrouped`, `throttling` (rows of THROTTLING_DTYPE), `groups`, `queues` (rows of `struct queue_samples`),
    `interrupts` (`None` while they are not timed). Gauges: `queue_length`, `sched_ext` and `cgroups`. `epoch` is the
    number of the interval that ends here, `since_last` what is of that interval alone, `threshold_ns` what held in it.
    `blocked` lacks `small_pairs_ns`; `idle_ns` (CPUs,) includes the idle period under
    way; `overhead` is `own` with the switches that the time of our programs is for. `sampled_cpus`: their run queues
    are sampled from here on. `infers_throttling`: the kernel does not tell which waits are of throttled tasks.
    """

    time_ns: int
    wall_ns: int
    epoch: int
    cpus: Rows
    threshold_ns: int
    stat: StatReading | None
    pressure: Pressure | None
    own: Overhead
    since_last: SinceLast = field(default_factory=SinceLast)
    late_ticks: int = 0
    events_missed: int = 0
    waits_ungrouped: int = 0
    throttling: Rows = field(default_factory=lambda: np.zeros(0, THROTTLING_DTYPE))
    groups: GroupLatency | None = None
    queues: Rows | None = None
    sampled_cpus: tuple[int, ...] = ()
    interrupts: InterruptReading | None = None
    infers_throttling: bool = False
    sched_ext: ExtScheduler | None = None
    queue_length: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    cgroups: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    unavailable: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    # What is made of these fields, once: each Reading is the later one of a Frame, and the earlier one of the next.
    loss: Loss = field(init=False)
    blocked: Attribution = field(init=False)
    overhead: Overhead = field(init=False)
    idle_ns: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        own = self.own
        if own.bpf_ns is not None:
            own = replace(own, bpf_switches=int(self.cpus["switches"].sum()))
        own_losses = {name: getattr(self, name) for name in ("late_ticks", "events_missed", "waits_ungrouped")}
        self.loss = Loss(**self._sums(_KERNEL_LOSS), **own_losses)
        self.blocked = Attribution(**self._sums(_KERNEL_ATTRIBUTION))
        self.overhead = own
        self.idle_ns = _idle_ns(self.cpus, self.time_ns)

    @property
    def kernel_switches(self) -> int | None:
        """Switches by the kernel's own count."""
        return self.stat.switches if self.stat else None

    def _sums(self, names: Mapping[str, str]) -> dict[str, int]:
        """Counters of all CPUs together, by the names of a Frame."""
        return {name: int(np.add.reduce(self.cpus[kernel])) for name, kernel in names.items()}


def _idle_ns(cpus: Rows, time_ns: int) -> npt.NDArray[np.int64]:
    """Idle time of each CPU, the idle period under way included."""
    start = cpus["slice_start_ns"].astype(np.int64)
    idles_now = (cpus["current_tid"] == 0) & (start > 0) & (start < time_ns)
    return np.where(idles_now, time_ns - start, 0) + cpus["idle_ns"].astype(np.int64)


def difference(
    earlier: Reading, later: Reading, kind: type[Frame] = Frame, breathe: Callable[[], object] = keep_on
) -> Frame:
    """The Frame between two Readings of one source; `breathe` is called in between.

    A part comes from the kernel's structs (`_FROM_STRUCTS`), or is of the interval already (SinceLast), or is what the
    table of parts makes of the two values of its name.
    """
    interval_ns = later.time_ns - earlier.time_ns
    parts: dict[str, Any] = {
        "start_time_ns": later.wall_ns - interval_ns,
        "end_ns": later.time_ns,
        "interval_ns": interval_ns,
    }
    for name, make in _FROM_STRUCTS.items():
        parts[name] = make(earlier, later)
        breathe()
    parts |= {
        part.name: getattr(later.since_last, part.name)
        if hasattr(later.since_last, part.name)
        else part.difference(getattr(earlier, part.name), getattr(later, part.name))
        for part in kind.parts
        if part.name not in parts
    }
    breathe()
    parts["slow_waits"] = _slow_waits(earlier, later, parts["cpus"], parts["throttling"])
    breathe()
    if (caused := later.since_last.caused) is not None:
        longest_ns = int(parts["latency"].max_ns.max(initial=0))
        bound_ns = longest_caused_ns(caused, subtract(earlier.blocked, later.blocked), longest_ns, interval_ns)
        parts["overhead"] = parts["overhead"].with_caused_wait(bound_ns, caused.least_ns)
    return kind(**parts)


def _cpu_table(earlier: Reading, later: Reading) -> CpuTable:
    counters = np.zeros((len(later.cpus), len(CPU_COUNTERS)), np.int64)
    columns = {name: counters[:, index] for index, name in enumerate(CPU_COUNTERS)}
    for name, kernel_name in _KERNEL_CPU_COUNTERS.items():
        columns[name][:] = later.cpus[kernel_name] - earlier.cpus[kernel_name]
    idle = later.idle_ns - earlier.idle_ns
    columns["idle_ns"][:] = np.minimum(np.maximum(idle, 0), later.time_ns - earlier.time_ns)
    online = np.ones(len(later.cpus), bool)
    if earlier.stat and later.stat:
        for name, times_ns in cpu_times(earlier.stat, later.stat).items():
            columns[name][:] = times_ns
        online = later.stat.online
    return CpuTable(counters, online, later.queue_length)


def _latency(earlier: Reading, later: Reading) -> LatencyTable:
    cpus, kinds = len(later.cpus), len(WAIT_KINDS)
    # Counts of one interval fit in 32 bits, and a minute of them is half as much to add.
    counts = (later.cpus["latency"] - earlier.cpus["latency"]).reshape(cpus, kinds, BUCKETS).astype(np.uint32)
    sums = later.cpus["wait_sum_ns"].astype(np.int64) - earlier.cpus["wait_sum_ns"].astype(np.int64)
    parity = later.epoch & 1
    current = later.cpus["longest_epoch"][:, parity] == later.epoch
    longest = later.cpus["longest_ns"].reshape(cpus, 2, kinds)[:, parity]
    longest = np.where(current[:, None], longest, 0).astype(np.int64)
    # Of a CPU that was stopped while it counted a wait (cut.py), the one may be known without the other.
    number = np.add.reduce(counts, axis=2, dtype=np.int64)
    longest = np.minimum(np.maximum(longest, -(-sums // np.maximum(number, 1))), sums)
    return LatencyTable(
        np.ascontiguousarray(counts.transpose(1, 0, 2)),
        np.ascontiguousarray(np.where(number > 0, sums, 0).T),
        np.where(number > 0, longest, 0).T.copy(),
    )


def _slow_waits(earlier: Reading, later: Reading, cpus: CpuTable, throttling: Rows) -> Rows:
    """The slow waits with what only both Readings tell: steal by /proc/stat, and which cgroups were throttled."""
    rows = later.since_last.slow_waits
    if not len(rows):
        return rows
    rows = rows.copy()
    if later.stat:
        stolen = stolen_at_least(rows, cpus.column("steal_ns"), later.time_ns - earlier.time_ns)
        rows["stolen_ns"] = np.maximum(rows["stolen_ns"], stolen)
    throttled = infer_throttled(rows, throttling, later.cgroups) if later.infers_throttling else None
    assign_causes(rows, throttled)
    return rows


def _queue(earlier: Reading, later: Reading) -> QueueTable | None:
    """The samples between, `None` if the run queues were not sampled."""
    if earlier.queues is None or later.queues is None or not earlier.sampled_cpus:
        return None
    between = Between(
        later.time_ns - earlier.time_ns,
        later.epoch,
        earlier.sampled_cpus,
        later.idle_ns - earlier.idle_ns,
        later.stat.online if later.stat else None,
    )
    return queue_table(earlier.queues, later.queues, between)


def _attribution(earlier: Reading, later: Reading) -> Attribution:
    blocked = subtract(earlier.blocked, later.blocked)
    if not later.since_last.small_pairs_ns:
        return blocked
    return replace(blocked, others_ns=blocked.others_ns + later.since_last.small_pairs_ns)


_FROM_STRUCTS: Mapping[str, Callable[[Reading, Reading], Any]] = {
    "cpus": _cpu_table,
    "latency": _latency,
    "queue": _queue,
    "interrupts": lambda earlier, later: interrupt_reader.difference(earlier.interrupts, later.interrupts),
    "attribution": _attribution,
}
"""Parts that the kernel side holds in structs of its own: what a Frame has of them is made of two Readings."""
