"""Runqueue latency: how long tasks waited for a CPU in the window, as numbers and as a histogram."""

from __future__ import annotations

from collections.abc import Sequence

from schedtop.histogram import Histogram
from schedtop.history import View
from schedtop.model import WAIT_KINDS
from schedtop.panes.latency_plot import LatencyPlot
from schedtop.panes.pane import Pane
from schedtop.units import format_count, format_ns, format_rate, format_round_ns, rate
from schedtop.widgets.columns import Column, header_spans, place, row_lines
from schedtop.widgets.strips import Spans, clip

PERCENTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999))
AIRY_PLOT_HEIGHT = 7
NOT_BY_TASK = "all tasks: not filtered by task"

Kinds = Sequence[tuple[str, Histogram, str]]
"""Name, waits and their count as events per second."""


def _percentile(name: str, ratio: float, rank: int) -> Column[Kinds]:
    return Column(
        name, 7, lambda kinds: [format_ns(waits.percentile_ns(ratio)) for _, waits, _ in kinds], rank=rank, grow=3
    )


COLUMNS: tuple[Column[Kinds], ...] = (
    Column("wait", 10, lambda kinds: [name for name, _, _ in kinds], right=False, style="strong"),
    _percentile("p50", 0.5, 0),
    _percentile("p90", 0.9, 3),
    _percentile("p99", 0.99, 0),
    _percentile("p99.9", 0.999, 2),
    Column("max", 7, lambda kinds: [format_ns(waits.max_ns) if waits.count else "-" for _, waits, _ in kinds], grow=3),
    Column("per s", 6, lambda kinds: [per_s for _, _, per_s in kinds], rank=1, grow=2),
)
STYLE_OF = {"wakeup": "wakeup", "preemption": "preemption", "all": "strong"}


class LatencyPane(Pane):
    """Percentiles of both kinds of wait, and their histogram: wakeup waits upwards, preemption waits downwards."""

    NUMBER = 2
    TITLE = "Runqueue latency"
    SHORT = "Latency"
    PARTS = ("latency",)
    READING = (
        "How long tasks that were ready to run waited for a CPU, every single wait counted. A wakeup wait starts "
        "when a sleeping task is woken; a preemption wait starts when a running task is put off the CPU. "
        "In the histogram wakeup waits grow upwards, preemption waits hang downwards; both axes are logarithmic, and "
        "waits right of the mark `slow` are over the threshold. p99 = 10 ms: one wait in a hundred is longer."
    )

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._plot = LatencyPlot()

    def view_lines(self, view: View) -> Sequence[Spans]:
        width, height = self.inner
        waits = {kind: view.latency(kind) for kind in WAIT_KINDS}
        every = sum(waits.values(), Histogram.empty())
        kinds = [(name, histogram, _per_s(view, histogram)) for name, histogram in {**waits, "all": every}.items()]
        self.set_title(_scope(view), f"{format_count(every.count)} waits in {format_round_ns(view.frame.interval_ns)}")
        placed = place(COLUMNS, width)
        lines: list[Spans] = [header_spans(placed, None)]
        for name, spans in zip((*WAIT_KINDS, "all"), row_lines(placed, kinds, len(kinds)), strict=True):
            lines.append([("".join(text for text, _ in spans), STYLE_OF[name])])
        if view.settings.filter.names_tasks:
            lines.append([(clip(NOT_BY_TASK, width), "notice")])
        if height - len(lines) > AIRY_PLOT_HEIGHT:
            lines.append([])
        room = height - len(lines)
        return [*lines, *self._plot.lines(waits["wakeup"], waits["preemption"], width, room, view.frame.threshold_ns)]


def _per_s(view: View, histogram: Histogram) -> str:
    return format_rate(rate(histogram.count, view.frame.interval_ns))


def _scope(view: View) -> str:
    cpus = view.settings.filter.cpus
    return f"CPU {','.join(map(str, cpus))}" if cpus else ""
