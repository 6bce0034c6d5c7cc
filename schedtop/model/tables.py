"""Per-CPU and per-group arrays of a Frame, one row a CPU or group, which add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from schedtop.base.histogram import BUCKETS, Histogram
from schedtop.model.rows import WAIT_KINDS, Integers

CPU_COUNTERS = (
    "switches",
    "voluntary_switches",
    "involuntary_switches",
    "wakeups",
    "migrations_in",
    "migrations_out",
    "cache_migrations",
    "numa_migrations",
    "idle_ns",
    "busy_ns",
    "steal_ns",
    "accounted_ns",
)
"""Columns of `CpuTable.counters`. `busy_ns`, `steal_ns` and `accounted_ns` (their whole) are the kernel's own,
from /proc/stat; `idle_ns` is seen at the switches. `wakeups` counts on the CPU of the waker.
`cache_migrations` and `numa_migrations` are those of `migrations_in` that came from another cache or NUMA domain."""


@dataclass(frozen=True, slots=True, eq=False)
class CpuTable:
    """Per-CPU counters, one row per CPU id.

    `counters`: shape (cpus, len(CPU_COUNTERS)); `online`: bool, shape (cpus,); `queue_length`: tasks that wait at
    the end of the interval (a gauge), shape (cpus,).
    """

    counters: Integers
    online: npt.NDArray[np.bool_]
    queue_length: Integers

    @classmethod
    def empty(cls, cpus: int) -> CpuTable:
        """A table of zeros with every CPU online."""
        return cls(np.zeros((cpus, len(CPU_COUNTERS)), np.int64), np.ones(cpus, bool), np.zeros(cpus, np.int64))

    @property
    def ids(self) -> list[int]:
        """The online CPUs."""
        ids: list[int] = np.flatnonzero(self.online).tolist()
        return ids

    def column(self, name: str) -> Integers:
        """One counter of all CPUs, shape (cpus,)."""
        return self.counters[:, CPU_COUNTERS.index(name)]


_HISTOGRAMS_KEPT = 8


@dataclass(frozen=True, slots=True, eq=False)
class LatencyTable:
    """Runqueue latency by kind and CPU.

    `counts`: shape (len(WAIT_KINDS), cpus, BUCKETS); `sum_ns` and `max_ns`: shape (len(WAIT_KINDS), cpus).
    """

    counts: Integers
    sum_ns: Integers
    max_ns: Integers
    histograms: dict[tuple[str | None, tuple[int, ...] | None], Histogram] = field(
        default_factory=dict, init=False, repr=False
    )
    """What `histogram` has added up: a thousand CPUs are many, and several panes ask each second."""

    @classmethod
    def empty(cls, cpus: int, dtype: npt.DTypeLike = np.int64) -> LatencyTable:
        """A table of zeros, its counts of a type."""
        kinds = len(WAIT_KINDS)
        return cls(np.zeros((kinds, cpus, BUCKETS), dtype), *(np.zeros((kinds, cpus), np.int64) for _ in "ab"))

    def histogram(self, kind: str | None = None, cpu: int | Sequence[int] | None = None) -> Histogram:
        """The waits of one kind (or all) on one CPU, on some of those there are, or on all."""
        if isinstance(cpu, int):
            return self._added(kind, cpu)
        key = (kind, None if cpu is None else tuple(cpu))
        found = self.histograms.get(key)
        if found is None:
            found = self._added(*key)
            # It may have asked for those of its kinds.
            while len(self.histograms) >= _HISTOGRAMS_KEPT:
                del self.histograms[next(iter(self.histograms))]
            self.histograms[key] = found
        return found

    @property
    def cpus(self) -> int:
        """How many CPUs it has rows for."""
        return int(self.sum_ns.shape[1])

    def _added(self, kind: str | None, cpu: int | tuple[int, ...] | None) -> Histogram:
        if kind is None:
            return sum((self.histogram(one, cpu) for one in WAIT_KINDS), Histogram.empty())
        kinds, cpus = self._places(kind, cpu)
        return self._histogram(self.counts[kinds, cpus].sum(axis=(0, 1), dtype=np.int64), kinds, cpus)

    def _places(self, kind: str | None, cpu: int | tuple[int, ...] | None) -> tuple[slice, slice | list[int]]:
        kinds = slice(None) if kind is None else slice(WAIT_KINDS.index(kind), WAIT_KINDS.index(kind) + 1)
        if isinstance(cpu, int):
            return kinds, slice(cpu, cpu + 1)
        return kinds, slice(None) if cpu is None else [one for one in cpu if one < self.cpus]

    def _histogram(self, counts: Integers, kinds: slice, cpus: slice | list[int]) -> Histogram:
        longest = self.max_ns[kinds, cpus]
        return Histogram(counts, int(self.sum_ns[kinds, cpus].sum()), int(longest.max()) if longest.size else 0)


class LatencySum(LatencyTable):
    """Several tables together, whose `counts` are added up only when they are asked for.

    A minute of a thousand CPUs is a quarter of a gigabyte, and what is shown of it each second are a few histograms.
    """

    __slots__ = ("_whole", "parts")

    parts: tuple[LatencyTable, ...]
    _whole: Integers | None

    def __init__(self, parts: Sequence[LatencyTable]) -> None:
        cpus = max(part.cpus for part in parts)
        sum_ns, max_ns = (np.zeros((len(WAIT_KINDS), cpus), np.int64) for _ in "ab")
        for part in parts:
            sum_ns[:, : part.cpus] += part.sum_ns
            np.maximum(max_ns[:, : part.cpus], part.max_ns, out=max_ns[:, : part.cpus])
        values: dict[str, Any] = {
            "parts": tuple(parts),
            "sum_ns": sum_ns,
            "max_ns": max_ns,
            "histograms": {},
            "_whole": None,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def counts(self) -> Integers:
        """The counts of all parts, shape (len(WAIT_KINDS), cpus, BUCKETS)."""
        whole = self._whole
        if whole is None:
            whole = merge_latency(self.parts).counts
            object.__setattr__(self, "_whole", whole)
        return whole

    def _added(self, kind: str | None, cpu: int | tuple[int, ...] | None) -> Histogram:
        kinds, cpus = self._places(kind, cpu)
        counts = np.zeros(BUCKETS, np.int64)
        for part in self.parts:
            counts += part.histogram(kind, cpu).counts
        return self._histogram(counts, kinds, cpus)


QUEUE_KINDS = ("all", "fair")
"""First axis of `QueueTable.counts`: the tasks of all classes of a CPU, and those of the fair class alone."""

MOST_QUEUED = 511
"""QUEUE_SLOTS - 1 of bpf/scheduler/maps.h: queues of this length or longer are counted together."""


@dataclass(frozen=True, slots=True, eq=False)
class QueueLengths:
    """Samples of the run queues of one or several CPUs.

    `counts`: how many samples found so many tasks waiting, by that number; MOST_QUEUED stands for longer ones, too.
    `total`: the sum of all lengths; `longest`: the longest one.
    """

    counts: Integers
    total: int
    longest: int

    @property
    def samples(self) -> int:
        """How many samples."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float | None:
        """The average length, `None` without samples."""
        return self.total / self.samples if self.samples else None

    @property
    def waiting_ratio(self) -> float | None:
        """The share of samples in which at least one task waited."""
        return 1 - int(self.counts[0]) / self.samples if self.samples else None

    def percentile(self, ratio: float) -> int | None:
        """The length that this share of the samples does not exceed; MOST_QUEUED means: that or more."""
        if not self.samples:
            return None
        return int(np.searchsorted(np.cumsum(self.counts), ratio * self.samples - 1e-9))


