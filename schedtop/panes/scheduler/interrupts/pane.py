"""The time that interrupts take: by source, and by CPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from textual.geometry import Size

from schedtop.base.units import format_rate, rate
from schedtop.history.view import View
from schedtop.model.interrupts import INTERRUPT_KINDS, InterruptTable
from schedtop.model.rows import text
from schedtop.panes.pane import Pane
from schedtop.panes.percent import percent
from schedtop.panes.scheduler.interrupts.rows import (
    CPU_COLUMNS,
    SOURCE_COLUMNS,
    CpuRow,
    CpuRows,
    SourceRow,
    SourceRows,
)
from schedtop.verdict.phrases import task_words
from schedtop.widgets.columns import Placed, header_spans, place, row_lines
from schedtop.widgets.strips import Span, Spans, side_by_side, whole_parts

BESIDE = 76
"""From this width on the CPUs stand beside the sources, else under them."""

CPU_WIDTH, GUTTER = 35, 2

NOT_TIMED = "interrupts are not timed: the key I times them, which makes each of them a little slower"


class InterruptsPane(Pane[View]):
    """What interrupts had of the CPUs: each source with its time, and each CPU."""

    TITLE = "Interrupts"
    LEAST = Size(40, 7)
    PARTS = ("interrupts",)
    READING = (
        "Time that the CPUs spent in interrupts instead of tasks; measured while the key I (or --interrupts) "
        "has it timed, at the beginning and end of each. Left: the sources, the most time first. A device's "
        "interrupt has the name of its driver; softirqs do the work that interrupts leave (NET_RX: packets "
        "that came, BLOCK: disk requests that are done, TIMER, RCU) and may have been raised by a task, such "
        "as one that sends packets to this host; vectors are the CPU's own (local_timer: the tick and "
        "high-resolution timers; reschedule and call_function: other CPUs). Right: the CPUs. A softirq's time "
        "is without the interrupts that came meanwhile, so that times add up. Tasks have irq % then (what was "
        "taken from each), and blockers of slow waits may be interrupts."
    )
    SIGNS = (
        (
            "much on one CPU",
            "one CPU serves a busy device",
            "spread it: irqbalance, /proc/irq/N/smp_affinity, RSS or RPS of a network card",
        ),
        ("NET_RX raised by a task", "it sends packets to this host", "fewer, larger packets; or another CPU for it"),
        ("a long longest", "tasks on that CPU stood still so long", "keep latency-critical tasks off it"),
        (
            "much local_timer",
            "many timers, or a high tick rate",
            "look for tasks that wake up often (invol/s, switch/s)",
        ),
    )
    COLUMN_HELP = (("Columns, by source", SOURCE_COLUMNS), ("Columns, by CPU", CPU_COLUMNS))

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._shown = 1

    @property
    def page_rows(self) -> int:
        return self._shown

    def view_glance(self, view: View) -> Spans:
        table = view.frame.interrupts
        if table is None:
            return [("not timed", "dim"), *([] if _is_past(view) else [(" (", "dim"), ("I", "key"), (")", "dim")])]
        ids = [cpu for cpu in view.cpu_ids if cpu < table.cpus]
        return [(f"{percent(_ratio(table.chosen(ids), view.frame.interval_ns))} %", "text")]

    def view_lines(self, view: View) -> Sequence[Spans]:
        table = view.frame.interrupts
        if table is None:
            self.set_title()
            return self.sentence("interrupts were not timed at this time" if _is_past(view) else NOT_TIMED)
        width, height = self.inner
        interval_ns = view.frame.interval_ns
        ids = [cpu for cpu in view.cpu_ids if cpu < table.cpus]
        some = table.chosen(ids)
        lines: list[Spans] = [_summary(some, interval_ns, width)]
        room = max(1, height - 1)
        if width >= BESIDE:
            left = min(width - CPU_WIDTH - GUTTER, 2 * width // 3)
            sources = self._source_lines(some, interval_ns, left, room)
            cpus = _cpu_lines(some, ids, interval_ns, width - left - GUTTER, room)
            lines += side_by_side(sources, cpus, left, GUTTER)
        else:
            below = min(len(ids) + 1, max(2, room // 3)) if room > 5 else 0
            lines += self._source_lines(some, interval_ns, width, room - below)
            lines += _cpu_lines(some, ids, interval_ns, width, below) if below else []
        return lines

    def _source_lines(self, some: InterruptTable, interval_ns: int, width: int, room: int) -> list[list[Span]]:
        """A header and a line for each source that fits; what scrolls."""
        self._shown = max(1, room - 1)
        rows = _source_rows(some, interval_ns)
        self.total_rows = len(rows)
        self.clamp_top()
        visible = rows[self.top : self.top + self._shown]
        self.set_title("", self.position_text())
        placed = _placed_sources(width)
        return [header_spans(placed, None), *row_lines(placed, SourceRows(visible, interval_ns), len(visible))]


@lru_cache(4)
def _placed_sources(width: int) -> Placed[SourceRows]:
    return place(SOURCE_COLUMNS, width, air_most=2)


@lru_cache(4)
def _placed_cpus(width: int) -> Placed[CpuRows]:
    return place(CPU_COLUMNS, width, air_most=2)


def _is_past(view: View) -> bool:
    """Whether it is too late to time what is shown."""
    return bool(view.host.recorded_source) or view.frozen


def _ratio(some: InterruptTable, interval_ns: int) -> float:
    """The share of the time of these CPUs that interrupts had."""
    return float(some.total_ns.sum() / max(1, some.cpus * interval_ns))


def _source_rows(some: InterruptTable, interval_ns: int) -> list[SourceRow]:
    """The sources that had any, the most time first."""
    counts, total_ns, max_ns = some.counts.sum(axis=0), some.total_ns.sum(axis=0), some.max_ns.max(axis=0, initial=0)
    whole_ns = max(1, some.cpus * interval_ns)
    order = np.argsort(-total_ns, kind="stable").tolist()
    return [
        SourceRow(
            some.sources[at],
            int(counts[at]),
            int(total_ns[at]),
            int(max_ns[at]),
            float(total_ns[at] / whole_ns),
            _raised_by(some, at, int(total_ns[at])),
        )
        for at in order
        if counts[at]
    ]


def _raised_by(some: InterruptTable, source: int, total_ns: int) -> str:
    """What raised most of a softirq, after its share."""
    rows = some.raisers(source)
    if not len(rows) or not total_ns:
        return ""
    name = task_words(int(rows[0]["tid"]), rows[0]["by"]) if rows[0]["tid"] else text(rows[0]["by"])
    return f"{percent(min(1.0, float(rows[0]['total_ns']) / total_ns))} % {name}"


def _summary(some: InterruptTable, interval_ns: int, width: int) -> Spans:
    """All CPUs in a line."""
    whole_ns = max(1, some.cpus * interval_ns)
    shares = {kind: some.total_ns[:, some.of_kind(kind)].sum() / whole_ns for kind in INTERRUPT_KINDS}
    parts: list[Spans] = [
        [("interrupts ", "dim"), (f"{percent(_ratio(some, interval_ns))} %", "strong"), (" of the CPUs", "dim")],
        [(f"{format_rate(rate(int(some.counts.sum()), interval_ns))}/s", "text")],
        [("softirqs ", "dim"), (f"{percent(float(shares['softirq']))} %", "text")],
        [("devices ", "dim"), (f"{percent(float(shares['hardirq']))} %", "text")],
        [("vectors ", "dim"), (f"{percent(float(shares['vector']))} %", "text")],
    ]
    return whole_parts(parts, width, (" │ ", "dim"))


def _cpu_lines(some: InterruptTable, ids: list[int], interval_ns: int, width: int, room: int) -> list[list[Span]]:
    """A header and a line for each CPU, the most time first where not all fit."""
    kinds = {kind: some.total_ns[:, some.of_kind(kind)].sum(axis=1) / max(1, interval_ns) for kind in INTERRUPT_KINDS}
    rows = [
        CpuRow(cpu, int(some.counts[at].sum()), *(float(kinds[kind][at]) for kind in ("softirq", "hardirq", "vector")))
        for at, cpu in enumerate(ids)
    ]
    if len(rows) > room - 1:
        rows.sort(key=lambda row: (-row.ratio, row.cpu))
    rows = rows[: max(0, room - 1)]
    placed = _placed_cpus(width)
    return [header_spans(placed, None), *row_lines(placed, CpuRows(rows, interval_ns), len(rows))]
