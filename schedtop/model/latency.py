"""LatencyTable: histograms of runqueue latency, by kind of wait and CPU, which add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from schedtop.base.histogram import BUCKETS, Histogram
from schedtop.base.remembered import Remembered
from schedtop.model.encoding import NARROW_BYTES, decode_integers, decode_sparse, encode_sparse
from schedtop.model.rows import WAIT_KINDS, Integers


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class LatencyTable:
    """Runqueue latency by kind and CPU.

    `counts`: shape (len(WAIT_KINDS), cpus, BUCKETS); `sum_ns` and `max_ns`: shape (len(WAIT_KINDS), cpus).
    """

    counts: Integers
    sum_ns: Integers
    max_ns: Integers

    @classmethod
    def empty(cls, cpus: int, dtype: npt.DTypeLike = np.int64) -> LatencyTable:
        """A table of zeros, its counts of a type."""
        kinds = len(WAIT_KINDS)
        return cls(np.zeros((kinds, cpus, BUCKETS), dtype), *(np.zeros((kinds, cpus), np.int64) for _ in "ab"))

    def histogram(self, kind: str | None = None, cpu: int | Sequence[int] | None = None) -> Histogram:
        """The waits of one kind (or all) on one CPU, on some of those there are, or on all."""
        if isinstance(cpu, int):
            return self._added(kind, cpu)
        chosen = None if cpu is None else tuple(cpu)
        return HISTOGRAMS.get(self, (kind, chosen), lambda: self._added(kind, chosen))

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
    """Several tables together; their `counts` are added up only when they are asked for.

    A minute of a thousand CPUs is a quarter of a gigabyte, and what is shown of it each second are a few histograms.
    """

    __slots__ = ("tables",)

    tables: tuple[LatencyTable, ...]

    def __init__(self, tables: Sequence[LatencyTable]) -> None:
        cpus = max(table.cpus for table in tables)
        sum_ns, max_ns = (np.zeros((len(WAIT_KINDS), cpus), np.int64) for _ in "ab")
        for table in tables:
            sum_ns[:, : table.cpus] += table.sum_ns
            np.maximum(max_ns[:, : table.cpus], table.max_ns, out=max_ns[:, : table.cpus])
        for name, value in (("tables", tuple(tables)), ("sum_ns", sum_ns), ("max_ns", max_ns)):
            object.__setattr__(self, name, value)

    @property
    def counts(self) -> Integers:
        """The counts of all tables, shape (len(WAIT_KINDS), cpus, BUCKETS)."""
        return _WHOLE.get(self, None, lambda: merge_latency(self.tables).counts)

    def _added(self, kind: str | None, cpu: int | tuple[int, ...] | None) -> Histogram:
        kinds, cpus = self._places(kind, cpu)
        counts = np.zeros(BUCKETS, np.int64)
        for table in self.tables:
            counts += table.histogram(kind, cpu).counts
        return self._histogram(counts, kinds, cpus)


HISTOGRAMS: Remembered[LatencyTable, Histogram] = Remembered(8)
"""What `histogram` has added up: a thousand CPUs are many, and several panes and an export ask for the same."""

_WHOLE: Remembered[LatencyTable, Integers] = Remembered(1)


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


def encode_latency(table: LatencyTable) -> dict[str, Any]:
    """Plain values of JSON."""
    return {
        "counts": encode_sparse(table.counts),
        "sum_ns": table.sum_ns.tolist(),
        "max_ns": table.max_ns.tolist(),
    }


def decode_latency(data: dict[str, Any], cpus: int) -> LatencyTable:
    """The table of what `encode_latency` gave. Older recordings have fewer kinds: what they lack is zero."""
    kinds = len(data["sum_ns"])
    if not 0 < kinds <= len(WAIT_KINDS):
        raise ValueError("a kind of wait that is not known")
    counts = decode_sparse(data["counts"], (len(WAIT_KINDS), cpus, BUCKETS), kinds * cpus * BUCKETS)
    table = LatencyTable(counts, *(np.zeros((len(WAIT_KINDS), cpus), np.int64) for _ in "ab"))
    table.sum_ns[:kinds] = decode_integers(data["sum_ns"], (kinds, cpus))
    table.max_ns[:kinds] = decode_integers(data["max_ns"], (kinds, cpus))
    return table


def claimed_latency(_: Any, cpus: int) -> int:
    """How many bytes `decode_latency` would take."""
    return len(WAIT_KINDS) * cpus * BUCKETS * NARROW_BYTES
