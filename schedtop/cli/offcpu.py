"""`schedtop offcpu`: its options, arguments and help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_S
from schedtop.cli.options import output_options
from schedtop.cli.types import Duration, Number

if TYPE_CHECKING:
    from schedtop.run.signals import Signals


@click.command("offcpu")
@click.option("--pid", type=Number(least=1), multiple=True, metavar="N",
              help="Only threads of this process (repeatable, as the next two).")  # fmt: skip
@click.option("--tid", type=Number(least=1), multiple=True, metavar="N", help="Only this thread.")
@click.option("--comm", multiple=True, metavar="TEXT", help="Only threads with this in their name.")
@click.option("--cgroup", metavar="PATH", help="Only threads in this cgroup and below: a path, a unit, a container.")
@click.option("--duration", type=Duration(NS_PER_S // 10, 3600 * NS_PER_S), default=5 * NS_PER_S, metavar="TIME",
              help="How long to measure, 0.1s to 1h; ctrl-c ends it earlier.  [default: 5s]")  # fmt: skip
@click.option("--min", "min_ns", type=Duration(0, 3600 * NS_PER_S), default=0, metavar="TIME",
              help="Leave out shorter waits; they are counted.  [default: 0, every wait]")  # fmt: skip
@click.option("--state", type=click.Choice(["all", "blocked", "runnable", "sleeping", "uninterruptible"]),
              default="all", help="Show only this state.  [default: all]")  # fmt: skip
@click.option("--idle", is_flag=True, help="Show also threads that only waited for work; of chosen ones all are shown.")
@click.option("--waker", is_flag=True, help="Tell who woke, with its stacks.")
@click.option("--format", "format_name", type=click.Choice(["text", "json", "folded", "svg"]), default="text",
              help="svg: a flame graph; folded: for flamegraph.pl, in microseconds.  [default: text]")  # fmt: skip
@click.option("--top", type=Number({"all": 0}, least=1), metavar="N|all",
              help="How many threads and stacks in text, stacks in json.  [default: 10 and 1000]")  # fmt: skip
@output_options
@click.option("--source", type=click.Choice(["auto", "btf", "tracepoint"]), default="auto",
              help="How to see the kernel's events.  [default: auto]")  # fmt: skip
@click.option("--no-renice", is_flag=True, help="Leave the priority alone; as root it is raised.")
@click.pass_obj
def offcpu(signals: Signals, /, **options: Any) -> int:
    """What threads do while they have no CPU.

    Time without a CPU is split into runnable (run delay) and blocked, by the stacks with which threads left their CPU.
    """
    from schedtop.commands.offcpu import run  # late: --help and completion need only what stands above

    return run(signals, options)
