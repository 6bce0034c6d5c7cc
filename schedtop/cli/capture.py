"""`schedtop capture`: its options, arguments and help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_S
from schedtop.cli.options import buffer_option, no_empty, recording_options
from schedtop.cli.types import Duration

if TYPE_CHECKING:
    from schedtop.run.signals import Signals


@click.command("capture")
@click.option("--duration", type=Duration(NS_PER_S // 10, 60 * NS_PER_S), default=2 * NS_PER_S, metavar="TIME",
              help="How long to capture, 0.1s to 60s.  [default: 2s]")  # fmt: skip
@click.option("-o", "--output", metavar="NAME",
              help="Where to write; endings are added.  [default: schedtop-HOST-TIME-trace]")  # fmt: skip
@click.option("--format", "format_name", type=click.Choice(["perfetto", "chrome", "both"]),
              help="What to write.  [default: by the ending of NAME, without one: both]")  # fmt: skip
@click.option("--path", multiple=True, metavar="TEXT", callback=no_empty,
              help="Add the path across tasks of tasks with this in their name, or this tid (repeatable).")  # fmt: skip
@click.option("--interrupts", is_flag=True,
              help="Name the interrupts in those paths; that makes each of them a little slower.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite what is there.")
@buffer_option
@recording_options
@click.pass_obj
def capture(signals: Signals, /, **options: Any) -> int:
    """Captures every switch, wakeup and migration for a while.

    Writes a trace for ui.perfetto.dev (NAME.perfetto-trace) and one in Chrome's JSON (NAME.json): tracks of CPUs,
    states of tasks, and arrows from wakers. Lost events are counted in them.
    """
    from schedtop.commands.capture.command import run  # late: --help and completion need only what stands above

    return run(signals, options)
