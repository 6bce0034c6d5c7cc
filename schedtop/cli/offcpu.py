"""`schedtop offcpu`: its options, arguments and help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_S
from schedtop.cli.options import flame_format_option, measuring_options, output_options, thread_options
from schedtop.cli.program import RunsProgram, program_argument
from schedtop.cli.types import Duration, Number

if TYPE_CHECKING:
    from schedtop.run.signals import Signals


@click.command("offcpu", cls=RunsProgram)
@program_argument
@thread_options
@click.option("--duration", type=Duration(NS_PER_S // 10, 3600 * NS_PER_S), metavar="TIME",
              help="How long to measure, 0.1s to 1h; ctrl-c ends it earlier.  [default: 5s, a COMMAND 1h]")  # fmt: skip
@click.option("--min", "min_ns", type=Duration(0, 3600 * NS_PER_S), default=0, metavar="TIME",
              help="Leave out shorter waits; they are counted.  [default: 0, every wait]")  # fmt: skip
@click.option("--state", type=click.Choice(["all", "blocked", "runnable", "sleeping", "uninterruptible"]),
              default="all", help="Show only this state.  [default: all]")  # fmt: skip
@click.option("--idle", is_flag=True, help="Show also threads that only waited for work; of chosen ones all are shown.")
@click.option("--waker", is_flag=True, help="Tell what woke each thread, with its stacks.")
@flame_format_option
@click.option("--top", type=Number({"all": 0}, least=1), metavar="N|all",
              help="How many threads and stacks in text, stacks in json.  [default: 10 and 1000]")  # fmt: skip
@output_options
@measuring_options
@click.pass_obj
def offcpu(signals: Signals, /, **options: Any) -> int:
    """Shows what threads do while they have no CPU.

    Time without a CPU is split into runnable (run delay) and blocked, by the stacks with which threads left their CPU.
    A COMMAND is started, measured from its first instruction to its end, and its exit status is ours.
    """
    from schedtop.commands.offcpu import run  # late: --help and completion need only what stands above

    return run(signals, options)
