"""Per-CPU and per-group arrays of a Frame, one row a CPU or group, which add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from schedtop.histogram import BUCKETS, Histogram
from schedtop.rows import WAIT_KINDS, Integers

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
        return [int(cpu) for cpu in np.flatnonzero(self.online)]

    def column(self, name: str) -> Integers:
        """One counter of all CPUs, shape (cpus,)."""
        return self.counters[:, CPU_COUNTERS.index(name)]


@dataclass(frozen=True, slots=True, eq=False)
class LatencyTable:
    """Runqueue latency by kind and CPU.

    `counts`: shape (len(WAIT_KINDS), cpus, BUCKETS); `sum_ns` and `max_ns`: shape (len(WAIT_KINDS), cpus).
    """

    counts: Integers
    sum_ns: Integers
    max_ns: Integers

    @classmethod
    def empty(cls, cpus: int) -> LatencyTable:
        """A table of zeros."""
        kinds = len(WAIT_KINDS)
        return cls(np.zeros((kinds, cpus, BUCKETS), np.int64), *(np.zeros((kinds, cpus), np.int64) for _ in "ab"))

    def histogram(self, kind: str | None = None, cpu: int | None = None) -> Histogram:
        """The waits of one kind (or all) on one CPU (or all)."""
        kinds = slice(None) if kind is None else slice(WAIT_KINDS.index(kind), WAIT_KINDS.index(kind) + 1)
        cpus = slice(None) if cpu is None else slice(cpu, cpu + 1)
        counts = self.counts[kinds, cpus].sum(axis=(0, 1), dtype=np.int64)
        longest = self.max_ns[kinds, cpus]
        return Histogram(counts, int(self.sum_ns[kinds, cpus].sum()), int(longest.max()) if longest.size else 0)


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


def merge_cpus(tables: Sequence[CpuTable]) -> CpuTable:
    """Counters added; gauges are the last ones; CPUs that came later widen the table."""
    cpus = max(len(table.online) for table in tables)
    counters = np.zeros((cpus, len(CPU_COUNTERS)), np.int64)
    for table in tables:
        counters[: len(table.counters)] += table.counters
    last = tables[-1]
    return CpuTable(counters, _widen(last.online, cpus), _widen(last.queue_length, cpus))


def merge_latency(tables: Sequence[LatencyTable]) -> LatencyTable:
    """Counts added, the longest kept."""
    cpus = max(table.counts.shape[1] for table in tables)
    merged = LatencyTable.empty(cpus)
    for table in tables:
        width = table.counts.shape[1]
        np.add(merged.counts[:, :width], table.counts, out=merged.counts[:, :width])
        merged.sum_ns[:, :width] += table.sum_ns
        np.maximum(merged.max_ns[:, :width], table.max_ns, out=merged.max_ns[:, :width])
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
