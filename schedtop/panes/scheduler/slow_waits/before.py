"""The last slow wait before the window: long waits end seconds apart, and a window between two ends has none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from schedtop.base.units import NS_PER_S, format_ns, format_whole_s
from schedtop.history.view import View
from schedtop.model.rows import rows_where, text
from schedtop.widgets.strips import steady

REMEMBERED_NS = 10 * NS_PER_S


@dataclass(frozen=True, slots=True)
class Before:
    """The longest slow wait of the last interval that had some, and how long ago that ended."""

    wait: np.void
    ago_ns: int

    @property
    def words(self) -> str:
        """`950 ms web, 2 s ago`."""
        name = steady(text(self.wait["comm"]))
        return f"{format_ns(int(self.wait['wait_ns']))} {name}, {format_whole_s(self.ago_ns)} ago"


def last_before(view: View) -> Before | None:
    """The last one that the filter lets through; `None`: there was none for ten seconds."""
    for frame in reversed(view.series):
        ago_ns = view.frame.end_ns - frame.end_ns
        if ago_ns > REMEMBERED_NS:
            break
        rows = rows_where(frame.slow_waits, frame.slow_waits["wait_ns"] >= view.frame.threshold_ns)
        if len(rows) and len(rows := view.settings.rows(rows, "cpu", frame.cgroups)):
            return Before(rows[int(np.argmax(rows["wait_ns"]))], ago_ns)
    return None
