"""Trends: charts over the whole history, by plotext."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size

from schedtop.base.units import format_brief_ns
from schedtop.charts.chart import MARGIN, Chart, Scale, names, scale_of
from schedtop.charts.drawing import canvas
from schedtop.charts.trends import TRENDS, Trend
from schedtop.history.view import View
from schedtop.panes.pane import Pane
from schedtop.panes.scheduler.latency.pane import scope
from schedtop.panes.scheduler.trends.columns import TrendColumns, lines_by_cpu
from schedtop.panes.scheduler.trends.grid import GUTTER, Grid, grid_of
from schedtop.panes.time_columns import Placed, TimeColumns, is_moment, with_cursor
from schedtop.widgets.canvas import surface_of
from schedtop.widgets.parts import keys_of, made_of
from schedtop.widgets.strips import Span, Spans, fitted, wrapped
from schedtop.widgets.time_axis import jump_of

PERIOD_S = 0.95
"""The charts are drawn anew at most once in so long, however quickly Frames arrive. The cursor moves at once."""

FITTED = (
    *((cells, 1) for cells in (32, 24, 18, 14, 11, 9, 8, 7, 6, 5, 4)),
    *((7, 2), (3, 1), (5, 2), (2, 1), (7, 4), (3, 2), (5, 4), (1, 1), (5, 6), (2, 3), (5, 9), (1, 2), (2, 5)),
    *((1, 3), (2, 7), (1, 4), (2, 9), *((1, many) for many in (5, 6, 7, 8, 10, 12, 15, 20, 30, 60, 120, 300, 600))),
)
"""How many columns so many intervals have together while the charts fit themselves to the history: small steps, so
that there is little room beside it."""

CHOSEN, MARKED = "▸", "●"

MADE_OF = {"time": TimeColumns}

KEYS: Sequence[BindingType] = (
    Binding("enter", "mark", "Mark", show=False, id="mark-chart", tooltip="Trends: marks the chosen chart, or not"),
    Binding(
        "m", "only_marked", "Marked alone", show=False, id="marked-charts", tooltip="Trends: the marked charts, or all"
    ),
    Binding("C", "by_cpu", "By CPU", show=False, id="charts-by-cpu", tooltip="Trends: a line for each CPU, or for all"),
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A chart whose lines are made: its canvas, and what the names beside it need."""

    trend: Trend
    chart: Chart
    scale: Scale
    rows: Sequence[Spans]
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Body:
    """What was drawn at last. `shape`: what the user chose; `data`: which Frames it shows."""

    shape: object
    data: object
    placed: Placed
    charts: Sequence[Drawn]
    drawn_s: float


