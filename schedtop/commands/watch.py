"""`schedtop watch`: waits without a screen until something happens, and does what was asked for then."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import click

from schedtop.commands.opening import settings_of, source_of
from schedtop.commands.record import chosen_words
from schedtop.commands.triggers import plan_of
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.frame import Frame
from schedtop.model.source import Source
from schedtop.outputs.triggers.recordings import FileRecordings, event_of
from schedtop.outputs.triggers.work import TriggerActions
from schedtop.run.errors import complain
from schedtop.run.garbage import set_aside
from schedtop.run.opening import opening_words
from schedtop.run.progress import progress
from schedtop.run.signals import Signals
from schedtop.run.stdout import write_stdout
from schedtop.run.threads import in_thread
from schedtop.triggers.plan import Plan

NOT_FIRED = 3
"""The exit status when the time is over and what was waited for did not happen (often enough)."""

FILES_TIMEOUT_S = 10.0
"""How long the end waits until the disk has what was recorded."""


def run(signals: Signals, options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    if not options["conditions"]:
        raise click.UsageError("nothing to watch for: add --on, like --on 'p99 > 10ms for 5s'")
    if options["once"] and options["count"] not in (None, 1):
        raise click.UsageError("--once is --count 1: give one of them")
    count = 1 if options["once"] else options["count"]
    if count == 0:
        raise click.BadParameter("0 firings need no waiting", param_hint="'--count'")
    plan = plan_of(options, screen=False)
    source = source_of(
        options,
        options["interval"],
        paced=options["source"] == "synthetic" and not options["duration"],
        activity=plan.needs_activity,
    )
    work = Vigil(source, settings_of(options), plan, count, options["duration"])
    fired = in_thread(lambda: work.run(signals.stop, opening_words(options["source"])), signals)
    return signals.status or (0 if fired >= (count or 1) or not options["duration"] else NOT_FIRED)


@dataclass(frozen=True, slots=True)
class Vigil:
    """What to watch, for how many firings and how long (`None`: without end)."""

    source: Source
    settings: ViewSettings
    plan: Plan
    count: int | None
    duration_ns: int | None

    def run(self, stop: threading.Event, opening: str) -> int:
        """Watches, and gives how often something fired. Raises SourceError, OutputError, Interrupted."""

        with progress(opening):
            self.source.__enter__()
        try:
            set_aside()
            complain(f"watching for {', or '.join(map(str, self.plan.conditions))}")
            return self._watch(stop)
        finally:
            self.source.__exit__(None, None, None)

    def _watch(self, stop: threading.Event) -> int:

        files = FileRecordings(self.source.host, self.plan.export_dir, [str(one) for one in self.plan.conditions])
        actions = TriggerActions(self.plan, self.settings, files, say, chosen_words(self.settings))
        why = "failed"
        try:
            fired = self._take_frames(stop, History(self.source.host), files, actions)
            if not stop.is_set():
                actions.join(stop)
            why = "stopped" if stop.is_set() else "done"
        finally:
            actions.close(why)
            for line in files.ended(FILES_TIMEOUT_S):
                say(line, False)
        return fired

    def _take_frames(
        self, stop: threading.Event, history: History, files: FileRecordings, actions: TriggerActions
    ) -> int:
        """Until it has fired often enough and the time after is recorded, the time is over, or `stop` is set."""
        fired, elapsed_ns = 0, 0
        for frame in self.source.frames(stop):
            history.append(frame)
            files.record(frame)
            if self.count is None or fired < self.count:
                fired += self._take(frame, history, files, actions)
            else:
                actions.act((), history)
            for line in files.ended():
                say(line, False)
            elapsed_ns += frame.interval_ns
            if self.duration_ns and elapsed_ns + frame.interval_ns / 2 > self.duration_ns:
                break
            if self.count is not None and fired >= self.count and not actions.records:
                break
        return fired

    def _take(self, frame: Frame, history: History, files: FileRecordings, actions: TriggerActions) -> int:
        """Tells what fires at the end of a Frame, and does what is to be done; how many fired."""

        fired = actions.feed(frame)
        for event in fired:
            files.record_event(event_of(event))
        try:
            for event in fired:
                write_stdout(event.line + "\n")
        finally:
            # Also if no one reads the lines any more: it is what the user waited for.
            for work in actions.act(fired, history):
                work.do()
        return len(fired)


def say(message: str, _problem: bool) -> None:
    """A line on standard error; standard output has only what fired."""

    complain(message)
