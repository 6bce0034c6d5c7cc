"""Runqueue latency: how long tasks waited for a CPU in the window, as numbers and as a histogram."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from textual.geometry import Size

from schedtop.base.histogram import Histogram
from schedtop.base.units import format_brief_ns, format_counted, format_ns, format_rate, format_round_ns, rate
from schedtop.history.view import View
from schedtop.model.groups import group_members
from schedtop.model.rows import GROUPS, WAIT_KINDS
from schedtop.panes.levels import wait_style
from schedtop.panes.pane import Pane
from schedtop.panes.scheduler.latency.plot import LatencyPlot
from schedtop.panes.scheduler.latency.throttled import throttled_glance, throttled_ns, throttled_words
from schedtop.panes.scheduler.tasks.selected import selected_group
from schedtop.widgets.canvas import surface_of
from schedtop.widgets.columns import GAP, Column, Placed, explained, header_spans, place, row_lines
from schedtop.widgets.strips import Span, Spans, fit

PERCENTILES = (("p50", 0.5, 0), ("p90", 0.9, 2), ("p99", 0.99, 0), ("p99.9", 0.999, 1))
"""Name, ratio, and how early the column goes when there is no room."""

_LEAST = {name: 1 / (1 - ratio) for name, ratio, _ in PERCENTILES}
"""How many waits bear each of them."""

AIRY_PLOT_HEIGHT = 7
LEAST_WITH_FORKS = 8
"""With fewer lines the plot needs the one of fork waits, which are the rarest: they are then among all alone."""

NOT_BY_TASK = "all tasks"
"""What the title says under a filter by task: histograms are kept by CPU, and so cannot follow it."""

Kinds = Sequence[tuple[str, Histogram, str]]
"""Name, waits and their count as events per second."""


MEANINGS = {
    "wait": "the kind: wakeup (a sleeper was woken: what a request feels), preemption (a runner lost its CPU), "
    "fork (a new task, until it first runs), all",
    "p50": "half of the waits are shorter: the usual case",
    "p90": "one wait in ten is longer",
    "p99": "one wait in a hundred is longer",
    "p99.9": "one wait in a thousand is longer",
    "max": "the longest one",
    "per s": "how many waits ended, a second",
}


def _columns(name: int, value: int, form: Callable[[float | None], str], grow: int = 0) -> tuple[Column[Kinds], ...]:
    """The columns with `name` cells for the kind of wait and `value` for each time, written by `form`."""

    def times(header: str, of: Callable[[Histogram], float | None], rank: int = 0) -> Column[Kinds]:
        return Column(header, value, lambda kinds: [form(of(waits)) for _, waits, _ in kinds], rank=rank, grow=grow)

    def percentile(header: str, ratio: float, rank: int) -> Column[Kinds]:
        return times(header, lambda waits: waits.percentile_ns(ratio), rank)

    columns: tuple[Column[Kinds], ...] = (
        Column("wait", name, lambda kinds: [word[:name] for word, _, _ in kinds], right=False, style="strong"),
        *(percentile(*wanted) for wanted in PERCENTILES),
        times("max", lambda waits: waits.max_ns if waits.count else None),
        Column("per s", 6, lambda kinds: [per_s for _, _, per_s in kinds], rank=3, grow=min(grow, 2)),
    )
    return explained(columns, MEANINGS)


FORMS = (
    _columns(10, 7, format_ns, grow=3),
    _columns(7, 7, format_ns),
    _columns(7, 6, format_brief_ns),
)
"""From wide to narrow. Two digits do for percentiles that are exact to 6 %, so the narrowest has all of them, too."""

STYLE_OF = {"wakeup": "wakeup", "preemption": "preemption", "fork": "text", "all": "strong"}


def columns_for(width: int) -> Sequence[Column[Kinds]]:
    """The widest form that shows every percentile in `width` cells; else the narrowest, which drops some."""
    names = len(PERCENTILES) + 2
    return next((form for form in FORMS if len(place(form, width)) >= names), FORMS[-1])


class LatencyPane(Pane[View]):
    """Percentiles of each kind of wait, and their histogram: wakeup and fork upwards, preemption downwards."""

    TITLE = "Runqueue latency"
    SHORT = "Latency"
    LEAST = Size(38, 9)
    PARTS = ("latency",)
    READING = (
        "How long tasks that were ready to run waited for a CPU, every single wait counted. A wakeup wait "
        "starts when a sleeping task is woken; a preemption wait starts when a running task is preempted; a "
        "fork wait is that of a new task until it first runs. In the histogram wakeup and fork waits grow "
        "upwards, preemption waits hang downwards; both axes are logarithmic (log), with counts at 1, 10, 100, "
        "and waits right of the mark `slow` are over the threshold. A percentile is amber from the threshold "
        "on, and dim where the waits are too few for it: p99 takes a hundred. While a task is selected, or a "
        "group of them (g), its waits alone are shown, of all kinds together."
    )
    SIGNS = (
        ("wakeup p99 of some ms", "users of the service feel it", "Slow waits say which task was late, and why"),
        ("long preemption, short wakeup", "many tasks that compute", "nothing, if it is batch work"),
        ("long fork waits", "more new tasks than the CPUs can start", "Short-lived: what starts them"),
        ("a second hump on the right", "some tasks wait for whole time slices", "Tasks by run delay (s): which"),
        ("max far above p99", "rare, but long: a quota, a pinned task, steal", "the cause in Slow waits"),
    )
    COLUMN_HELP = (("Columns", FORMS[0]),)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._plot = LatencyPlot()

    def _of_selected(self, view: View) -> tuple[str, Histogram] | None:
        """The name and the waits of what is selected among the tasks, if the Frame has them."""
        kind, groups = view.settings.group, view.frame.groups
        if groups is None or groups.kind != GROUPS[kind] or (chosen := selected_group(view)) is None:
            return None
        members = group_members([chosen.id], kind, view.frame.cgroups)
        return chosen.name, groups.histogram(members, chosen.max_wait_ns)

    def view_glance(self, view: View) -> Spans:
        p99_ns = view.latency().percentile_ns(0.99)
        throttled = throttled_glance(view.frame, view.settings.shown_filter.cpus or None)
        by_task = view.settings.shown_filter.names_tasks
        words = format_brief_ns(p99_ns) if throttled or by_task else format_ns(p99_ns)
        of_all = [(" (all)", "dim")] if by_task else []
        return [("p99 ", "dim"), (words, wait_style(p99_ns, view.frame.threshold_ns) or "strong"), *of_all, *throttled]

    def view_lines(self, view: View) -> Sequence[Spans]:
        width, height = self.inner
        if (selected := self._of_selected(view)) is not None:
            return self._group_lines(view, *selected)
        waits = {kind: view.latency(kind) for kind in WAIT_KINDS}
        every = sum(waits.values(), Histogram.empty())
        surface_of(self).breathe()
        names = [name for name in (*WAIT_KINDS, "all") if height >= LEAST_WITH_FORKS or name != "fork"]
        kinds = [(name, one, _per_s(view, one)) for name in names for one in [waits.get(name, every)]]
        counted = f"{format_counted(every.count, 'wait')} in {format_round_ns(view.frame.interval_ns)}"
        cpus = view.settings.shown_filter.cpus or None
        quota = throttled_words(max(throttled_ns(view.frame, cpus), default=0), [view.frame], cpus)
        self.set_title(scope(view), " · ".join(filter(None, (counted, "".join(text for text, _ in quota)))))
        placed = _placed(width)
        lines: list[Spans] = [header_spans(placed, None)]
        for name, (_, one, _), spans in zip(names, kinds, row_lines(placed, kinds, len(kinds)), strict=True):
            text = "".join(text for text, _ in spans)
            lines.append(sure_spans(text, placed, one, STYLE_OF[name], view.frame.threshold_ns))
        if height - len(lines) > AIRY_PLOT_HEIGHT:
            lines.append([])
        room = height - len(lines)
        up = waits["wakeup"] + waits["fork"]
        surface_of(self).breathe()
        upper = "forks" if waits["fork"].count else "wakeup"
        return [*lines, *self._plot.lines(up, waits["preemption"], width, room, view.frame.threshold_ns, upper)]

    def _group_lines(self, view: View, name: str, waits: Histogram) -> Sequence[Spans]:
        """The waits of one group, of all kinds together: more is not known of groups."""
        width, height = self.inner
        self.set_title(name, f"{format_counted(waits.count, 'wait')} in {format_round_ns(view.frame.interval_ns)}")
        placed = _placed(width)
        lines: list[Spans] = [header_spans(placed, None)]
        lines.extend(row_lines(placed, [("all", waits, _per_s(view, waits))], 1))
        lines.append([(fit("of the selected row, all kinds together", width), "dim")])
        room = height - len(lines)
        threshold_ns = view.frame.threshold_ns
        return [*lines, *self._plot.lines(waits, Histogram.empty(), width, room, threshold_ns, "all")]


def sure_spans(text: str, placed: Placed[Kinds], waits: Histogram, style: str, threshold_ns: int) -> Spans:
    """A row with the times from the threshold on in the colour of their level, and those percentiles dim that so few
    waits do not bear: p99 of less than a hundred is the longest one."""
    levels, count = _levels(waits, threshold_ns), waits.count
    spans: list[Span] = []
    start = 0
    for column, width in placed:
        end = start + width + GAP
        doubtful = count + 1e-6 < _LEAST.get(column.header, 0)
        name = "dim" if doubtful else levels.get(column.header) or style
        if spans and spans[-1][1] == name:
            spans[-1] = (spans[-1][0] + text[start:end], name)
        else:
            spans.append((text[start:end], name))
        start = end
    return spans


def _levels(waits: Histogram, threshold_ns: int) -> dict[str, str]:
    """The style of each time that is not ordinary, by its column."""
    if not waits.count or waits.max_ns < threshold_ns:
        return {}
    levels = {"max": wait_style(waits.max_ns, threshold_ns)}
    for name, ratio, _ in reversed(PERCENTILES):
        if not (style := wait_style(waits.percentile_ns(ratio), threshold_ns)):
            # Those of less are shorter still.
            break
        levels[name] = style
    return levels


@lru_cache(4)
def _placed(width: int) -> Placed[Kinds]:
    return place(columns_for(width), width)


def _per_s(view: View, histogram: Histogram) -> str:
    return format_rate(rate(histogram.count, view.frame.interval_ns))


def scope(view: View) -> str:
    """The tasks of these waits, for the title: a filter by CPU holds here, one by task does not."""
    parts = [view.cpus_words] if view.cpus_words else []
    return " · ".join([*parts, NOT_BY_TASK] if view.settings.shown_filter.names_tasks else parts)
