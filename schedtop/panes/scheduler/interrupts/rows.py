"""The columns of the interrupts' sources, and of the CPUs that they came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedtop.base.units import format_ns, format_rate, rate
from schedtop.model.interrupts import SourceName
from schedtop.panes.percent import percent
from schedtop.widgets.columns import Column, explained
from schedtop.widgets.strips import steady


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A source on some CPUs together; `ratio`: its share of their time; `raised_by`: what raised most of a softirq."""

    source: SourceName
    count: int
    total_ns: int
    max_ns: int
    ratio: float
    raised_by: str = ""


@dataclass(frozen=True, slots=True)
class CpuRow:
    """A CPU: the share of its time that each kind of interrupt had."""

    cpu: int
    count: int
    softirq: float
    hardirq: float
    vector: float

    @property
    def ratio(self) -> float:
        """All of them."""
        return self.softirq + self.hardirq + self.vector


@dataclass(frozen=True, slots=True)
class SourceRows:
    """The visible sources."""

    rows: Sequence[SourceRow]
    interval_ns: int


@dataclass(frozen=True, slots=True)
class CpuRows:
    """The visible CPUs."""

    rows: Sequence[CpuRow]
    interval_ns: int


_KIND_WORDS = {"hardirq": "device", "softirq": "softirq", "vector": "vector"}


def _mean(row: SourceRow) -> str:
    return format_ns(row.total_ns // row.count) if row.count else "·"


SOURCE_MEANINGS = {
    "source": "a device by its handlers, a softirq, or a vector of the CPU's own",
    "kind": "device: a device's interrupt; softirq: what is done right after interrupts; vector: timers, other CPUs",
    "/s": "how often it came",
    "time %": "its share of the time of all CPUs shown; of a softirq without the interrupts that came meanwhile",
    "mean": "how long one took on average",
    "longest": "the longest one",
    "raised by": "what raised most of a softirq's time, with its share: a task, or the interrupt before it",
}

SOURCE_COLUMNS: tuple[Column[SourceRows], ...] = explained(
    (
        Column("source", 12, lambda shown: [steady(row.source.name) for row in shown.rows], right=False, grow=14),
        Column("kind", 7, lambda shown: [_KIND_WORDS[row.source.kind] for row in shown.rows], right=False, rank=3,
               style="dim"),
        Column("/s", 6, lambda shown: [format_rate(rate(row.count, shown.interval_ns)) for row in shown.rows], rank=1),
        Column("time %", 6, lambda shown: [percent(row.ratio) for row in shown.rows], style="preemption"),
        Column("mean", 7, lambda shown: [_mean(row) for row in shown.rows], rank=4),
        Column("longest", 7, lambda shown: [format_ns(row.max_ns) for row in shown.rows], rank=2),
        Column("raised by", 16, lambda shown: [steady(row.raised_by) for row in shown.rows], right=False, rank=5,
               grow=14),
    ),
    SOURCE_MEANINGS,
)  # fmt: skip

CPU_MEANINGS = {
    "cpu": "the CPU",
    "irq %": "the share of its time that interrupts had",
    "soft": "of it, softirqs",
    "dev": "of it, interrupts of devices",
    "vec": "of it, vectors: timers, calls by other CPUs",
    "/s": "how many interrupts came",
}

CPU_COLUMNS: tuple[Column[CpuRows], ...] = explained(
    (
        Column("cpu", 4, lambda shown: [str(row.cpu) for row in shown.rows], style="strong"),
        Column("irq %", 5, lambda shown: [percent(row.ratio) for row in shown.rows], style="preemption"),
        Column("soft", 5, lambda shown: [percent(row.softirq) for row in shown.rows], rank=1),
        Column("dev", 5, lambda shown: [percent(row.hardirq) for row in shown.rows], rank=2),
        Column("vec", 5, lambda shown: [percent(row.vector) for row in shown.rows], rank=3),
        Column("/s", 6, lambda shown: [format_rate(rate(row.count, shown.interval_ns)) for row in shown.rows], rank=4),
    ),
    CPU_MEANINGS,
)
