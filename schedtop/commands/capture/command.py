"""`schedtop capture`: every switch, wakeup and migration of a short time, as a trace."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any

import click

from schedtop.commands.capture.files import describe, take_capture
from schedtop.commands.capture.writer import write_capture
from schedtop.outputs.capture.files import default_name, trace_paths
from schedtop.outputs.files import check_target
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
    with progress("capturing"):
        taken = in_thread(
            lambda: take_capture(options["source"], options["buffer"], options["duration"], signals.stop), signals
        )
    with signals.raising(), progress("writing the trace"):
        written = write_capture(taken, paths, force=options["force"])
    for line in describe(taken, written):
        complain(line)
    return 0
