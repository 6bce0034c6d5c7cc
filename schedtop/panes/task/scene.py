"""What the task view shows at one moment, and what its panes share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from textual.content import Content

from schedtop.base.units import format_rate, format_round_ns, rate
from schedtop.history.view import View
from schedtop.model.rows import Integers
from schedtop.panes.pane import Pane
from schedtop.panes.task.past import Past, Subject
from schedtop.task import STATES, TaskFrame
from schedtop.widgets.strips import Spans


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


class TaskPane(Pane):
    """One section of the task view: `take(scene)` hands it what to draw, `scene_lines` draws.

    `PARTS` are the parts of the counts without which it has nothing to show.
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.scene: Scene | None = None

    def show(self, view: View) -> None:
        """A View is not what it shows."""
        raise NotImplementedError

    def take(self, scene: Scene) -> None:
        """Shows another Scene."""
        self.scene = scene
        self.draw()

    def set_title(self, detail: str = "", subtitle: str = "") -> None:
        super().set_title(detail, subtitle)
        if not self.NUMBER and self.border_title is not None:
            # What is always there needs no key.
            title = " · ".join(filter(None, (self.TITLE, detail)))
            if str(self.border_title) != title:
                self.border_title = Content(title)

    def message_lines(self) -> list[Spans]:
        if self.scene is None:
            return self.sentence("nothing yet")
        reasons = [words for part in self.PARTS if (words := self.scene.missing(part))]
        return self.sentence(reasons[0]) if reasons else []

    def current_lines(self) -> Sequence[Spans]:
        return self.scene_lines(self.scene) if self.scene is not None else []

    def view_lines(self, view: View) -> Sequence[Spans]:
        raise NotImplementedError

    def scene_lines(self, scene: Scene) -> Sequence[Spans]:
        """The visible lines of a Scene."""
        raise NotImplementedError
