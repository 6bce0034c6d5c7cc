"""The task's waits for a CPU: percentiles and histogram, as counted by the task view and as the History has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from schedtop.base.histogram import Histogram
from schedtop.base.units import format_counted, format_ns, format_rate, format_whole_s, rate
from schedtop.entitlement.words import report_words
from schedtop.panes.pane import Pane
from schedtop.panes.scheduler.latency.pane import columns_for
from schedtop.panes.scheduler.latency.plot import LatencyPlot
from schedtop.panes.task.scene import NOTHING_YET, Scene
from schedtop.widgets.columns import header_spans, place, row_lines
from schedtop.widgets.strips import Spans, clip, steady, whole_parts, wrapped

PLOT_LEAST = 4

BOTH_LEAST = 12
"""With fewer lines the words go before the histogram."""

RIVALS = 4
"""How many rivals are named."""


class TaskWaitsPane(Pane[Scene]):
    """How long it waited for a CPU each time that it was ready to run."""

    WAITING = NOTHING_YET
    NUMBER = 3
    TITLE = "Waits for a CPU"
    SHORT = "Waits"
    READING = (
        "Every wait of the task for a CPU: as the task view counted them, and as the history has them from before. "
        "Both axes of the histogram are logarithmic, and waits right of the mark `slow` are over the dashboard's "
        "threshold. Of a process the waits of all its threads. By weight: the share of its CPUs that its nice value "
        "and its groups' weights give it beside those that wanted them in the last 10 s, and the share that it got. A "
        "long tail (p99.9, max): 6 shows which tasks had the CPU in those; many middling ones: too many tasks for the "
        "CPUs that it may use."
    )

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._plot = LatencyPlot()

    def view_lines(self, scene: Scene) -> Sequence[Spans]:
        width, height = self.inner
        known = list(_known(scene))
        self.set_title("", format_counted(known[0][1].count, "wait") if known else "")
        lines: list[Spans] = []
        if known:
            placed = place(columns_for(width), width)
            kinds = [(name, waits, per_s) for name, waits, per_s in known]
            lines = [header_spans(placed, None), *row_lines(placed, kinds, len(kinds))]
        lines.extend(
            whole_parts([[(words, "dim")] for words in parts], width, (", ", "dim")) for parts in _past_words(scene)
        )
        if not known:
            lines.append([(clip(scene.missing("waits"), width), "dim")])
        lines.extend(_by_weight(scene, width, height - len(lines)))
        room = height - len(lines)
        if known and room >= PLOT_LEAST:
            plot = self._plot.lines(known[0][1], Histogram.empty(), width, room, scene.threshold_ns, "all")
            lines.extend(plot)
        return lines[:height]


def _by_weight(scene: Scene, width: int, room: int) -> Sequence[Spans]:
    """What the weights give it, as much of it as leaves room for the histogram, or fits."""
    report = scene.counts.entitlement if scene.counts is not None else None
    if report is None:
        return []
    sentences = [wrapped(steady(words), width) for words in report_words(report, RIVALS)]
    lines: list[Spans] = []
    for number, sentence in enumerate(sentences):
        if len(lines) + len(sentence) > (room - PLOT_LEAST if room >= BOTH_LEAST else room):
            break
        lines.extend([(line, "text" if number == 0 else "dim")] for line in sentence)
    return lines


def _known(scene: Scene) -> Iterable[tuple[str, Histogram, str]]:
    if scene.counts is not None:
        yield "counted", scene.counts.waits, scene.per_s(scene.counts.waits.count)
    if scene.past is not None and scene.past.waits is not None:
        waits = scene.past.waits
        yield "history", waits, format_rate(rate(waits.count, scene.past.span_ns))


def _past_words(scene: Scene) -> Iterable[Sequence[str]]:
    """What the task table of the History says of its waits."""
    past = scene.past
    if past is None or "latency" in past.unavailable or not len(past.threads):
        return
    delay, longest = past.sum("run_delay_ns"), int(past.threads["max_wait_ns"].max(initial=0))
    share = delay / past.span_ns if past.span_ns else 0
    span = format_whole_s(past.span_ns)
    yield [f"history, {span}: waited {format_ns(delay)} ({share * 100:.1f} %)", f"longest {format_ns(longest)}"]
    waiting = int(past.threads["waiting_ns"].max(initial=0))
    if waiting:
        yield [f"▶ waits right now, for {format_ns(waiting)} so far"]
