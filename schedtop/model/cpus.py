"""CpuTable: counters and gauges of each CPU in an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from schedtop.base.limits import CPUS
from schedtop.model.encoding import decode_integers, whole_numbers
from schedtop.model.rows import Integers

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


def merge_cpus(tables: Sequence[CpuTable]) -> CpuTable:
    """Counters added; gauges are the last ones; CPUs that came later widen the table."""
    cpus = max(len(table.online) for table in tables)
    counters = np.zeros((cpus, len(CPU_COUNTERS)), np.int64)
    for table in tables:
        counters[: len(table.counters)] += table.counters
    last = tables[-1]
    return CpuTable(counters, _widen(last.online, cpus), _widen(last.queue_length, cpus))


def encode_cpus(table: CpuTable) -> dict[str, Any]:
    """Plain values of JSON: counters by name, the CPUs that are online, queue lengths."""
    return {
        "counters": dict(zip(CPU_COUNTERS, table.counters.T.tolist(), strict=True)),
        "online": np.flatnonzero(table.online).tolist(),
        "queue_length": table.queue_length.tolist(),
    }


def decode_cpus(data: dict[str, Any], _: int = 0) -> CpuTable:
    """The table of what `encode_cpus` gave; it tells itself how many CPUs there are."""
    columns = [data["counters"][name] for name in CPU_COUNTERS]
    cpus = len(columns[0])
    if cpus > CPUS:
        raise ValueError("more CPUs than there can be")
    online = np.zeros(cpus, bool)
    online[whole_numbers(data["online"])] = True
    counters = decode_integers(columns, (len(CPU_COUNTERS), cpus)).T
    return CpuTable(np.ascontiguousarray(counters), online, decode_integers(data["queue_length"], (cpus,)))


def _widen(row: npt.NDArray[Any], cpus: int) -> npt.NDArray[Any]:
    return row if len(row) == cpus else np.concatenate((row, np.zeros(cpus - len(row), row.dtype)))
