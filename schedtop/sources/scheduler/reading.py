"""Reading: all cumulative counters at one moment. `difference` of two Readings is a Frame.

The task table is 65,536 slots of kernel memory, most of them unchanged between two moments. So a Reading holds only the
tasks that moved, as differences already (`TaskLedger`); slow waits and pairs are of the interval that ends here, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from schedtop.base.histogram import BUCKETS
from schedtop.base.units import NS_PER_S
from schedtop.model.counts import Attribution, Loss, Overhead, Pressure
from schedtop.model.cpus import CPU_COUNTERS, CpuTable
from schedtop.model.frame import Frame
from schedtop.model.group_latency import GroupLatency
from schedtop.model.latency import LatencyTable
from schedtop.model.queue_lengths import MOST_QUEUED, QUEUE_KINDS, QueueTable
from schedtop.model.rows import PAIR_DTYPE, THROTTLING_DTYPE, WAIT_KINDS, Integers, Rows
from schedtop.model.short_lived import no_short_lived
from schedtop.sources.host.proc import StatReading
from schedtop.sources.host.throttling import difference as throttling_difference
from schedtop.sources.kernel.front_end import SAMPLING_HZ
from schedtop.sources.scheduler.causes import assign_causes, infer_throttled, stolen_at_least

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
    "short_lived_dropped": "short_lived_dropped",
}


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Cumulative counters at `time_ns` (CLOCK_MONOTONIC), which is `wall_ns` by the wall clock.

    `cpus`: rows of `struct cpu_state`; `epoch` is the number of the interval that ends here. `tasks`, `slow_waits`,
    `short_lived` and `pairs` are rows of the interval, `small_pairs_ns` what the pairs that were too many had.
    `throttling` (rows of THROTTLING_DTYPE), `groups` and `queues` (rows of `struct queue_samples`) are cumulative;
    `sampled_cpus`: whose run queues are sampled from here on. `infers_throttling`: the kernel does not tell whose wait
    it was.
    """

    time_ns: int
    wall_ns: int
    epoch: int
    cpus: Rows
    tasks: Rows
    slow_waits: Rows
    threshold_ns: int
    stat: StatReading | None
    pressure: Pressure | None
    own: Overhead
    late_ticks: int = 0
    events_missed: int = 0
    short_lived: Rows = field(default_factory=no_short_lived)
    pairs: Rows = field(default_factory=lambda: np.zeros(0, PAIR_DTYPE))
    small_pairs_ns: int = 0
    throttling: Rows = field(default_factory=lambda: np.zeros(0, THROTTLING_DTYPE))
    groups: GroupLatency | None = None
    queues: Rows | None = None
    sampled_cpus: tuple[int, ...] = ()
    infers_throttling: bool = False
    queue_length: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    cgroups: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    unavailable: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def difference(earlier: Reading, later: Reading) -> Frame:
    """The Frame between two Readings of one source."""
    interval_ns = later.time_ns - earlier.time_ns
    cpus = _cpu_table(earlier, later)
    throttling = throttling_difference(earlier.throttling, later.throttling)
    return Frame(
        start_time_ns=later.wall_ns - interval_ns,
        end_ns=later.time_ns,
        interval_ns=interval_ns,
        cpus=cpus,
        latency=_latency(earlier, later),
        tasks=later.tasks,
        short_lived=later.short_lived,
        slow_waits=_slow_waits(earlier, later, cpus, throttling),
        threshold_ns=later.threshold_ns,
        kernel_switches=later.stat.switches - earlier.stat.switches if earlier.stat and later.stat else None,
        pressure=_pressure(earlier.pressure, later.pressure),
        loss=_loss(earlier, later),
        overhead=_overhead(earlier, later),
        pairs=later.pairs,
        attribution=_attribution(earlier, later),
        throttling=throttling,
        groups=_groups(earlier.groups, later.groups),
        queue=_queue(earlier, later),
        cgroups=later.cgroups,
        unavailable=later.unavailable,
    )