@made_of(MADE_OF)
class TrendsPane(Pane[View]):
    """Charts of the whole history: latency, switches, run queue, steal, pressure, quota."""

    TITLE = "Trends"
    LEAST = Size(40, 8)
    READING = (
        "Charts over all that is kept, time to the right: the longest wait with p99 and p50 (logarithmic), "
        "context switches and the involuntary ones among them, tasks that wait for a CPU, steal, pressure "
        "(PSI: the share of time in which some task waited), and time that a quota kept tasks off the CPU. "
        "Beside each line stand its name and its value: at the newest interval, or at the moment that the "
        "cursor marks. ↑ ↓ choose a chart, Enter marks it (●), m shows the marked ones alone, two side by side "
        "where there is room; C draws a line for each of the five CPUs with most. x shows more time in a "
        "column; until you press it, a column is as long as the history needs. A click shows that moment in "
        "all panes."
    )
    SIGNS = (
        ("p99 climbs with steal", "it is the hypervisor", "ask for a host that is less full"),
        ("p99 climbs with quota", "it is a limit", "schedtop advise --cgroup NAME"),
        ("p99 climbs with invol and queue", "too much work", "Tasks by run time (s): what to move"),
        ("p99 climbs alone", "a class, a weight or an affinity mask", "the cause in Slow waits"),
        ("one step up, and it stays", "a deploy, or a new task", "click on the step: all panes show that moment"),
    )

    BINDINGS: ClassVar[list[BindingType]] = keys_of(MADE_OF, KEYS)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.time = TimeColumns(self)
        self._columns = TrendColumns()
        self._body: Body | None = None
        self._own_scale: tuple[int, int] | None = None
        self._chosen = 0
        self._marked: frozenset[str] = frozenset()
        self._alone = self._by_cpu = self._is_waiting = False

    def show(self, view: View) -> None:
        if self.hidden:
            # What is not seen must not keep Frames that the history has given up.
            self.forget()
        super().show(view)

    def forget(self) -> None:
        """Drops what is kept of Frames."""
        self.time.forget()
        self._columns.forget()
        self._body = None

    def view_glance(self, view: View) -> Spans:
        cpus = view.settings.shown_filter.cpus or None
        first, last = (frame.latency.histogram(None, cpus) for frame in (view.series[0], view.series[-1]))
        before, now = (format_brief_ns(waits.percentile_ns(0.99)) for waits in (first, last))
        return [("p99 ", "dim"), (f"{before} → {now}", "strong")]

    # Keys.

    @property
    def trends(self) -> tuple[Trend, ...]:
        """The charts that there are now, seen or not."""
        marked = self._marked or {TRENDS[self._chosen].key}
        return tuple(trend for trend in TRENDS if not self._alone or trend.key in marked)

    def action_move(self, rows: int) -> None:
        """Chooses another chart."""
        trends = self.trends
        now = TRENDS[self._chosen]
        at = trends.index(now) if now in trends else 0
        self._chosen = TRENDS.index(trends[min(max(at + (1 if rows > 0 else -1), 0), len(trends) - 1)])
        self.draw()

    def action_mark(self) -> None:
        """Marks the chosen chart, or no longer."""
        self._marked ^= {TRENDS[self._chosen].key}
        self.draw()

    def action_only_marked(self) -> None:
        """Shows the marked charts alone (without any: the chosen one), or all."""
        self._alone = not self._alone
        self.draw()

    def action_by_cpu(self) -> None:
        """Shows a line a CPU where that is known, or one for all."""
        self._by_cpu = not self._by_cpu
        self.draw()

    def action_first(self) -> None:
        """To the oldest interval."""
        self._go_to(0)

    def action_last(self) -> None:
        """To the newest one."""
        self._go_to(-1)

    def _go_to(self, number: int) -> None:
        if self.view is not None and is_moment(self.view):
            self.time.go_to((*self.view.series, *self.view.later)[number].end_ns)

    # What is drawn.

    def view_lines(self, view: View) -> Sequence[Spans]:
        trends = self.trends
        grid = grid_of(len(trends), *self.inner)
        page = grid.across * grid.down
        chosen = trends.index(TRENDS[self._chosen]) if TRENDS[self._chosen] in trends else 0
        first = min(max(0, chosen // grid.across - grid.down + 1) * grid.across, max(0, len(trends) - page))
        body = self._drawn(view, grid, trends[first : first + page])
        words = "by CPU" if self._by_cpu else ""
        detail = " · ".join(text for text in (scope(view), words, self.time.scale_words) if text)
        seen = len(body.charts)
        self.set_title(detail, f"{first + 1}-{first + seen} of {len(trends)}" if seen < len(trends) else "")
        return self._composed(view, grid, body)

    def _drawn(self, view: View, grid: Grid, trends: Sequence[Trend]) -> Body:
        """The charts, drawn anew if there are others to show, or newer data and it was not just done."""
        cpus = view.settings.shown_filter.cpus or None
        self._scale_to(view, grid)
        placed = self.time.place(view, MARGIN, grid.columns, grid.width, self._own_scale)
        frozen = (view.frozen, placed.first) if view.frozen else False
        shape = (grid, trends, self._by_cpu, cpus, self.time.per_column, frozen)
        data = (placed.grid, placed.first, [id(frame) for _, _, frame in placed.frames])
        body = self._body
        if body is not None and body.shape == shape:
            wait_s = PERIOD_S - (monotonic() - body.drawn_s)
            if body.data == data:
                return self._with_cursor_of(placed, body)
            if wait_s > 0:
                self._draw_later(wait_s)
                return self._with_cursor_of(placed, body)
        values = self._columns.values(placed, cpus)
        kept = body.charts if body is not None and body.shape == shape else [None] * len(trends)
        charts = []
        for number, trend in enumerate(trends):
            surface_of(self).breathe()
            chart = trend.chart(values)
            if self._by_cpu and trend.by_cpu and chart.lines:
                chart = replace(chart, lines=lines_by_cpu(trend, placed, view.cpu_ids))
            rows = grid.heights[number // grid.across] - 1
            charts.append(_chart_drawn(trend, chart, grid.columns, rows, view, kept[number]))
        self._body = Body(shape, data, placed, charts, monotonic())
        return self._body

    def _with_cursor_of(self, placed: Placed, body: Body) -> Body:
        """What was drawn, with the cursor where it is now. A click means what is seen."""
        if placed.first != body.placed.first or placed.grid != body.placed.grid:
            self.time.placed = body.placed
            return body
        return replace(body, placed=placed)

    def _scale_to(self, view: View, grid: Grid) -> None:
        """As much room for each interval as the whole history leaves, unless the user has chosen."""
        if self.time.per_column > 1:
            self._own_scale = None
            return
        newest = view.later[-1] if view.later else view.series[-1]
        span_ns = newest.end_ns - view.series[0].end_ns + view.series[0].interval_ns
        intervals = -(-span_ns // max(1, newest.interval_ns))
        fits = (one for one in FITTED if _columns_of(intervals, one, grid.columns) <= grid.columns)
        self._own_scale = next(fits, FITTED[-1])

    def _draw_later(self, wait_s: float) -> None:
        if not self._is_waiting:
            self._is_waiting = True
            self.set_timer(wait_s, self._draw_waiting)

    def _draw_waiting(self) -> None:
        self._is_waiting = False
        self.draw()

    def _composed(self, view: View, grid: Grid, body: Body) -> list[Spans]:
        lines: list[Spans] = []
        for start in range(0, len(body.charts), grid.across):
            height = grid.heights[start // grid.across]
            blocks = [
                self._block(drawn, grid, height, body.placed) for drawn in body.charts[start : start + grid.across]
            ]
            lines += [[span for part in parts for span in part] for parts in zip(*blocks, strict=True)]
        axis = fitted(self.time.axis_spans(view, body.placed, " " * MARGIN), grid.width)
        lines.append(axis * min(grid.across, len(body.charts)))
        return lines

    def _block(self, drawn: Drawn, grid: Grid, height: int, placed: Placed) -> list[Spans]:
        """A chart with its title, in exactly so many lines."""
        key = drawn.trend.key
        is_chosen = TRENDS[self._chosen] is drawn.trend
        sign = CHOSEN if is_chosen else MARKED if key in self._marked else " "
        also: Span = (MARKED, "key") if is_chosen and key in self._marked else (" ", "text")
        style = "key" if is_chosen else "strong"
        title: list[Span] = [(sign, "key"), also, (drawn.chart.title, style)]
        if self._by_cpu and drawn.trend.by_cpu:
            title.append((" (the longest)" if key == "latency" else "", "dim"))
        lines: list[Spans] = [fitted(title, grid.width)]
        if drawn.missing:
            words = wrapped(drawn.missing, max(1, grid.width - MARGIN - GUTTER))
            lines += [fitted([(" " * MARGIN, "text"), (line, "dim")], grid.width) for line in words]
            lines += [fitted([], grid.width)] * (height - len(lines))
            return lines[:height]
        column = min(max(placed.cursor[1], 0), placed.width - 1) if placed.cursor else None
        labels = names(drawn.chart, drawn.scale, height - 1, column) if grid.names and height > 1 else []
        for number in range(height - 1):
            row = list(drawn.rows[number])
            if placed.cursor is not None:
                row = with_cursor(row, MARGIN, placed.cursor[1])
            lines.append(fitted([*row, *labels[number : number + 1]], grid.width))
        return lines


def _columns_of(intervals: int, fitted: tuple[int, int], width: int) -> int:
    """How many of so many columns the history takes, with those that stay free until the charts move on."""
    cells, of = fitted
    return -(-intervals * cells // of) + jump_of(width, -(-cells // of)) - 1


def _chart_drawn(trend: Trend, chart: Chart, columns: int, rows: int, view: View, kept: Drawn | None) -> Drawn:
    """The chart with its lines. `kept`: what stands there; on a quiet host many charts are flat, and stay the same."""
    if not chart.lines:
        return Drawn(trend, chart, scale_of(chart), [], _why_none(trend, view))
    if kept is not None and kept.chart == chart:
        return kept
    scale = scale_of(chart)
    return Drawn(trend, chart, scale, canvas(chart, scale, columns, rows) if rows > 0 else [])


def _why_none(trend: Trend, view: View) -> str:
    return view.missing(trend.part) or ("no waits yet" if trend.key == "latency" else "not available")
