"""`schedtop task`: its options, arguments and help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_MS, NS_PER_S, NS_PER_US
from schedtop.cli.options import measuring_options, output_options
from schedtop.cli.program import RunsProgram, program_argument
from schedtop.cli.types import Duration, Number

if TYPE_CHECKING:
    from schedtop.run.signals import Signals


@click.command("task", cls=RunsProgram)
@click.argument("tid", type=Number(least=1), metavar="[TID]", required=False)
@program_argument
@click.option("--process/--thread", "whole_process", default=None,
              help="All threads of its process, or this alone.  [default: all, if TID is a process's]")  # fmt: skip
@click.option("--cgroup", metavar="PATH",
              help="Instead of a task: what the weight of a cgroup entitles it to, and what it got.")  # fmt: skip
@click.option("--duration", type=Duration(NS_PER_S // 10, 3600 * NS_PER_S), metavar="TIME",
              help="How long to look, 0.1s to 1h.  [default: 5s, a COMMAND 1h]")  # fmt: skip
@click.option("--interval", type=Duration(10 * NS_PER_MS, 10 * NS_PER_S), default=100 * NS_PER_MS, metavar="TIME",
              help="How much time a piece of the strip of states has, 10ms to 10s.  [default: 100ms]")  # fmt: skip
@click.option("--threshold", type=Duration(NS_PER_US, NS_PER_S, bare=False), default=NS_PER_MS, metavar="TIME",
              help="List waits of at least this long, and what held the CPU, 1us to 1s.  [default: 1ms]")  # fmt: skip
@click.option("--slow-waits/--no-slow-waits", default=True,
              help="Look for slow waits; that watches all tasks of the host meanwhile.  [default: yes]")  # fmt: skip
@click.option("--format", "format_name", type=click.Choice(["text", "json"]), default="text",
              help="What to write.  [default: text]")  # fmt: skip
@output_options
@measuring_options
@click.pass_obj
def task(signals: Signals, /, **options: Any) -> int:
    """Looks at one task closely for a while.

    States over time, waits and wakers, CPUs, system calls, page faults, reads and writes, network. TID is a thread's
    number, or a process's: then all its threads are looked at, also those that it starts meanwhile. Ctrl-C ends it
    early and writes what there is. A COMMAND is started and looked at from its first instruction to its end; its exit
    status is ours. Of a cgroup it tells its share of the CPUs alone.
    """
    from schedtop.commands.task.command import run  # late: --help and completion need only what stands above

    return run(signals, options)
