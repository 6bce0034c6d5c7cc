"""`schedtop path`: its options, arguments and help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.cli.options import output_options
from schedtop.cli.types import Duration, Number, Size

if TYPE_CHECKING:
    from schedtop.run.signals import Signals


@click.command("path")
@click.option("--pid", type=Number(least=1), multiple=True, metavar="N",
              help="Only threads of this process (repeatable, as the next two).")  # fmt: skip
@click.option("--tid", type=Number(least=1), multiple=True, metavar="N", help="Only this thread.")
@click.option("--comm", multiple=True, metavar="TEXT", help="Only threads with this in their name.")
@click.option("--cgroup", metavar="PATH", help="Only threads in this cgroup and below: a path, a unit, a container.")
@click.option("--duration", type=Duration(NS_PER_S // 10, 60 * NS_PER_S), default=5 * NS_PER_S, metavar="TIME",
              help="How long to record, 0.1s to 60s; ctrl-c ends it earlier.  [default: 5s]")  # fmt: skip
@click.option("--min", "min_ns", type=Duration(0, 60 * NS_PER_S), default=NS_PER_MS, metavar="TIME",
              help="Leave out shorter episodes.  [default: 1ms]")  # fmt: skip
@click.option("--format", "format_name", type=click.Choice(["text", "json", "folded", "svg"]), default="text",
              help="svg: a flame graph; folded: for flamegraph.pl, in microseconds.  [default: text]")  # fmt: skip
@click.option("--buffer", type=Size(4 << 10, 1 << 30), default="64MiB", metavar="SIZE",
              help="Kernel memory for events, of all CPUs, 4KiB to 1GiB.  [default: 64MiB]")  # fmt: skip
@click.option("--interrupts", is_flag=True,
              help="Name the interrupts that wake tasks; that makes each of them a little slower.")  # fmt: skip
@output_options
@click.option("--source", type=click.Choice(["auto", "btf", "tracepoint"]), default="auto",
              help="How to see the kernel's events.  [default: auto]")  # fmt: skip
@click.option("--no-renice", is_flag=True,
              help="Leave the priority alone; as root it is raised, or a saturated host loses events.")  # fmt: skip
@click.pass_obj
def path(signals: Signals, /, **options: Any) -> int:
    """Why tasks were late, across tasks: back from each wakeup to what woke, and on from there.

    Records every switch and wakeup of the host for a while. The time in which a task did not run is then told by what
    the task did that it waited for: ran, was queued behind others, was throttled, or was blocked itself.
    """
    from schedtop.commands.path import run  # late: --help and completion need only what stands above

    return run(signals, options)
