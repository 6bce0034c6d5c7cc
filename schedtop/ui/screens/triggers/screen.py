"""The dashboard that watches for conditions: it freezes, exports, records or runs commands when one comes true."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.binding import BindingType
from textual.message import Message

from schedtop.base.units import exact_duration, format_clock
from schedtop.history.view import ViewSettings
from schedtop.model.frame import Frame
from schedtop.model.source import Source
from schedtop.outputs.scheduler.snapshot import origin
from schedtop.outputs.triggers.recordings import event_of
from schedtop.outputs.triggers.work import TriggerActions, Work
from schedtop.panes.header import HeaderPane
from schedtop.panes.scheduler.steal.pane import StealPane
from schedtop.recording.lines import filters_of
from schedtop.triggers.plan import Plan
from schedtop.triggers.watch import Fired
from schedtop.ui.keys.bindings import key
from schedtop.ui.on_demand import NOTHING, OnDemand
from schedtop.ui.screens.dashboard.export import self_contained
from schedtop.ui.screens.dashboard.screen import Dashboard
from schedtop.ui.screens.text import TextScreen
from schedtop.widgets.prose import paragraph
from schedtop.widgets.strips import Span, Spans, clip, steady

MOST_KEPT = 100
"""How many firings are listed."""


class TriggeredDashboard(Dashboard):
    """Owns what is done when a condition comes true, and the lists of what has fired and became of it, newest last."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("T", "triggers", "Triggers", "What is watched for, and what has fired", shown=True),
    ]

    class Said(Message):
        """Something about a trigger that the user should know; any thread may post it."""

        def __init__(self, text: str, problem: bool) -> None:
            super().__init__()
            self.text = text
            self.problem = problem

    def __init__(
        self,
        source: Source,
        settings: ViewSettings,
        export_dir: Path,
        own_pid: int | None,
        *,
        on_demand: OnDemand = NOTHING,
        plan: Plan,
    ) -> None:
        super().__init__(source, settings, export_dir, own_pid, on_demand=on_demand)
        self.plan = plan
        self.fired: list[Fired] = []
        self.fired_count = 0
        self.said: list[str] = []
        self.recorder.trigger_texts = tuple(map(str, plan.conditions))
        filters = filters_of(str(settings.filter), settings.hidden_tgids)
        self._actions = TriggerActions(plan, settings, self.recorder, self._say, filters)

    def on_mount(self, _event: events.Mount) -> None:
        self._show_triggers()

    # What arrives.

    def add(self, frame: Frame) -> None:
        """Takes a new Frame, and does what is to be done if it makes a condition true."""
        super().add(frame)
        fired = self._actions.feed(frame)
        for event in fired:
            self.recorder.record_event(event_of(event))
        work = self._actions.act(fired, self.live)
        if not fired:
            return
        self.fired = [*self.fired, *fired][-MOST_KEPT:]
        self.fired_count += len(fired)
        self._show_triggers()
        if self.plan.freeze and not self.time_keys.stands_still:
            self.time_keys.action_freeze()
        # The picture shall show that moment, and not the message about it.
        self.call_after_refresh(self._finish, work)

    def _finish(self, work: Sequence[Work]) -> None:
        for one in work:
            self.run_worker(asyncio.to_thread(one.do, self._picture(one)), group="triggers")
            text = f"{one.fired.values_text}\n{format_clock(one.fired.time_ns)}  {one.fired.condition}"
            self.notify(f"{text}\n(T lists it)", title="Triggered", severity="warning", timeout=8, markup=False)

    def _picture(self, work: Work) -> str:
        """The screen, if it is to be exported and shows the moment that fired; else nothing."""
        if work.view is None or self.view is None or self.view.frame.end_ns != work.fired.end_ns:
            return ""
        return self_contained(self.app.export_screenshot(title="schedtop"), origin(self.view))

    def _say(self, text: str, problem: bool) -> None:
        self.post_message(self.Said(text, problem))

    @on(Said)
    def _said(self, event: Said) -> None:
        self.said = [*self.said, event.text][-MOST_KEPT:]
        if event.problem:
            self.notify(event.text, title="Trigger", severity="error", timeout=10, markup=False)

    def close_recordings(self, timeout_s: float) -> list[str]:
        """Ends the commands first: what they say comes too late."""
        self._actions.close("schedtop ended")
        return super().close_recordings(timeout_s)

    # What is shown.

    def _show_triggers(self) -> None:
        header = self.query_one(HeaderPane)
        header.triggers = armed_words(self.plan, self.fired, self.fired_count)
        header.draw()
        self.query_one(StealPane).marks = tuple(event.end_ns for event in self.fired)

    def action_triggers(self) -> None:
        """Conditions, actions, and the list of what has fired."""
        self.app.push_screen(TextScreen("Triggers", self._lines))

    def _lines(self, width: int) -> Iterable[Spans]:
        yield [("Watched for", "key")]
        for condition in self.plan.conditions:
            yield from paragraph(steady(str(condition)), width)
        yield []
        yield [("Then", "key")]
        for words in action_words(self.plan):
            yield from paragraph(steady(words), width)
        yield []
        yield [(f"Fired: {self.fired_count} time{'s' * (self.fired_count != 1)}, the newest first", "key")]
        for event in reversed(self.fired):
            words = f"{format_clock(event.time_ns)}  {event.values_text}  ({event.condition})"
            yield from paragraph(steady(words), width)
        if self.said:
            yield []
            yield [("What became of files and commands, the newest first", "key")]
        for words in reversed(self.said):
            yield from paragraph(steady(words), width)


def armed_words(plan: Plan, fired: Sequence[Fired], count: int) -> list[Span]:
    """For the header: what is watched for, and the last time that it happened."""
    conditions = plan.conditions
    if fired:
        times = f" ×{count}" if count > 1 else ""
        text = clip(steady(str(fired[-1].condition)), 30)
        return [(f" T {format_clock(fired[-1].time_ns)}{times} ", "alarm"), (f" {text}", "notice")]
    armed = clip(steady(str(conditions[0])), 30) if len(conditions) == 1 else f"{len(conditions)} conditions"
    return [("on ", "dim"), (armed, "text")]


def action_words(plan: Plan) -> list[str]:
    """What is done, a line each."""
    words = ["freeze"] if plan.freeze else []
    words += [f"export to {plan.export_dir}"] if plan.export else []
    words += [f"path of the last seconds to {plan.export_dir}"] if plan.last_seconds else []
    words += [f"record {exact_duration(plan.around_ns)} before and after to {plan.export_dir}"] if plan.record else []
    words += [f"run {' '.join(command)}" for command in plan.commands]
    return words or ["nothing but to say so"]
