"""`schedtop task`: one task or process, looked at closely for a while."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import click

from schedtop.base.units import NS_PER_S
from schedtop.commands.output import checked_output, write_output
from schedtop.commands.program import duration_ns, end_with, with_program
from schedtop.commands.task.group import look_at_group, named_group
from schedtop.commands.task.waits import SlowWaits
from schedtop.model.source import SourceError
from schedtop.outputs.task.fields import to_json
from schedtop.outputs.task.text import to_text
from schedtop.run.program import Program
from schedtop.run.progress import progress
from schedtop.run.signals import Signals
from schedtop.run.threads import in_thread
from schedtop.sources.task.identity import (
    NoSuchTask,
    TaskName,
    ended_before,
    has_gone,
    identify,
    require_host_numbers,
)
from schedtop.sources.task.source import LiveTaskSource


def run(signals: Signals, options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    group = _asked(options)
    output = checked_output(options)
    if group:
        return _report_on_group(signals, options, output, group)
    return with_program(signals, options, lambda program: _report(signals, options, output, program))


def _asked(options: dict[str, Any]) -> str:
    """The cgroup that is asked for, empty for a task or a program. Raises click.UsageError."""
    asked = [options["tid"] is not None, bool(options["program"]), options["cgroup"] is not None]
    if sum(asked) != 1:
        raise click.UsageError("one thing is looked at: give a TID, a program behind --, or --cgroup")
    if options["program"] and options["whole_process"] is False:
        raise click.UsageError("--thread: a program is looked at with all its threads")
    if options["cgroup"] is None:
        return ""
    if options["whole_process"] is not None:
        raise click.UsageError("--cgroup has all tasks of a cgroup: --process and --thread are for a TID")
    return named_group(options["cgroup"])


def _report_on_group(signals: Signals, options: dict[str, Any], output: Path | None, group: str) -> int:
    with progress("looking at it"):
        report = in_thread(lambda: look_at_group(group, options, signals.stop), signals)
    in_thread(lambda: write_output(report, output, force=options["force"]), signals)
    return 0


def _report(signals: Signals, options: dict[str, Any], output: Path | None, program: Program | None) -> int:
    # What the program says has the terminal to itself.
    with progress("" if program else "looking at it"):
        report = in_thread(lambda: _look(options, signals.stop, program), signals)
    if program:
        end_with(program, signals.answered())
    # In a thread as well: a second ctrl-c ends it, should no one read.
    in_thread(lambda: write_output(report, output, force=options["force"]), signals)
    return program.wait(signals) if program else 0


def _named(tid: int) -> TaskName:
    """The task that is asked for. A number that no task has is bad usage, as it is where --tid takes it."""
    require_host_numbers()
    try:
        return identify(tid)
    except NoSuchTask as error:
        raise click.UsageError(f"TID: {error}") from error


def _look(options: dict[str, Any], stop: threading.Event, program: Program | None = None) -> str:
    """The report as text."""
    name = _named(program.pid if program else options["tid"])
    whole = options["whole_process"]
    if whole is None:
        whole = name.tid == name.tgid
    threshold = options["threshold"] if options["slow_waits"] else None
    duration = duration_ns(options)
    task_options = {
        "source": options["source"],
        "column_ns": options["interval"],
        "held": program.words if program else (),
    }
    interval = min(duration, NS_PER_S)
    try:
        with (
            SlowWaits(name.tgid, 0 if whole else name.tid, threshold, options["source"]) as waits,
            LiveTaskSource(name.tid, whole, interval, **task_options) as source,
        ):
            waits.begin()
            if program:
                if stop.is_set():
                    raise SourceError("it was interrupted before the program began")
                program.go(stop)
            task = source.look(duration, stop)
    except SourceError as error:
        raise (ended_before(name) if has_gone(name) else error) from error
    task = waits.added_to(task)
    early = "it was interrupted" if stop.is_set() and not task.ended else ""
    writers = {"json": to_json, "text": to_text}
    return writers[options["format_name"]](task, source.host, threshold, early)
