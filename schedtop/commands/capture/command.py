"""`schedtop capture`: every switch, wakeup and migration of a short time, as a trace."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from schedtop.base.units import NS_PER_MS, plural
from schedtop.capture.events import Capture
from schedtop.commands.capture.files import describe, take_capture
from schedtop.commands.capture.writer import write_capture
from schedtop.outputs.capture.files import default_name, trace_paths
from schedtop.outputs.capture.tracks import Track, path_tracks
from schedtop.outputs.files import check_target
from schedtop.path.paths import find_paths
from schedtop.path.targets import Targets
from schedtop.run.errors import complain
from schedtop.run.progress import progress
from schedtop.run.signals import Signals
from schedtop.run.threads import in_thread


def run(signals: Signals, options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""

    output = Path(options["output"] or default_name(socket.gethostname(), time.time_ns()))
    if options["output"] in ("", "-"):
        raise click.BadParameter("a capture is written to files, and needs a name for them", param_hint="'--output'")
    try:
        paths = trace_paths(output, options["format_name"])
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--format'") from error
    for path in paths.values():
        check_target(path, force=options["force"])
    if options["interrupts"] and not options["path"]:
        raise click.BadParameter("they are part of paths: --path says of which tasks", param_hint="'--interrupts'")
    take = partial(
        take_capture, options["source"], options["buffer"], options["duration"], signals.stop,
        NS_PER_MS if options["path"] else None, options["interrupts"],
    )  # fmt: skip
    with progress("capturing"):
        taken = in_thread(take, signals)
    with signals.raising(), progress("writing the trace"):
        tracks = _tracks(taken, options["path"])
        written = write_capture(taken, paths, tracks, force=options["force"])
    for line in describe(taken, written):
        complain(line)
    if options["path"]:
        complain(f"{len(tracks)} {plural(len(tracks), 'track')} of paths, of tasks that were late by 1 ms and more")
    return 0


def _tracks(taken: Capture, wanted: Sequence[str]) -> tuple[Track, ...]:
    """The paths of the tasks with such names, or of those with such numbers."""
    if not wanted:
        return ()
    tids = [int(text) for text in wanted if text.isdecimal()]
    asked = [Targets(tids=tuple(tids))] if tids else []
    asked += [Targets(comms=(text,)) for text in wanted if not text.isdecimal()]
    tracks = [track for targets in asked for track in path_tracks(find_paths(taken, targets, NS_PER_MS))]
    return tuple({track.tid: track for track in tracks}.values())
