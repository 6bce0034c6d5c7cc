"""What the task view shows at one moment, and what its panes share."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from schedtop.base.units import format_rate, format_round_ns, rate
from schedtop.model.rows import Integers
from schedtop.panes.task.past import Past, Subject
from schedtop.task import STATES, TaskFrame

NOTHING_YET = "nothing yet"
"""What the panes say before there is a Scene."""


class Status(Enum):
    """How it is with the task view's own counts."""

    ATTACHING = "attaching"
    COUNTING = "counting"
    ENDED = "ended"
    FAILED = "failed"
    RECORDED = "recorded"
    """There is no live kernel to ask: what the History knows is all."""


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """All that the task view's panes show: what the History knows (`past`) and what it counted itself (`counts`).

    `window_ns`: the span that both are about, `None`: all the History has, and all since the task view was opened.
    `strip`: nanoseconds in each of `task.STATES` in each of the latest pieces of `strip_ns`, shape (pieces, states).
    `reason`: why it failed. `frozen`: it stands still.
    """

    subject: Subject
    status: Status
    past: Past | None = None
    counts: TaskFrame | None = None
    strip: Integers = field(default_factory=lambda: np.zeros((0, len(STATES)), np.int64))
    strip_ns: int = 100_000_000
    window_ns: int | None = None
    threshold_ns: int = 0
    reason: str = ""
    frozen: bool = False
    anew: bool = False
    """The counts begin not with the opening but later, by the key."""

    def missing(self, part: str) -> str:
        """Why a part of the counts is not there, empty if it is."""
        if self.counts is not None:
            return self.counts.unavailable.get(part, "")
        if self.status is Status.RECORDED:
            return "not recorded"
        if self.status is Status.FAILED:
            return f"not counted: {self.reason}"
        return "attaching to the kernel …" if self.status is Status.ATTACHING else "nothing counted yet"

    @property
    def counted_words(self) -> str:
        """Over which span the counts are, in words."""
        if self.counts is None:
            return ""
        since = "since x" if self.anew else "since opened"
        span = format_round_ns(max(1, self.counts.interval_ns // 10**8) * 10**8)
        return f"{since}: {span}" if self.window_ns is None else f"last {span}"

    @property
    def span_words(self) -> str:
        """The same for a border: words that stay, because another border repaints the whole section."""
        if self.counts is None:
            return ""
        if self.window_ns is None:
            return "since x" if self.anew else "since opened"
        return f"last {format_round_ns(self.window_ns)}"

    def per_s(self, count: float | None) -> str:
        """A count of the task view as events per second."""
        return format_rate(rate(count, self.counts.interval_ns)) if self.counts else "-"