def _cpu_table(earlier: Reading, later: Reading) -> CpuTable:
    counters = np.zeros((len(later.cpus), len(CPU_COUNTERS)), np.int64)
    columns = {name: counters[:, index] for index, name in enumerate(CPU_COUNTERS)}
    for name, kernel_name in _KERNEL_CPU_COUNTERS.items():
        columns[name][:] = later.cpus[kernel_name].astype(np.int64) - earlier.cpus[kernel_name].astype(np.int64)
    idle = _idle_ns(later) - _idle_ns(earlier)
    columns["idle_ns"][:] = np.clip(idle, 0, later.time_ns - earlier.time_ns)
    online = np.ones(len(later.cpus), bool)
    if earlier.stat and later.stat:
        for name in ("busy_ns", "steal_ns", "accounted_ns"):
            # A CPU that was unplugged starts again at zero, and iowait may run backwards (man 5 proc).
            columns[name][:] = np.maximum(getattr(later.stat, name) - getattr(earlier.stat, name), 0)
        online = later.stat.online
    return CpuTable(counters, online, later.queue_length)


def _idle_ns(reading: Reading) -> npt.NDArray[np.int64]:
    """Idle time including the idle period under way."""
    cpus = reading.cpus
    start = cpus["slice_start_ns"].astype(np.int64)
    idles_now = (cpus["current_tid"] == 0) & (start > 0) & (start < reading.time_ns)
    idle: npt.NDArray[np.int64] = cpus["idle_ns"].astype(np.int64) + np.where(idles_now, reading.time_ns - start, 0)
    return idle


