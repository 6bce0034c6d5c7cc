"""What is shown of what has been collected: the Timeline over the History, and the View that is made of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from schedtop.base.breath import keep_on
from schedtop.base.units import NS_PER_S
from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.panes.pane import Command
from schedtop.ui.screens.dashboard.live.told import Told
from schedtop.ui.screens.dashboard.scripts import with_script
from schedtop.ui.screens.dashboard.timeline import Timeline
from schedtop.verdict.engine import verdict_on, with_end
from schedtop.verdict.facts import Facts, gather
from schedtop.verdict.limits import FIRST_VERDICT_NS
from schedtop.verdict.verdict import MEASURING, Verdict

DRAWN_APART_NS = NS_PER_S // 2
"""Frames that come faster than this are all kept, but not each is drawn: nobody reads that fast, and drawing costs."""

APART_FOR_WORK = 150
MOVES_A_WINDOW = 15
"""A View stays for so many times what it took of a CPU (to draw it takes four times that), but moves so many times
while its window passes."""


class Shown:
    """The History `live`, the Timeline, and the View and the verdict of the moment, `None` while there is no Frame.

    Parts of the screen read the View, and change the moment or its settings; `changed` is called then.
    """

    def __init__(self, host: Host, settings: ViewSettings, changed: Callable[[], None]) -> None:
        self.live = History(host)
        self.timeline: Timeline[ViewSettings, View] = Timeline(settings)
        self.view: View | None = None
        self.verdict: Verdict | None = None
        self.ended = False
        """Whether no Frame will come any more."""
        self.is_due = False
        """Whether drawing has been asked for."""
        self._changed = changed
        self._told = Told()
        self._drawn_ns = -DRAWN_APART_NS
        self._work_ns = 0
        """The CPU time that the View took."""
        self._unjudged_ns = 0
        """How much more a screen that was just opened has to see before it judges."""

    @property
    def settings(self) -> ViewSettings:
        """What is let through, and in which order."""
        return self.timeline.settings

    def add(self, frame: Frame) -> bool:
        """Takes a new Frame; whether it is to be drawn."""
        before_ns = self._unjudged_ns if self.live.frames else FIRST_VERDICT_NS
        self._unjudged_ns = before_ns - frame.interval_ns
        self.live.append(frame)
        judges_now = self._unjudged_ns <= 0 < before_ns
        # An interval may end a little early.
        least_ns = self._apart_ns - frame.interval_ns // 4
        if not judges_now and frame.end_ns - self._drawn_ns < least_ns:
            return False
        self._drawn_ns = frame.end_ns
        return True

    @property
    def _apart_ns(self) -> int:
        """How long what is shown stays, if there are Frames for more."""
        if self.timeline.is_frozen:
            return DRAWN_APART_NS
        return max(DRAWN_APART_NS, min(APART_FOR_WORK * self._work_ns, self.settings.window_ns // MOVES_A_WINDOW))

    def set_timeline(self, timeline: Timeline[ViewSettings, View]) -> None:
        """Shows another moment, or the same with other settings."""
        if timeline is not self.timeline:
            self.timeline = timeline
            self._changed()

    def set_settings(self, settings: ViewSettings) -> None:
        """Shows the same moment with other settings."""
        self.set_timeline(self.timeline.with_settings(settings))

    def select(self, key: tuple[int, ...] | None) -> None:
        """Notes which row of the tasks is selected: the View stays what it is otherwise."""
        settings = replace(self.settings, selected_task=key)
        self.timeline = self.timeline.with_settings(settings)
        if self.view is not None:
            self.view = replace(self.view, settings=settings)

    def make(self, breathe: Callable[[], object] = keep_on) -> None:
        """Makes the View of the moment; `breathe` is called in between."""
        begun_ns = time.thread_time_ns()
        self.live.breathe = breathe
        self.view = self.timeline.view(self.live)
        self._work_ns = time.thread_time_ns() - begun_ns

    def judging(self, breathe: Callable[[], object]) -> Iterator[Callable[[], None]]:
        """Makes the verdict of the View, in two steps; `breathe` is called within them."""
        facts: list[Facts] = []

        def ask() -> None:
            if self.view is not None and self._unjudged_ns <= 0:
                facts.append(gather(self.view, breathe))

        def answer() -> None:
            if self.view is None or not facts:
                self.verdict = None if self.view is None else MEASURING
            else:
                self.verdict = self.told(with_end(verdict_on(facts[0], breathe), facts[0]), self.view)

        return iter((ask, answer))

    @property
    def commands(self) -> tuple[Command, ...]:
        """When commands that were proposed were typed, or undone."""
        return self._told.commands

    def told(self, verdict: Verdict, view: View) -> Verdict:
        """What is told of the verdict on a View. One that goes on does not flicker; one of the past is as it was."""
        is_live = not view.host.recorded_source
        tell = self._told.frozen if self.timeline.is_frozen else self._told.shown
        verdict = tell(with_script(verdict) if is_live else verdict, view)
        if is_live:
            verdict = verdict.with_keys()
        return verdict.with_sudo() if "SUDO_UID" in os.environ else verdict

    def grow_older(self) -> bool:
        """Tells a View that stands still how far behind it is; false if it does not stand still."""
        if self.view is None or not self.timeline.is_frozen:
            return False
        self.view = replace(self.view, latest_ns=self.live.latest_ns)
        return True
