"""InterruptTable: how often interrupts came and how long they took, by CPU and source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from schedtop.base.limits import TEXT_CHARS
from schedtop.base.units import printable
from schedtop.model.encoding import decode_integers
from schedtop.model.rows import Integers, Rows, neighbours, text

INTERRUPT_KINDS = ("hardirq", "softirq", "vector")
"""A device's interrupt, what the kernel does right after interrupts, and the CPU's own interrupts (x86: timers, calls
by other CPUs)."""

MOST_SOURCES = 1024
"""MOST_SOURCES of bpf/interrupts/current.h: what a table may have."""


class SourceName(NamedTuple):
    """A source of interrupts: one of INTERRUPT_KINDS, and what it is called."""

    kind: str
    name: str

    def __str__(self) -> str:
        """In a sentence: `softirq NET_RX`, `irq virtio0`, `local_timer`."""
        return {"hardirq": "irq ", "softirq": "softirq "}.get(self.kind, "") + self.name


INTERRUPT_DTYPE = np.dtype(
    [("cpu", "<u4"), ("source", "<u4"), ("count", "<i8"), ("total_ns", "<i8"), ("max_ns", "<i8")]
)
"""A source that a CPU had: `source` is its place in InterruptTable.sources, `max_ns` the longest one."""

RAISED_DTYPE = np.dtype(
    [
        *(("cpu", "<u4"), ("source", "<u4"), ("tid", "<u4"), ("padding", "<u4"), ("count", "<i8"), ("total_ns", "<i8")),
        ("by", "S32"),
    ]
)
"""The softirqs of a CPU that one task or interrupt raised: `source` as in INTERRUPT_DTYPE; `by` is the task's comm, or
with tid 0 the interrupt, as a SourceName is told in a sentence. What raised the others is not known."""

INTERRUPTION_DTYPE = np.dtype(
    [
        ("start_ns", "<i8"),
        ("end_ns", "<i8"),
        ("ns", "<u4"),
        ("source", "<u2"),
        ("cpu", "<u2"),
        ("is_soft", "u1"),
        ("padding", "u1", 7),
    ]
)
"""An interrupt that had a CPU. `source`: which, by a number. `ns`: its time without that of
hard interrupts that came meanwhile, which only softirqs have. Those of a kind on one CPU do not overlap."""

_NO_RAISED = np.zeros(0, RAISED_DTYPE)

_RAISED = ("cpu", "source", "tid", "count", "total_ns")
_ARRAYS = ("count", "total_ns", "max_ns")
_LOSSES = ("unmatched", "unattributed_ns", "overwritten")

_MOST_CELLS = 4096
"""With more of them a table is not kept for the past that is thinned."""


@dataclass(frozen=True, slots=True, eq=False)
class InterruptTable:
    """The interrupts that ended, on `cpus` CPUs, of all sources that had any.

    `cells`: rows of INTERRUPT_DTYPE, by CPU and source: on a large host most sources are those of one CPU. The time of
    a softirq is without the hard interrupts that came in it, so times add up. `unmatched`: interrupts of which only one
    end was seen; `unattributed_ns`: time taken from tasks that found no room; `overwritten`: interrupts that no slow
    wait tells of, because they came too fast. `raised`: rows of RAISED_DTYPE, what raised softirqs.
    """

    sources: tuple[SourceName, ...]
    cpus: int
    cells: Rows
    unmatched: int = 0
    unattributed_ns: int = 0
    overwritten: int = 0
    raised: Rows = field(default_factory=lambda: _NO_RAISED)

    @classmethod
    def of(
        cls,
        sources: tuple[SourceName, ...],
        counts: Integers,
        total_ns: Integers,
        max_ns: Integers,
        unmatched: int = 0,
        unattributed_ns: int = 0,
        overwritten: int = 0,
        raised: Rows = _NO_RAISED,
    ) -> InterruptTable:
        """The table of arrays of shape (cpus, len(sources))."""
        cpu, source = np.nonzero((counts != 0) | (total_ns != 0))
        cells = np.zeros(len(cpu), INTERRUPT_DTYPE)
        cells["cpu"], cells["source"] = cpu, source
        for name, values in zip(_ARRAYS, (counts, total_ns, max_ns), strict=True):
            cells[name] = values[cpu, source]
        return cls(sources, len(counts), cells, unmatched, unattributed_ns, overwritten, raised=raised)

    @property
    def counts(self) -> Integers:
        """How many interrupts, shape (cpus, len(sources))."""
        return self._array("count")

    @property
    def total_ns(self) -> Integers:
        """Their time, shape (cpus, len(sources))."""
        return self._array("total_ns")

    @property
    def max_ns(self) -> Integers:
        """The longest one, shape (cpus, len(sources))."""
        return self._array("max_ns")

    def _array(self, name: str) -> Integers:
        values = np.zeros((self.cpus, len(self.sources)), np.int64)
        values[self.cells["cpu"], self.cells["source"]] = self.cells[name]
        return values

    def of_kind(self, kind: str) -> list[int]:
        """The columns of the sources of one of INTERRUPT_KINDS."""
        return [index for index, source in enumerate(self.sources) if source.kind == kind]

    def chosen(self, cpus: Sequence[int]) -> InterruptTable:
        """The same of some CPUs alone, in that order; those that are not in it have no row."""
        known = [cpu for cpu in cpus if cpu < self.cpus]
        place = np.full(self.cpus, -1, np.int64)
        place[known] = np.arange(len(known))
        return replace(self, cpus=len(known), cells=_on(self.cells, place), raised=_on(self.raised, place))

    def raisers(self, source: int) -> Rows:
        """Rows of RAISED_DTYPE, the most time first: what raised a softirq, the place of `sources`, on all CPUs."""
        rows = _sums_of_raised(self.raised[self.raised["source"] == source], by_cpu=False)
        return rows[np.argsort(-rows["total_ns"], kind="stable")]


def _on(rows: Rows, place: Integers) -> Rows:
    """Those on CPUs that have a place (not -1), with it."""
    rows = rows[place[rows["cpu"]] >= 0]
    rows["cpu"] = place[rows["cpu"]]
    return rows


def _sums_of_raised(rows: Rows, by_cpu: bool) -> Rows:
    """A row for each CPU, if that is told apart, source and raiser; without it of no CPU in particular."""
    _, names = np.unique(rows["by"], return_inverse=True)
    keys = [rows["source"], rows["tid"], names.ravel()]
    order, starts = neighbours([rows["cpu"], *keys] if by_cpu else keys)
    rows = rows[order]
    sums = rows[starts]
    if len(sums):
        for name in ("count", "total_ns"):
            sums[name] = np.add.reduceat(rows[name], starts)
    return sums


def merge_interrupts(tables: Sequence[InterruptTable | None]) -> InterruptTable | None:
    """Counts and times added, the longest kept, of the tables there are; `None` if there is none."""
    known = [table for table in tables if table is not None]
    if len(known) < 2:
        return known[0] if known else None
    sources = tuple(dict.fromkeys(source for table in known for source in table.sources))
    places = {source: index for index, source in enumerate(sources)}
    pieces: list[Rows] = []
    raised: list[Rows] = []
    for table in known:
        own_places = np.array([places[source] for source in table.sources], np.uint32)
        for rows, found in ((table.cells, pieces), (table.raised, raised)):
            piece = rows.copy()
            piece["source"] = own_places[piece["source"]]
            found.append(piece)
    cells = np.concatenate(pieces)
    order, starts = neighbours([cells["cpu"], cells["source"]])
    cells = cells[order]
    merged = cells[starts]
    if len(merged):
        for name, add in (("count", np.add), ("total_ns", np.add), ("max_ns", np.maximum)):
            merged[name] = add.reduceat(cells[name], starts)
    losses = {name: sum(getattr(table, name) for table in known) for name in _LOSSES}
    cpus = max(table.cpus for table in known)
    return InterruptTable(sources, cpus, merged, **losses, raised=_sums_of_raised(np.concatenate(raised), by_cpu=True))


def thin_interrupts(table: InterruptTable | None) -> InterruptTable | None:
    """Of a large host none is kept."""
    return table if table is None or len(table.cells) + len(table.raised) <= _MOST_CELLS else None


def encode_interrupts(table: InterruptTable | None) -> dict[str, Any] | None:
    """Plain values of JSON."""
    if table is None:
        return None
    return {
        "sources": [list(source) for source in table.sources],
        "cells": {name: table.cells[name].tolist() for name in INTERRUPT_DTYPE.names or ()},
        **{name: getattr(table, name) for name in _LOSSES},
        "raised": {**{name: table.raised[name].tolist() for name in _RAISED}, "by": [*map(text, table.raised["by"])]},
    }


def decode_interrupts(data: dict[str, Any] | None, cpus: int) -> InterruptTable | None:
    """The table of what `encode_interrupts` gave. Recordings made before interrupts were timed have none."""
    if data is None:
        return None
    sources = tuple(SourceName(_kind(kind), _name(name)) for kind, name in data["sources"])
    if len(sources) > MOST_SOURCES or len(set(sources)) < len(sources):
        raise ValueError("more sources of interrupts than there can be, or one of them twice")
    cells = np.zeros(len(data["cells"]["cpu"]), INTERRUPT_DTYPE)
    for name in INTERRUPT_DTYPE.names or ():
        cells[name] = decode_integers(data["cells"][name], (len(cells),))
    if (cells["cpu"] >= cpus).any() or (cells["source"] >= len(sources)).any():
        raise ValueError("interrupts of a CPU or source that does not exist")
    keys = cells["cpu"].astype(np.int64) * max(1, len(sources)) + cells["source"]
    if len(np.unique(keys)) < len(keys):
        raise ValueError("a source twice on one CPU")
    losses = {name: int(decode_integers(data[name], ())) for name in _LOSSES}
    # Not in recordings from before it was told.
    raised = _decode_raised(data["raised"]) if "raised" in data else _NO_RAISED
    if (raised["cpu"] >= cpus).any() or (raised["source"] >= len(sources)).any():
        raise ValueError("softirqs of a CPU or source that does not exist")
    return InterruptTable(sources, cpus, cells, **losses, raised=raised)


def _decode_raised(data: dict[str, Any]) -> Rows:
    rows = np.zeros(len(data["by"]), RAISED_DTYPE)
    for name in _RAISED:
        rows[name] = decode_integers(data[name], (len(rows),))
    rows["by"] = [_name(name).encode() for name in data["by"]]
    return rows


def claimed_interrupts(data: dict[str, Any] | None, cpus: int) -> int:
    """How many bytes `decode_interrupts` would take; what is shown of it takes an array besides."""
    if not data:
        return 0
    cells = INTERRUPT_DTYPE.itemsize * len(data["cells"]["cpu"])
    return cells + 3 * 8 * cpus * len(data["sources"]) + RAISED_DTYPE.itemsize * _raised_rows(data)


def _raised_rows(data: dict[str, Any]) -> int:
    return len(data["raised"]["by"]) if "raised" in data else 0


def _kind(kind: Any) -> str:
    if kind not in INTERRUPT_KINDS:
        raise ValueError("a kind of interrupt that is not known")
    return str(kind)


def _name(name: Any) -> str:
    if not isinstance(name, str) or len(name) > TEXT_CHARS:
        raise ValueError("a name of an interrupt that is no text, or too long")
    return printable(name)
