"""The run queues' lengths: how many tasks wait for a CPU, as a histogram, and for each CPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from textual.geometry import Size

from schedtop.base.units import format_count, format_counted
from schedtop.history.view import View
from schedtop.model.queue_lengths import QueueTable, length_ranges
from schedtop.panes.pane import TITLE_FRAME, Pane
from schedtop.panes.percent import percent
from schedtop.panes.scheduler.queue.rows import COLUMNS, QueueRows
from schedtop.widgets.bars import thin_bar
from schedtop.widgets.columns import Placed, header_spans, place, row_lines
from schedtop.widgets.strips import Span, Spans, fit, side_by_side, whole_parts

BESIDE = 60
"""From this width on the CPUs stand beside the histogram, else under it."""

LABEL, SHARE, GUTTER, LEAST_CHART = 8, 7, 4, 20
BOTH = 26
"""From this width on the chart tells the fair class, too."""

MISSED_RATIO = 0.05
"""From this share of missing samples on it is said."""


class QueuePane(Pane[View]):
    """How long the run queues were when they were sampled: in total as a histogram, and for each CPU."""

    TITLE = "Run queue"
    LEAST = Size(40, 7)
    PARTS = ("queue",)
    READING = (
        "How many tasks wait for a CPU, looked at 99 times a second on each CPU, only while this pane is shown "
        "(or a recording runs). The task that runs is not counted, and an idle CPU has 0; a task that sleeps "
        "but has not left its queue yet is not counted either. Left: in which share of the samples so many "
        "tasks waited, of all classes and of the fair class (SCHED_OTHER, BATCH, IDLE) alone. Right: the CPUs, "
        "the longest average first where not all fit: average, the same of the fair class, p99, longest, and "
        "the share of samples in which any task waited. not empty: that share of all CPUs; of them fair: how "
        "many of the waiting tasks are of the fair class. Samples are missing where a CPU kept its interrupts "
        "off, or the hypervisor had the CPU."
    )
    SIGNS = (
        ("long on every CPU", "more work than CPUs", "run less, or add CPUs"),
        (
            "long on a few, others 0",
            "tasks are pinned to these",
            "look for affinity masks (taskset, cpusets) of the tasks there",
        ),
        (
            "short, but slow waits",
            "a task keeps its CPU for long, or steal, or a quota",
            "the causes of the slow waits say which",
        ),
        ("all and fair differ", "real-time tasks wait, too", "look at classes in Tasks"),
    )
    COLUMN_HELP = (("Columns, by CPU", COLUMNS),)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._shown = 1

    @property
    def page_rows(self) -> int:
        return self._shown

    def glance(self) -> Spans:
        # Samples are taken only while the pane is seen: this is how many wait at the end of the interval.
        if self.view is None:
            return []
        if {"latency", "queue_length"} & self.view.frame.unavailable.keys():
            return [("n/a", "dim")]
        waiting = int(self.view.frame.cpus.queue_length[self.view.cpu_ids].sum())
        return [(f"{format_count(waiting)} waiting", "text")]

    def view_lines(self, view: View) -> Sequence[Spans]:
        queue = view.frame.queue
        if queue is None:
            self.set_title()
            return self.sentence(_why_none(view))
        width, height = self.inner
        ids = [cpu for cpu in view.cpu_ids if cpu < len(queue.samples)]
        lines: list[Spans] = [_summary(queue, ids, width)]
        room = max(1, height - 1)
        if width >= BESIDE:
            left = max(LEAST_CHART, width * 2 // 5 - 2)
            chart = _chart(queue, ids, left, room)
            cpus = self._cpu_lines(queue, ids, width - left - GUTTER, room)
            lines += side_by_side(chart, cpus, left, GUTTER)
        else:
            below = min(len(ids) + 1, max(2, room // 2))
            lines += [*_chart(queue, ids, width, room - below), *self._cpu_lines(queue, ids, width, below)]
        return lines

    def _cpu_lines(self, queue: QueueTable, ids: list[int], width: int, room: int) -> list[list[Span]]:
        """A header and a line for each CPU that fits; what scrolls."""
        self._shown = shown = max(1, room - 1)
        if len(ids) > shown:
            means = queue.means("all")
            ids.sort(key=lambda cpu: (-means[cpu], cpu))
        self.total_rows = len(ids)
        self.clamp_top()
        rows = QueueRows.of(queue, ids[self.top : self.top + shown])
        hidden = len(ids) > shown
        many = len(rows.ids)
        place = f"{self.top + 1}-{self.top + many}" if many > 1 else f"{self.top + 1}."
        position = f"{place} of {len(ids)} CPUs" if hidden else ""
        detail = _detail(queue, ids)
        self.set_title(detail if len(self.TITLE) + len(detail) + TITLE_FRAME <= self.size.width else "", position)
        placed = _placed(width)
        return [header_spans(placed, None), *row_lines(placed, rows, len(rows.ids))]


@lru_cache(4)
def _placed(width: int) -> Placed[QueueRows]:
    return place(COLUMNS, width)


def _why_none(view: View) -> str:
    if view.host.recorded_source:
        return "the run queues were not sampled at this time"
    if view.frozen:
        return "the run queues were not sampled at this time: they are while this pane is shown, or a recording runs"
    return "sampling begins: the first numbers come with the next interval"


def _detail(queue: QueueTable, ids: list[int]) -> str:
    """How many samples, and how many are missing."""
    samples, expected = int(queue.samples[ids].sum()), int(queue.expected[ids].sum())
    missed = queue.missed(ids)
    words = format_counted(samples, "sample")
    return words + (f", {percent(missed / expected)} % missed" if expected and missed / expected > MISSED_RATIO else "")


def _summary(queue: QueueTable, ids: list[int], width: int) -> Spans:
    """All CPUs in a line."""
    whole, fair = queue.lengths("all", ids), queue.lengths("fair", ids)
    if whole.mean is None or fair.mean is None:
        return [("no samples", "dim")]
    parts: list[Spans] = [
        [("waiting ", "dim"), (f"{whole.mean:.2f}", "strong"), (" a CPU", "dim")],
        [(f"p99 {whole.percentile(0.99)} max {whole.longest}", "text")],
        [("not empty ", "dim"), (f"{percent(whole.waiting_ratio)} %", "text")],
        [("of them fair ", "dim"), (f"{fair.mean:.2f}", "text")],
    ]
    return whole_parts(parts, width, (" │ ", "dim"))


def _chart(queue: QueueTable, ids: list[int], width: int, room: int) -> list[list[Span]]:
    """A header and a bar for each length or range of lengths; the bar is of all tasks."""
    kinds = ("all", "fair") if width >= BOTH else ("all",)
    table = [queue.lengths(kind, ids) for kind in kinds]
    bar = max(0, width - LABEL - 1 - len(kinds) * SHARE)
    head = "".join(fit(f"{kind} %", SHARE, right=True) for kind in kinds)
    lines: list[list[Span]] = [[(fit("waiting", LABEL) + " " * (bar + 1) + head, "head")]]
    for first, last in length_ranges(table[0].longest, max(1, room - 1)):
        shares = [int(lengths.counts[first : last + 1].sum()) / max(1, lengths.samples) for lengths in table]
        cells = [fit(percent(share) if share else "·", SHARE, right=True) for share in shares]
        name = str(first) if first == last else f"{first}-{last}"
        line = [
            (fit(name, LABEL - 1, right=True) + " ", "dim"),
            (fit(thin_bar(shares[0], bar), bar + 1), "preemption" if first else "dim"),
            *zip(cells, ("text", "dim"), strict=False),
        ]
        lines.append(line)
    return lines
