"""`schedtop advise`: which quota would have been enough for the cgroups that are throttled."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any

import click

from schedtop.base.units import NS_PER_S, plural, printable
from schedtop.commands.output import checked_output, write_output
from schedtop.commands.recorded import open_recording
from schedtop.model.host import Host
from schedtop.model.source import Source, SourceError
from schedtop.outputs.quota.document import to_json
from schedtop.outputs.quota.text import nothing_words, to_text
from schedtop.quota.findings import Findings, Study
from schedtop.run.errors import complain
from schedtop.run.garbage import set_aside
from schedtop.run.headless import interval_of
from schedtop.run.memory import bounded
from schedtop.run.opening import make_source, opening_words
from schedtop.run.progress import progress
from schedtop.run.signals import Signals
from schedtop.run.threads import in_thread
from schedtop.sources.scope import Scope

DURATION_NS = 30 * NS_PER_S
"""Three hundred periods of the usual length."""

FORMATS = {"text": to_text, "json": to_json}


def run(signals: Signals, recording: Path | None, options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    if recording is not None and options["duration"] is not None:
        raise click.UsageError("--duration is for the live kernel: a recording is as long as it is")
    output = checked_output(options)
    status = 0
    if recording is not None:
        with signals.raising(), progress(f"reading {recording.name}"), bounded(recording):
            findings = _recorded(recording, options["cgroup"])
    else:
        findings = _live(signals, options)
        status = signals.answered()
    with signals.raising():
        if nothing := nothing_words(findings):
            complain(nothing)
        write_output(FORMATS[options["format_name"]](findings), output, force=options["force"])
    # A user that ends it early has what was asked for.
    return 0 if status == 128 + signal.SIGINT else status


def _recorded(path: Path, cgroup: str) -> Findings:
    study, unread = Study(cgroup), []
    with open_recording(path) as recording:
        for number in range(len(recording)):
            try:
                study.add(recording.frame(number))
            except SourceError as error:
                unread.append(str(error))
        if not study.interval_ns:
            raise SourceError(unread[0])
        within = f"{len(unread)} {plural(len(unread), 'interval is', 'intervals are')} damaged and left out"
        damage = "; ".join(filter(None, (recording.damage, within if unread else "")))
        return study.findings(recording.header.host, printable(path.name), damage)


def _live(signals: Signals, options: dict[str, Any]) -> Findings:
    duration_ns = options["duration"] or DURATION_NS
    name = options["source"]
    interval_ns = interval_of(duration_ns)
    source = make_source(name, interval_ns, options["threshold"], scope=Scope(), paced=False, say=complain)
    study = Study(options["cgroup"])
    opening = opening_words(name)
    host = in_thread(lambda: _collect(source, opening, duration_ns, study, signals.stop), signals)
    if not study.interval_ns:
        signals.check()
        raise SourceError("the source ended before it gave any data")
    return study.findings(host)


def _collect(source: Source, opening: str, duration_ns: int, study: Study, stop: threading.Event) -> Host:
    """Adds up Frames until they are as long, or the source ends, or `stop` is set."""
    with progress(opening):
        source.__enter__()
    try:
        set_aside()
        with progress("looking at quotas"):
            for frame in source.frames(stop):
                study.add(frame)
                if study.interval_ns + frame.interval_ns / 2 > duration_ns:
                    break
    finally:
        source.__exit__(None, None, None)
    return source.host