def _latency(earlier: Reading, later: Reading) -> LatencyTable:
    cpus, kinds = len(later.cpus), len(WAIT_KINDS)
    # Counts of one interval fit in 32 bits, and a minute of them is half as much to add.
    counts = (later.cpus["latency"] - earlier.cpus["latency"]).reshape(cpus, kinds, BUCKETS).astype(np.uint32)
    sums = later.cpus["wait_sum_ns"].astype(np.int64) - earlier.cpus["wait_sum_ns"].astype(np.int64)
    parity = later.epoch & 1
    current = later.cpus["longest_epoch"][:, parity] == later.epoch
    longest = later.cpus["longest_ns"].reshape(cpus, 2, kinds)[:, parity]
    longest = np.where(current[:, None], longest, 0).astype(np.int64)
    # A wait that ended just when the interval did is counted in the one and the longest of the other.
    number = counts.sum(axis=2, dtype=np.int64)
    longest = np.clip(longest, -(-sums // np.maximum(number, 1)), sums)
    return LatencyTable(
        np.ascontiguousarray(counts.transpose(1, 0, 2)),
        np.ascontiguousarray(np.where(number > 0, sums, 0).T),
        np.where(number > 0, longest, 0).T.copy(),
    )


def _slow_waits(earlier: Reading, later: Reading, cpus: CpuTable, throttling: Rows) -> Rows:
    """The slow waits with what only both Readings tell: steal by /proc/stat, and whose cgroup was throttled."""
    rows = later.slow_waits.copy()
    if later.stat:
        stolen = stolen_at_least(rows, cpus.column("steal_ns"), later.time_ns - earlier.time_ns)
        rows["stolen_ns"] = np.maximum(rows["stolen_ns"], stolen)
    throttled = infer_throttled(rows, throttling, later.cgroups) if later.infers_throttling else None
    assign_causes(rows, throttled)
    return rows


def _groups(earlier: GroupLatency | None, later: GroupLatency | None) -> GroupLatency | None:
    """What was added to each group; a group that the kernel had to forget meanwhile starts from zero."""
    if earlier is None or later is None or earlier.kind != later.kind:
        return None
    _, old, new = np.intersect1d(earlier.ids, later.ids, assume_unique=True, return_indices=True)
    counts, sums = later.counts.astype(np.int64), later.sum_ns.copy()
    grew = later.sum_ns[new] >= earlier.sum_ns[old]
    counts[new[grew]] -= earlier.counts[old[grew]]
    sums[new[grew]] -= earlier.sum_ns[old[grew]]
    used = sums > 0
    return GroupLatency(later.kind, later.ids[used], np.maximum(counts[used], 0), sums[used])


def _queue(earlier: Reading, later: Reading) -> QueueTable | None:
    """The samples between, `None` if the run queues were not sampled."""
    if earlier.queues is None or later.queues is None or not earlier.sampled_cpus:
        return None
    old, new = earlier.queues, later.queues
    kinds, cpus = len(QUEUE_KINDS), len(new)
    counts = (new["counts"] - old["counts"]).reshape(cpus, kinds, -1).transpose(1, 0, 2)
    used = np.flatnonzero(counts.any(axis=(0, 1)))
    width = int(used[-1]) + 1 if len(used) else 1
    counts = np.ascontiguousarray(counts[:, :, :width])
    # What the last slot holds may be longer. A sample taken just now may be counted in the one and not in the other.
    longest = np.where(counts > 0, np.arange(width), 0).max(axis=2).astype(np.int64)
    parity = later.epoch & 1
    current = new["longest_epoch"][:, parity] == later.epoch
    noted = np.where(current[:, None], new["longest"].reshape(cpus, 2, kinds)[:, parity], 0).T.astype(np.int64)
    longest = np.where(longest < MOST_QUEUED, longest, np.maximum(longest, noted))
    expected = np.zeros(cpus, np.int64)
    expected[list(earlier.sampled_cpus)] = (later.time_ns - earlier.time_ns) * SAMPLING_HZ // NS_PER_S
    taken, idle = ((new[name] - old[name]).astype(np.int64) for name in ("samples", "idle"))
    asleep = (_idle_ns(later) - _idle_ns(earlier)) * SAMPLING_HZ // NS_PER_S - idle
    slept = np.clip(np.minimum(expected - taken, asleep), 0, None)
    counts[:, :, 0] += slept.astype(counts.dtype)
    sums = (new["sum"] - old["sum"]).astype(np.int64).T.copy()
    return QueueTable(SAMPLING_HZ, counts, sums, longest, taken + slept, expected, slept)


def _attribution(earlier: Reading, later: Reading) -> Attribution:
    counts = {
        name: int(later.cpus[kernel].sum()) - int(earlier.cpus[kernel].sum())
        for name, kernel in _KERNEL_ATTRIBUTION.items()
    }
    return replace(Attribution(**counts), others_ns=counts["others_ns"] + later.small_pairs_ns)


def _pressure(earlier: Pressure | None, later: Pressure | None) -> Pressure | None:
    if earlier is None or later is None:
        return None
    return Pressure(later.some_ns - earlier.some_ns, later.full_ns - earlier.full_ns)


def _overhead(earlier: Reading, later: Reading) -> Overhead:
    cost = Overhead(later.own.cpu_ns - earlier.own.cpu_ns, later.own.rss_bytes)
    if earlier.own.bpf_ns is None or later.own.bpf_ns is None:
        return cost
    switches = int(later.cpus["switches"].sum()) - int(earlier.cpus["switches"].sum())
    return replace(cost, bpf_ns=later.own.bpf_ns - earlier.own.bpf_ns, bpf_switches=switches)


def _loss(earlier: Reading, later: Reading) -> Loss:
    counts = {
        name: int(later.cpus[kernel].sum()) - int(earlier.cpus[kernel].sum()) for name, kernel in _KERNEL_LOSS.items()
    }
    return Loss(
        **counts,
        late_ticks=later.late_ticks - earlier.late_ticks,
        events_missed=later.events_missed - earlier.events_missed,
    )
