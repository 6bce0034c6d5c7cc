"""The columns of the CPU table, and the cells of its rows: the total first, then a row a CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from schedtop.history import View
from schedtop.model import Frame
from schedtop.panes.levels import Level, steal_level
from schedtop.panes.percent import percent
from schedtop.units import format_count, format_rate, rate
from schedtop.widgets.columns import Column, row_lines
from schedtop.widgets.strips import Span


@dataclass(frozen=True, slots=True)
class CpuRow:
    """The cells of one CPU, or of all of them together."""

    cpu: str
    switches: str
    involuntary: str
    involuntary_share: str
    busy: str
    steal: str
    queue: str
    moved_in: str
    moved_out: str
    from_cache: str
    from_numa: str
    level: Level


@dataclass(frozen=True, slots=True)
class CpuRows:
    """Rows; the first is the total."""

    rows: tuple[CpuRow, ...]

    @classmethod
    def of(cls, view: View, ids: Sequence[int], visible: Sequence[int]) -> Self:
        """The total of some CPUs of a View, and the rows of those that are visible."""
        return cls((_row(view, "all", ids), *(_row(view, str(cpu), [cpu]) for cpu in visible)))

    @property
    def total(self) -> CpuRow:
        """The row of all CPUs together."""
        return self.rows[0]


def _row(view: View, name: str, ids: Sequence[int]) -> CpuRow:
    frame = view.frame
    switches, voluntary, involuntary, busy, steal, whole = (
        int(frame.cpus.column(counter)[ids].sum())
        for counter in (
            "switches", "voluntary_switches", "involuntary_switches", "busy_ns", "steal_ns", "accounted_ns"
        )
    )  # fmt: skip
    known = "switches" not in frame.unavailable
    # How many tasks wait is known from their wakeups, like how long they do.
    queue_known = not {"latency", "queue_length"} & frame.unavailable.keys()
    of_tasks = voluntary + involuntary
    steal_ratio = steal / whole if whole and "steal" not in frame.unavailable else None
    level = steal_level(steal_ratio)
    return CpuRow(
        cpu=name,
        switches=format_rate(rate(switches, frame.interval_ns) if known else None),
        involuntary=format_rate(rate(involuntary, frame.interval_ns) if known else None),
        involuntary_share=percent(involuntary / of_tasks if of_tasks and known else None),
        busy=percent(busy / whole if whole and "busy" not in frame.unavailable else None),
        steal=f"{percent(steal_ratio)}{level.sign or ' '}",
        queue=format_count(int(frame.cpus.queue_length[ids].sum()) if queue_known else None),
        moved_in=_moves(frame, "migrations_in", ids),
        moved_out=_moves(frame, "migrations_out", ids),
        from_cache=_moves(frame, "cache_migrations", ids),
        from_numa=_moves(frame, "numa_migrations", ids),
        level=level,
    )


def _moves(frame: Frame, counter: str, ids: Sequence[int]) -> str:
    """One of the counters of migrations as events per second."""
    if "migrations" in frame.unavailable:
        return format_rate(None)
    return format_rate(rate(int(frame.cpus.column(counter)[ids].sum()), frame.interval_ns))


COLUMNS: tuple[Column[CpuRows], ...] = (
    Column("CPU", 3, lambda context: [row.cpu for row in context.rows], style="strong"),
    Column("switch/s", 8, lambda context: [row.switches for row in context.rows]),
    Column("invol/s", 7, lambda context: [row.involuntary for row in context.rows], rank=1, style="preemption"),
    Column("inv%", 4, lambda context: [row.involuntary_share for row in context.rows], rank=3, style="preemption"),
    Column("busy%", 5, lambda context: [row.busy for row in context.rows], style="busy"),
    Column("steal%", 6, lambda context: [row.steal for row in context.rows], rank=1, style="steal"),
    Column("queue", 5, lambda context: [row.queue for row in context.rows], rank=2),
    Column("in/s", 5, lambda context: [row.moved_in for row in context.rows], rank=4),
    Column("out/s", 5, lambda context: [row.moved_out for row in context.rows], rank=4),
    Column("cache", 5, lambda context: [row.from_cache for row in context.rows], rank=5, style="dim"),
    Column("numa", 5, lambda context: [row.from_numa for row in context.rows], rank=5, style="dim"),
)


def columns_for(ids: Sequence[int]) -> tuple[Column[CpuRows], ...]:
    """The columns, the first as wide as these CPUs' numbers need."""
    first = COLUMNS[0]
    return replace(first, width=max(first.width, len(str(max(ids, default=0))))), *COLUMNS[1:]


def row_spans(placed: Sequence[tuple[Column[CpuRows], int]], context: CpuRows, width: int) -> list[list[Span]]:
    """The lines of all rows, each `width` cells wide."""
    lines = row_lines(placed, context, len(context.rows))
    for line in lines:
        text, style = line[-1]
        line[-1] = (text.ljust(len(text) + width - sum(len(part) for part, _ in line)), style)
    return lines
