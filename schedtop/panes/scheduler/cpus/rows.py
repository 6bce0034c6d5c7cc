"""The columns of the CPU tables, and the cells of their rows: the total first, then a row a CPU or a fold of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from schedtop.base.units import format_brief_ns, format_count, format_rate, rate
from schedtop.history.view import View
from schedtop.model.cpus import CPU_COUNTERS
from schedtop.model.rows import Integers
from schedtop.panes.levels import Level, busy_styles, cell_style, steal_level, wait_styles
from schedtop.panes.percent import percent
from schedtop.widgets.columns import Column, explained, row_lines
from schedtop.widgets.strips import Span

SELECTED, PARTLY = "▸", "+"
"""Before the name of what is selected, and of a fold of which some CPUs are."""


@dataclass(frozen=True, slots=True, eq=False)
class CpuRows:
    """Rows of CPUs; the first is the total. `sums` has CPU_COUNTERS as columns, shape (rows, counters)."""

    names: Sequence[str]
    worst: Sequence[str]
    ranges: Sequence[str]
    sums: Integers
    queue: Integers
    longest_ns: Integers
    interval_ns: int
    unavailable: Mapping[str, str]
    threshold_ns: int

    @classmethod
    def of(
        cls,
        view: View,
        ids: Sequence[int],
        groups: Sequence[Sequence[int]],
        names: Sequence[str] = (),
        worst: Sequence[str] = (),
        ranges: Sequence[str] = (),
    ) -> Self:
        """The total of some CPUs of a View, and rows of groups of them (none of them empty)."""
        frame = view.frame
        every = [ids, *groups] if len(ids) else list(groups)
        cpus = np.concatenate([np.asarray(group) for group in every])
        starts = np.cumsum([0, *(len(group) for group in every[:-1])])
        longest = np.zeros(len(frame.cpus.online), np.int64)
        known = frame.latency.max_ns.max(axis=0)
        longest[: len(known)] = known[: len(longest)]
        return cls(
            names=[" all", *names],
            worst=worst,
            ranges=ranges,
            sums=np.add.reduceat(frame.cpus.counters[cpus], starts, axis=0),
            queue=np.add.reduceat(frame.cpus.queue_length[cpus], starts),
            longest_ns=np.maximum.reduceat(longest[cpus], starts),
            interval_ns=frame.interval_ns,
            unavailable=frame.unavailable,
            threshold_ns=frame.threshold_ns,
        )

    def column(self, counter: str) -> list[int]:
        """One of CPU_COUNTERS of all rows."""
        values: list[int] = self.sums[:, CPU_COUNTERS.index(counter)].tolist()
        return values

    def rates(self, counter: str, part: str = "switches") -> list[str]:
        """One of CPU_COUNTERS as events a second."""
        if part in self.unavailable:
            return [format_rate(None)] * len(self.names)
        return [format_rate(rate(value, self.interval_ns)) for value in self.column(counter)]

    def shares(self, part: str) -> list[float | None]:
        """`busy` or `steal` as a share of the time that the kernel accounted."""
        if part in self.unavailable:
            return [None] * len(self.names)
        pairs = zip(self.column(f"{part}_ns"), self.column("accounted_ns"), strict=True)
        return [value / whole if whole else None for value, whole in pairs]

    @property
    def involuntary_shares(self) -> list[float | None]:
        """Of the switches of tasks."""
        if "switches" in self.unavailable:
            return [None] * len(self.names)
        pairs = zip(self.column("involuntary_switches"), self.column("voluntary_switches"), strict=True)
        return [one / (one + other) if one + other else None for one, other in pairs]

    @property
    def steals(self) -> list[str]:
        """Steal with the sign of its level."""
        return [f"{percent(share)}{steal_level(share).sign or ' '}" for share in self.shares("steal")]

    @property
    def steal_levels(self) -> list[str]:
        """The style of each steal by its level."""
        return [cell_style(steal_level(share)) for share in self.shares("steal")]

    @property
    def queues(self) -> list[str]:
        """How many tasks wait: known from their wakeups, like how long they do."""
        known = not {"latency", "queue_length"} & self.unavailable.keys()
        return [format_count(length if known else None) for length in self.queue.tolist()]

    @property
    def longest(self) -> list[str]:
        """The longest wait that ended."""
        known = "latency" not in self.unavailable
        return [format_brief_ns(ns if known and ns else None) for ns in self.longest_ns.tolist()]

    @property
    def total_level(self) -> Level:
        """How bad the steal of all of them is."""
        return steal_level(self.shares("steal")[0])


def _percents(shares: Sequence[float | None]) -> list[str]:
    return [percent(share) for share in shares]


MEANINGS = {
    "CPU": "The CPU's number; ▸: it is selected, and the other panes show it alone",
    "fold": "CPUs that share a core, a last-level cache or a NUMA node; ▸: all of them are selected, +: some",
    "worst": "Of these CPUs the one with the largest value of what they are sorted by, else of what m chose",
    "CPUs": "The numbers of the CPUs that are folded here",
    "switch/s": "Context switches a second",
    "invol/s": "Those a second in which a task was preempted although it wanted to go on",
    "inv %": "The share of involuntary ones among switches of tasks. High: more tasks want this CPU than it can run",
    "busy %": "The share of time in which something ran here, by the kernel's account",
    "steal %": "The share of time in which the hypervisor ran another guest; ! from 5 %, !! from 10 %",
    "queue": "Tasks that wait for this CPU at the end of the interval, the running one not counted",
    "longest": "The longest wait for a CPU that ended here",
    "in/s": "Tasks a second that came from another CPU",
    "out/s": "Tasks a second that left for another CPU",
    "cache": "Of those that came, those from another last-level cache: their data stayed there",
    "numa": "Of those that came, those from another NUMA node: their memory stayed there",
}

_NAME: Column[CpuRows] = Column("CPU", 4, lambda rows: rows.names, sort="cpu", style="strong")
_WORST: Column[CpuRows] = Column("worst", 14, lambda rows: rows.worst, style="strong")
_RANGES: Column[CpuRows] = Column("CPUs", 9, lambda rows: rows.ranges, right=False, rank=3, grow=14, style="dim")

COLUMNS: tuple[Column[CpuRows], ...] = explained((
    Column("switch/s", 8, lambda rows: rows.rates("switches"), sort="switches", part="switches"),
    Column("invol/s", 7, lambda rows: rows.rates("involuntary_switches"), rank=1, sort="involuntary",
           style="preemption", part="switches"),
    Column("inv %", 5, lambda rows: _percents(rows.involuntary_shares), rank=3, sort="share", style="preemption",
           part="switches"),
    Column("busy %", 6, lambda rows: _percents(rows.shares("busy")), sort="busy", style="busy",
           level=lambda rows: busy_styles(rows.shares("busy"))),
    Column("steal %", 7, lambda rows: rows.steals, rank=1, sort="steal", style="steal",
           level=lambda rows: rows.steal_levels),
    Column("queue", 5, lambda rows: rows.queues, rank=2, sort="queue", part="queue_length"),
    Column("longest", 7, lambda rows: rows.longest, rank=3, sort="wait", style="wakeup", part="latency",
           level=lambda rows: wait_styles(rows.longest_ns.tolist(), rows.threshold_ns)),
    Column("in/s", 5, lambda rows: rows.rates("migrations_in", "migrations"), rank=4, part="migrations"),
    Column("out/s", 5, lambda rows: rows.rates("migrations_out", "migrations"), rank=4, part="migrations"),
    Column("cache", 5, lambda rows: rows.rates("cache_migrations", "migrations"), rank=5, style="dim",
           part="migrations"),
    Column("numa", 5, lambda rows: rows.rates("numa_migrations", "migrations"), rank=5, style="dim", part="migrations"),
), MEANINGS)  # fmt: skip
"""What list and folds have in common, behind the columns that say which CPUs a row is of."""


EXPLAINED: tuple[Column[CpuRows], ...] = explained((_NAME, replace(_NAME, header="fold"), _WORST, _RANGES), MEANINGS)
"""The columns that say which CPUs a row is of, for the help."""


def list_columns(ids: Sequence[int], sort: str, lacks: Collection[str] = ()) -> tuple[Column[CpuRows], ...]:
    """The columns of a row a CPU, the first as wide as these CPUs' numbers need, that which sorts as its mark does.

    `lacks`: parts of a Frame that are not there; their columns are left out.
    """
    name = replace(_NAME, width=max(_NAME.width, 1 + len(str(max(ids, default=0)))))
    return name, *(
        replace(column, width=max(column.width, len(column.header) + 1)) if column.sort == sort else column
        for column in COLUMNS
        if column.part not in lacks
    )


def fold_columns(
    names: Sequence[str], worst: str, width: int, sort: str, lacks: Collection[str] = ()
) -> tuple[Column[CpuRows], ...]:
    """The columns of a row a fold, without those of parts that are not there (`lacks`).

    `worst`: by what the worst CPU of each is, `width` the cells it needs.
    """
    first = replace(_NAME, header=" fold", width=max(map(len, names)), right=False)
    shown = replace(_WORST, header=worst, width=max(width, len(worst) + 1), sort=sort)
    # The worst CPU is what sorts them: no other column is to say so.
    others = [
        replace(column, sort=None) if column.sort == sort else column for column in COLUMNS if column.part not in lacks
    ]
    return first, shown, _RANGES, *sorted(others, key=lambda column: column.header != "busy %")


def row_spans(placed: Sequence[tuple[Column[CpuRows], int]], rows: CpuRows, width: int) -> list[list[Span]]:
    """The lines of all rows, each `width` cells wide."""
    lines = row_lines(placed, rows, len(rows.names))
    for line in lines:
        text, style = line[-1]
        line[-1] = (text.ljust(len(text) + width - sum(len(part) for part, _ in line)), style)
    return lines
