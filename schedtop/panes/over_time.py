"""Latency over time: how many waits of each length there were in each interval, the newest at the right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from textual.geometry import Size

from schedtop.histogram import LOW_NS, SUB_BUCKETS
from schedtop.history import View
from schedtop.panes.pane import Pane
from schedtop.units import format_ns, format_short_ns
from schedtop.widgets.strips import Spans

SHADES = np.array(list(" ·░▒▓█"))
LABEL = 6


class OverTimePane(Pane):
    """A heat map of the runqueue latency: time to the right, length upwards, more waits darker."""

    TITLE = "Latency over time"
    SHORT = "Over time"
    LEAST = Size(40, 8)
    PARTS = ("latency",)
    READING = (
        "Every wait for a CPU of the past, an interval a column, the newest at the right; longer waits are higher up. "
        "The darker a cell, the more waits."
    )

    def view_glance(self, view: View) -> Spans:
        return [("max ", "dim"), (format_ns(view.latency().max_ns), "strong")]

    def view_lines(self, view: View) -> Sequence[Spans]:
        width, height = self.inner
        frames = view.series[-(width - LABEL) :]
        table = np.array([frame.latency.histogram().counts for frame in frames])
        octaves = np.add.reduceat(table, np.arange(0, table.shape[1], SUB_BUCKETS), axis=1)
        first = 4
        shown = octaves[:, first : first + height]
        levels = np.minimum(len(SHADES) - 1, np.ceil(np.log10(shown + 1)).astype(int))
        lines: list[Spans] = []
        for row in reversed(range(shown.shape[1])):
            label = format_short_ns(int(LOW_NS[(first + row) * SUB_BUCKETS]))
            text = "".join(SHADES[levels[:, row]])
            lines.append([(f"{label:>{LABEL - 1}} ", "dim"), (text, "wakeup")])
        self.set_title()
        return lines
