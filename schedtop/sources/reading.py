"""Reading: all cumulative counters at one moment. `difference` of two Readings is a Frame.

The task table is 65,536 slots of kernel memory, most of them unchanged between two moments. So a Reading holds only the
tasks that moved, each beside what it was at the Reading before (`TaskLedger` keeps that).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from schedtop.histogram import BUCKETS
from schedtop.model import Frame, Loss, Overhead, Pressure
from schedtop.rows import SLOW_WAIT_DTYPE, TASK_DTYPE, WAIT_KINDS, Integers, Rows, as_words, take_rows
from schedtop.sources.proc import StatReading
from schedtop.tables import CPU_COUNTERS, CpuTable, LatencyTable

_KERNEL_CPU_COUNTERS = {
    "switches": "switches",
    "voluntary_switches": "voluntary",
    "involuntary_switches": "involuntary",
    "wakeups": "wakeups",
    "migrations_in": "migrations_in",
    "migrations_out": "migrations_out",
}
_KERNEL_LOSS = {
    "ring_dropped": "ring_dropped",
    "slow_waits_suppressed": "slow_suppressed",
    "tasks_untracked": "untracked",
    "tasks_evicted": "evicted",
    "negative_waits": "negative_waits",
    "switches_unseen": "switches_unseen",
}

LEDGER_DTYPE = np.dtype(
    [
        ("tid", "<u4"),
        ("start_ns", "<u8"),
        ("run_ns", "<i8"),
        ("run_delay_ns", "<i8"),
        ("voluntary", "<u4"),
        ("involuntary", "<u4"),
        ("timeslices", "<u4"),
        ("migrations", "<u4"),
        ("padding", "<u4"),
    ]
)
"""What is remembered of each task: its counters, with the slice or wait under way included."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Cumulative counters at `time_ns` (CLOCK_MONOTONIC), which is `wall_ns` by the wall clock.

    `cpus`: rows of `struct cpu_state`; `epoch` is the number of the interval that ends here. `tasks` (TASK_DTYPE) are
    already differences, see TaskLedger. `slow_waits`: rows of `struct slow_wait` since the Reading before.
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
    queue_length: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    cgroups: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    unavailable: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def difference(earlier: Reading, later: Reading) -> Frame:
    """The Frame between two Readings of one source."""
    interval_ns = later.time_ns - earlier.time_ns
    return Frame(
        start_time_ns=later.wall_ns - interval_ns,
        end_ns=later.time_ns,
        interval_ns=interval_ns,
        cpus=_cpu_table(earlier, later),
        latency=_latency(earlier, later),
        tasks=later.tasks,
        slow_waits=_slow_waits(later),
        threshold_ns=later.threshold_ns,
        kernel_switches=later.stat.switches - earlier.stat.switches if earlier.stat and later.stat else None,
        pressure=_pressure(earlier.pressure, later.pressure),
        loss=_loss(earlier, later),
        overhead=_overhead(earlier, later),
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


def _slow_waits(later: Reading) -> Rows:
    events = later.slow_waits
    rows = np.zeros(len(events), SLOW_WAIT_DTYPE)
    rows["time_ns"] = events["end_ns"].astype(np.int64) + (later.wall_ns - later.time_ns)
    for name in SLOW_WAIT_DTYPE.names or ():
        if name != "time_ns":
            rows[name] = events[name]
    return rows[np.argsort(rows["time_ns"], kind="stable")]


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
    return Loss(**counts, late_ticks=later.late_ticks - earlier.late_ticks)


class TaskLedger:
    """What every task's counters were at the last Reading, so that the next one yields differences.

    Reported counters never run backwards: where a slot was read in the middle of a switch, the difference comes with
    the next Reading, and no nanosecond is counted twice or lost.
    """

    def __init__(self, slots: int) -> None:
        self._slots = np.zeros(slots, LEDGER_DTYPE)
        self._overflow: Rows = np.zeros(0, LEDGER_DTYPE)

    def moved(self, slots: Rows, running_tids: Integers) -> Integers:
        """Indices of the slots that changed since the last Reading, or that are waiting or running now.

        `slots`: rows of `struct task_slot`; `running_tids`: the tid on each CPU.
        """
        last = self._slots
        changed = slots["timeslices"] != last["timeslices"]
        changed |= slots["voluntary"] + slots["involuntary"] != last["voluntary"] + last["involuntary"]
        changed |= slots["wait_start_ns"] != 0
        changed |= slots["tid"] != last["tid"]
        changed |= slots["start_ns"] != last["start_ns"]
        changed[running_tids & (len(slots) - 1)] = True
        changed &= slots["tid"] != 0
        return np.flatnonzero(changed)

    def settle(self, indices: Integers, rows: Rows, overflow: Rows, now: Moment) -> Rows:
        """The tasks (TASK_DTYPE) that did something since the last Reading; remembers their counters for the next one.

        `rows`: copies of the slots at `indices`; `overflow`: the rows of the overflow map.
        """
        before = take_rows(self._slots, indices)
        latest = _ledger_rows(rows, now)
        tasks = _differences(before, latest, rows, now)
        as_words(self._slots)[indices] = as_words(latest)
        if not len(overflow):
            self._overflow = np.zeros(0, LEDGER_DTYPE)
            return tasks
        return np.concatenate((tasks, self._settle_overflow(overflow, now)))

    def _settle_overflow(self, overflow: Rows, now: Moment) -> Rows:
        """The same for the rows of a hash, which come in any order; the last ones are kept in order of tid."""
        overflow = take_rows(overflow, np.argsort(overflow["tid"]))
        latest = _ledger_rows(overflow, now)
        before = np.zeros(len(overflow), LEDGER_DTYPE)
        if len(self._overflow):
            at = np.minimum(np.searchsorted(self._overflow["tid"], latest["tid"]), len(self._overflow) - 1)
            # Another task's counters do no harm here: differences ask whether it is the same one.
            before = take_rows(self._overflow, at)
        tasks = _differences(before, latest, overflow, now)
        self._overflow = latest
        return tasks


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """When slots were read, and what ran then: `running` are tids with their slice's start, sorted by tid."""

    time_ns: int
    epoch: int
    running_tids: Integers
    running_since_ns: Integers

    @classmethod
    def of(cls, time_ns: int, epoch: int, cpus: Rows) -> Moment:
        """The moment `time_ns`, taken before the slots were read, by CPU rows that were read after them.

        A slice that began before and is still the same after did not touch its slot in between.
        """
        live = (cpus["slice_start_ns"] > 0) & (cpus["slice_start_ns"] <= time_ns) & (cpus["current_tid"] > 0)
        tids = cpus["current_tid"][live].astype(np.int64)
        order = np.argsort(tids)
        return cls(time_ns, epoch, tids[order], cpus["slice_start_ns"][live].astype(np.int64)[order])

    def slice_ns(self, tids: Integers) -> npt.NDArray[np.int64]:
        """How long each task has been running in the slice under way, 0 if it does not run."""
        if not len(self.running_tids):
            return np.zeros(len(tids), np.int64)
        wanted = tids.astype(np.int64)
        at = np.minimum(np.searchsorted(self.running_tids, wanted), len(self.running_tids) - 1)
        return np.where(self.running_tids[at] == wanted, self.time_ns - self.running_since_ns[at], 0)

    def waiting_ns(self, rows: Rows) -> npt.NDArray[np.int64]:
        """How long each task has been waiting on a run queue, 0 if it does not wait."""
        start = rows["wait_start_ns"].astype(np.int64)
        waits = (start > 0) & (start < self.time_ns) & (rows["wait_kind"] < len(WAIT_KINDS))
        return np.where(waits, self.time_ns - start, 0)


def queue_length(rows: Rows, cpus: int) -> Integers:
    """How many tasks of `rows` wait on each CPU's run queue, shape (cpus,)."""
    waits = (rows["wait_start_ns"] > 0) & (rows["wait_kind"] < len(WAIT_KINDS))
    return np.bincount(rows["queue_cpu"][waits], minlength=cpus)[:cpus]


def _ledger_rows(rows: Rows, now: Moment) -> Rows:
    latest = np.zeros(len(rows), LEDGER_DTYPE)
    for name in ("tid", "start_ns", "voluntary", "involuntary", "timeslices", "migrations"):
        latest[name] = rows[name]
    latest["run_ns"] = rows["run_ns"].astype(np.int64) + now.slice_ns(rows["tid"])
    latest["run_delay_ns"] = rows["run_delay_ns"].astype(np.int64) + now.waiting_ns(rows)
    return latest


def _differences(before: Rows, latest: Rows, rows: Rows, now: Moment) -> Rows:
    """Rows of TASK_DTYPE; lifts times in `latest` that would run backwards."""
    same = (before["tid"] == latest["tid"]) & (before["start_ns"] == latest["start_ns"])
    tasks = np.zeros(len(rows), TASK_DTYPE)
    for name in ("tid", "tgid", "start_ns", "comm", "cgroup_id", "last_cpu"):
        tasks[name] = rows[name]
    for name in ("run_ns", "run_delay_ns"):
        earlier = np.where(same, before[name], 0)
        latest[name] = np.maximum(latest[name], earlier)
        tasks[name] = latest[name] - earlier
    counters = {
        "timeslices": "timeslices",
        "voluntary_switches": "voluntary",
        "involuntary_switches": "involuntary",
        "migrations": "migrations",
    }
    for name, kernel_name in counters.items():
        # Unsigned, so right even when the kernel's 32 bits wrapped.
        tasks[name] = latest[kernel_name] - np.where(same, before[kernel_name], 0).astype(np.uint32)
    tasks["waiting_ns"] = now.waiting_ns(rows)
    parity = now.epoch & 1
    current = rows["longest_epoch"][:, parity] == (now.epoch & 0xFFFF)
    longest = np.where(current, rows["longest_ns"][:, parity], 0).astype(np.int64)
    tasks["max_wait_ns"] = np.maximum(longest, tasks["waiting_ns"])
    return tasks
