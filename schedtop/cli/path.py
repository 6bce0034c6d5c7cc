"""`schedtop path`: its options, arguments and help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.cli.options import buffer_option, flame_format_option, output_options, recording_options, thread_options
from schedtop.cli.types import Duration

if TYPE_CHECKING:
    from schedtop.run.signals import Signals


@click.command("path")
@thread_options
@click.option("--duration", type=Duration(NS_PER_S // 10, 60 * NS_PER_S), default=5 * NS_PER_S, metavar="TIME",
              help="How long to record, 0.1s to 60s; ctrl-c ends it earlier.  [default: 5s]")  # fmt: skip
@click.option("--min", "min_ns", type=Duration(0, 60 * NS_PER_S), default=NS_PER_MS, metavar="TIME",
              help="Leave out shorter episodes.  [default: 1ms]")  # fmt: skip
@flame_format_option
@buffer_option
@click.option("--interrupts", is_flag=True,
              help="Name the interrupts that wake tasks; that makes each of them a little slower.")  # fmt: skip
@output_options
@recording_options
@click.pass_obj
def path(signals: Signals, /, **options: Any) -> int:
    """Says why tasks were late, across locks, pipes and other tasks.

    Walks back from each wakeup to the task that woke, and on from there. Records every switch and wakeup of the host
    for a while. It explains the time in which a task did not run by what the task that it waited for did: it ran, was
    queued behind others, was throttled, or was blocked itself.
    """
    from schedtop.commands.path import run  # late: --help and completion need only what stands above

    return run(signals, options)
