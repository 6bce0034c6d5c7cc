"""`schedtop capture`: every switch, wakeup and migration of a short time, as a trace."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_S
from schedtop.commands.options import Duration, Size

if TYPE_CHECKING:
    from schedtop.run.session import Signals


@click.command("capture")
@click.option("--duration", type=Duration(NS_PER_S // 10, 60 * NS_PER_S), default=2 * NS_PER_S, metavar="TIME",
              help="How long to capture, 0.1s to 60s.  [default: 2s]")  # fmt: skip
@click.option("-o", "--output", metavar="NAME",
              help="Where to write; endings are added.  [default: schedtop-HOST-TIME-trace]")  # fmt: skip
@click.option("--format", "format_name", type=click.Choice(["perfetto", "chrome", "both"]),
              help="What to write.  [default: by the ending of NAME, without one: both]")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite what is there.")
@click.option("--buffer", type=Size(4 << 10, 1 << 30), default="64MiB", metavar="SIZE",
              help="Kernel memory for events, of all CPUs, 4KiB to 1GiB.  [default: 64MiB]")  # fmt: skip
@click.option("--source", type=click.Choice(["auto", "btf", "tracepoint"]), default="auto",
              help="How to see the kernel's events.  [default: auto]")  # fmt: skip
@click.option("--no-renice", is_flag=True,
              help="Leave the priority alone; as root it is raised, or a saturated host loses events.")  # fmt: skip
@click.pass_obj
def capture(signals: Signals, /, **options: Any) -> int:
    """Captures every switch, wakeup and migration for a while.

    Writes a trace for ui.perfetto.dev (NAME.perfetto-trace) and one in Chrome's JSON (NAME.json): tracks of CPUs,
    states of tasks, and arrows from wakers. What was lost is counted in them.
    """
    from schedtop.commands.capture.files import describe, take_capture
    from schedtop.commands.capture.writer import write_capture
    from schedtop.outputs.capture.files import default_name, trace_paths
    from schedtop.outputs.files import check_target
    from schedtop.run.session import complain, in_thread, progress, raise_priority

    output = Path(options["output"] or default_name(socket.gethostname(), time.time_ns()))
    if options["output"] in ("", "-"):
        raise click.BadParameter("a capture is written to files, and needs a name for them", param_hint="'--output'")
    try:
        paths = trace_paths(output, options["format_name"])
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--format'") from error
    for path in paths.values():
        check_target(path, force=options["force"])
    if not options["no_renice"]:
        raise_priority()
    with progress("capturing"):
        taken = in_thread(
            lambda: take_capture(options["source"], options["buffer"], options["duration"], signals.stop), signals
        )
    with signals.raising(), progress("writing the trace"):
        written = write_capture(taken, paths, force=options["force"])
    for line in describe(taken, written):
        complain(line)
    return 0