@dataclass(frozen=True, slots=True, eq=False)
class QueueTable:
    """How long the run queues were when they were sampled: how many tasks waited, the running one not counted.

    `hz`: samples a second on each CPU. `counts`: shape (len(QUEUE_KINDS), cpus, lengths from 0 to at most MOST_QUEUED);
    `sums` and `longest`: shape (len(QUEUE_KINDS), cpus); `samples` and `expected` (what there would be if none was
    late): shape (cpus,). `slept`, among `samples`: not taken, because the CPU was idle and its clock stood still, as in
    some virtual machines; there was nobody to wait.
    """

    hz: int
    counts: Integers
    sums: Integers
    longest: Integers
    samples: Integers
    expected: Integers
    slept: Integers

    def lengths(self, kind: str, cpus: Sequence[int] | None = None) -> QueueLengths:
        """The samples of one of QUEUE_KINDS on some CPUs (or all)."""
        index = QUEUE_KINDS.index(kind)
        rows = slice(None) if cpus is None else [cpu for cpu in cpus if cpu < len(self.samples)]
        longest = self.longest[index, rows]
        return QueueLengths(
            self.counts[index, rows].sum(axis=0, dtype=np.int64),
            int(self.sums[index, rows].sum()),
            int(longest.max()) if longest.size else 0,
        )

    def means(self, kind: str) -> npt.NDArray[np.float64]:
        """The average length on each CPU, 0 without samples, shape (cpus,)."""
        means: npt.NDArray[np.float64] = self.sums[QUEUE_KINDS.index(kind)] / np.maximum(self.samples, 1)
        return means

    def missed(self, cpus: Sequence[int] | None = None) -> int:
        """How many samples were not taken: the CPU had its interrupts off, or the hypervisor had the CPU."""
        rows = slice(None) if cpus is None else [cpu for cpu in cpus if cpu < len(self.samples)]
        return int(np.maximum(self.expected[rows] - self.samples[rows], 0).sum())


