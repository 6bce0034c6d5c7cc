"""`schedtop record`: the dashboard's Frames into a file, without a screen."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click

from schedtop.base.units import NS_PER_S, format_bytes, format_count, format_elapsed
from schedtop.commands.conditions import conditions_of
from schedtop.commands.opening import settings_of, source_of
from schedtop.commands.triggers import check_source
from schedtop.history.view import ViewSettings
from schedtop.model.counts import Loss
from schedtop.model.frame import Frame
from schedtop.model.source import Source
from schedtop.outputs.files import check_target
from schedtop.outputs.recording.recorder import Recorder
from schedtop.outputs.triggers.recordings import event_of
from schedtop.recording.lines import Event, Header, filters_of
from schedtop.run.errors import complain
from schedtop.run.garbage import set_aside
from schedtop.run.opening import is_proc, opening_words
from schedtop.run.signals import Signals
from schedtop.run.threads import in_thread
from schedtop.triggers.grammar import Condition
from schedtop.triggers.watch import Watch

SHOWN_EVERY_S = 0.5


def run(signals: Signals, options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    if options["output"] in ("", "-"):
        raise click.BadParameter("it must be the name of a file", param_hint="'-o'")
    path = Path(options["output"])
    conditions = conditions_of(options)
    check_source(conditions, options["source"])
    if options["activity"] and is_proc(options["source"]):
        words = "what tasks do cannot be had from /proc: run `sudo schedtop record`, with another --source than proc"
        raise click.BadParameter(words, param_hint="'--activity'")
    check_target(path, force=options["force"])
    duration_ns = options["duration"]
    interval_ns = min(options["interval"], duration_ns or options["interval"])
    work = Work(
        source_of(
            options,
            interval_ns,
            paced=options["source"] == "synthetic" and not duration_ns,
            activity=options["activity"] or any(condition.needs_activity for condition in conditions),
        ),
        settings_of(options),
        path,
        duration_ns=duration_ns,
        max_bytes=options["max_size"],
        force=options["force"],
        conditions=conditions,
    )
    tally = Tally()
    try:
        with shown_on_terminal(tally.line):
            in_thread(lambda: work.run(signals.stop, tally, opening_words(options["source"])), signals)
    finally:
        tally.report(path, stopped=signals.stop.is_set())
    # A user that stops what has no end has got what was asked for, unless there is nothing.
    done = duration_ns is None and tally.frames and signals.status in (0, 128 + signal.SIGINT, 128 + signal.SIGTERM)
    return 0 if done else signals.status


@dataclass(slots=True)
class Tally:
    """What was recorded so far; one thread counts, another one shows it."""

    opening: str = ""
    frames: int = 0
    bytes: int = 0
    interval_ns: int = 0
    slow_waits: int = 0
    loss: Loss | None = None
    started_s: float = 0.0
    fired: int = 0
    """How often a condition (`--on`) has come true."""
    notices: list[str] = field(default_factory=list)
    """What the conditions ask for and cannot be had."""

    def add(self, frame: Frame, size: int) -> None:
        """Counts a Frame that is in the file, which has that size now."""
        self.frames += 1
        self.bytes = size
        self.interval_ns += frame.interval_ns
        self.slow_waits += len(frame.slow_waits)
        self.loss = self.loss + frame.loss if self.loss else frame.loss

    def line(self) -> str:
        """For a user that watches."""
        if not self.started_s:
            return f"{self.opening} ..." if self.opening else ""
        elapsed_ns = round((time.monotonic() - self.started_s) * NS_PER_S)
        return f"recording {format_elapsed(elapsed_ns)}, {self._counts()}"

    def report(self, path: Path, *, stopped: bool) -> None:
        """Says on standard error what is in the file, or that there is none since it was `stopped` too early."""

        for notice in self.notices:
            complain(notice)
        if self.frames:
            per_minute = format_bytes(self.bytes * 60 * NS_PER_S / self.interval_ns)
            complain(f"{path}: {format_elapsed(self.interval_ns)}, {self._counts()}, {per_minute} a minute")
        elif stopped:
            complain("nothing was recorded: the first interval had not ended")

    def _counts(self) -> str:
        lost = {name: count for name, count in asdict(self.loss).items() if count} if self.loss else {}
        words = ", ".join(f"{format_count(count)} {name.replace('_', ' ')}" for name, count in lost.items())
        return ", ".join((
            f"{self.frames} interval{'s' * (self.frames != 1)}",
            format_bytes(self.bytes),
            f"{format_count(self.slow_waits)} slow wait{'s' * (self.slow_waits != 1)}",
            *([f"{self.fired} trigger{'s' * (self.fired != 1)}"] if self.fired else []),
            f"lost: {words}" if words else "nothing lost",
        ))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Work:
    """A recording to be made: of which source, into which file, for how long (`None`: until it is stopped)."""

    source: Source
    settings: ViewSettings
    path: Path
    duration_ns: int | None
    max_bytes: int
    force: bool
    conditions: tuple[Condition, ...] = ()

    def run(self, stop: threading.Event, tally: Tally, opening: str) -> None:
        """Records until it has what it shall have, or `stop` is set. Raises SourceError, OutputError."""

        tally.opening = opening
        watch = Watch(self.conditions)
        with self.source:
            set_aside()
            tally.started_s = time.monotonic()
            recorder: Recorder | None = None
            try:
                for frame in self.source.frames(stop):
                    # The file appears with the first interval: nothing is left behind by a change of mind.
                    recorder = recorder or self._recorder(frame)
                    recorder.write(frame)
                    for fired in watch.feed(frame):
                        recorder.note(event_of(fired))
                        tally.fired += 1
                    for notice in watch.notices():
                        recorder.note(Event(frame.end_ns, "note", notice))
                        tally.notices.append(notice)
                    tally.add(frame, recorder.bytes)
                    if self.duration_ns and tally.interval_ns + frame.interval_ns / 2 > self.duration_ns:
                        break
            except BaseException:
                if recorder:
                    recorder.close("failed")
                raise
            if recorder:
                recorder.close("stopped" if stop.is_set() else "done")
                tally.bytes = recorder.bytes

    def _recorder(self, frame: Frame) -> Recorder:

        triggers = tuple(map(str, self.conditions))
        header = Header(self.source.host, frame.start_time_ns, filters=chosen_words(self.settings), triggers=triggers)
        return Recorder(self.path, header, force=self.force, max_bytes=self.max_bytes)


def chosen_words(settings: ViewSettings) -> str:
    """What is let through, as it is typed; what is hidden comes last."""

    return filters_of(str(settings.filter), settings.hidden_tgids)


@contextmanager
def shown_on_terminal(line: Callable[[], str]) -> Iterator[None]:
    """While it lasts, a line on standard error says what is going on, if a user sits there.

    From a thread of its own: a terminal that was stopped (Ctrl-S) must not hold up anything.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_show, args=(line, ended), name="schedtop-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(1)


def _show(line: Callable[[], str], ended: threading.Event) -> None:
    with suppress(OSError, ValueError):
        while not ended.wait(SHOWN_EVERY_S):
            # Never more than a line: what is wrapped could not be taken back.
            width = os.get_terminal_size(sys.stderr.fileno()).columns - 1
            print(f"\r\x1b[K{f'schedtop: {line()}'[:width]}", end="", file=sys.stderr, flush=True)
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