@dataclass(frozen=True, slots=True, eq=False)
class GroupLatency:
    """Runqueue latency by group of tasks: `kind` is an id field of GROUPS, `ids` are its values, shape (groups,).

    `counts`: shape (groups, BUCKETS); `sum_ns`: shape (groups,).
    """

    kind: str
    ids: Integers
    counts: Integers
    sum_ns: Integers

    def histogram(self, ids: Sequence[int], max_ns: int = 0) -> Histogram:
        """The waits of some groups together; `max_ns`: the longest, if it is known."""
        chosen = np.isin(self.ids, np.asarray(ids, self.ids.dtype))
        counts = self.counts[chosen].sum(axis=0, dtype=np.int64)
        return Histogram(counts, int(self.sum_ns[chosen].sum()), max_ns)


def length_ranges(longest: int, most: int) -> list[tuple[int, int]]:
    """Ranges of lengths (first and last) from 0 to `longest`, at most `most`: each length, or by powers of a number."""
    if longest < most:
        return [(length, length) for length in range(longest + 1)]
    for base in (2, 4, 8, 32, MOST_QUEUED + 1):
        ranges, first = [(0, 0)], 1
        while first <= longest:
            ranges.append((first, first * base - 1))
            first *= base
        if len(ranges) <= most:
            return ranges
    return [(0, longest)]


def merge_cpus(tables: Sequence[CpuTable]) -> CpuTable:
    """Counters added; gauges are the last ones; CPUs that came later widen the table."""
    cpus = max(len(table.online) for table in tables)
    counters = np.zeros((cpus, len(CPU_COUNTERS)), np.int64)
    for table in tables:
        counters[: len(table.counters)] += table.counters
    last = tables[-1]
    return CpuTable(counters, _widen(last.online, cpus), _widen(last.queue_length, cpus))


def merge_latency(tables: Sequence[LatencyTable]) -> LatencyTable:
    """Counts added, the longest kept. Counts stay as narrow as they were while all waits together fit."""
    cpus = max(table.cpus for table in tables)
    narrow = all(table.counts.dtype == np.uint32 for table in tables)
    fits = narrow and sum(table.histogram().count for table in tables) <= np.iinfo(np.uint32).max
    merged = LatencyTable.empty(cpus, np.uint32 if fits else np.int64)
    for table in tables:
        width = table.cpus
        np.add(merged.counts[:, :width], table.counts, out=merged.counts[:, :width])
        merged.sum_ns[:, :width] += table.sum_ns
        np.maximum(merged.max_ns[:, :width], table.max_ns, out=merged.max_ns[:, :width])
    return merged


def merge_queues(tables: Sequence[QueueTable | None]) -> QueueTable | None:
    """Samples added, the longest kept, of the tables there are; `None` if there is none."""
    known = [table for table in tables if table is not None]
    if len(known) < 2:
        return known[0] if known else None
    cpus = max(len(table.samples) for table in known)
    kinds, width = len(QUEUE_KINDS), max(table.counts.shape[2] for table in known)
    merged = QueueTable(
        known[-1].hz,
        np.zeros((kinds, cpus, width), np.int64),
        *(np.zeros((kinds, cpus), np.int64) for _ in "ab"),
        *(np.zeros(cpus, np.int64) for _ in "abc"),
    )
    for table in known:
        rows = len(table.samples)
        merged.counts[:, :rows, : table.counts.shape[2]] += table.counts
        merged.sums[:, :rows] += table.sums
        np.maximum(merged.longest[:, :rows], table.longest, out=merged.longest[:, :rows])
        merged.samples[:rows] += table.samples
        merged.expected[:rows] += table.expected
        merged.slept[:rows] += table.slept
    return merged


def merge_groups(tables: Sequence[GroupLatency | None]) -> GroupLatency | None:
    """Counts added by group, of the tables that group as the last one does; `None` if that does not."""
    last = tables[-1]
    if last is None:
        return None
    same = [table for table in tables if table is not None and table.kind == last.kind]
    ids, places = np.unique(np.concatenate([table.ids for table in same]), return_inverse=True)
    counts = np.zeros((len(ids), BUCKETS), np.int64)
    sums = np.zeros(len(ids), np.int64)
    np.add.at(counts, places, np.concatenate([table.counts for table in same]))
    np.add.at(sums, places, np.concatenate([table.sum_ns for table in same]))
    return GroupLatency(last.kind, ids, counts, sums)


def _widen(row: npt.NDArray[Any], cpus: int) -> npt.NDArray[Any]:
    return row if len(row) == cpus else np.concatenate((row, np.zeros(cpus - len(row), row.dtype)))
