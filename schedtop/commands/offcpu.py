"""`schedtop offcpu`: what threads do while they have no CPU, by their stacks."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_S, printable
from schedtop.commands.options import Duration, Number, output_options, output_path

if TYPE_CHECKING:
    from schedtop.offcpu.measurement import OffCpu
    from schedtop.outputs.offcpu.measurement import Asked
    from schedtop.run.session import Signals
    from schedtop.sources.offcpu.source import LiveOffCpu


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
    from schedtop.outputs.files import check_target, write_file
    from schedtop.outputs.offcpu.measurement import FORMATS
    from schedtop.run.headless import write_stdout
    from schedtop.run.session import in_thread, progress, raise_priority

    output = output_path(options)
    if output:
        check_target(output, force=options["force"])
    source = _source_of(options)
    if not options["no_renice"]:
        raise_priority()
    with progress("measuring"):
        taken = in_thread(lambda: _take(source, options["duration"], signals), signals)
    status = signals.answered()
    if not taken.rows and not taken.below_count:
        click.echo(f"schedtop: no thread matched: {printable(taken.host.scope or 'all threads')}", err=True)
    with signals.raising():
        data = FORMATS[options["format_name"]](taken, _asked(options))
        if output:
            write_file(output, data, force=options["force"])
        else:
            write_stdout(data)
    # Who ends it early has what was asked for.
    return 0 if status == 128 + signal.SIGINT else status


def _asked(options: dict[str, Any]) -> Asked:
    from schedtop.outputs.offcpu.measurement import Asked

    return Asked(options["state"], options["top"], options["idle"])


def _take(source: LiveOffCpu, duration_ns: int, signals: Signals) -> OffCpu:
    with source:
        signals.check()  # nothing was measured yet
        return source.take(duration_ns, signals.stop)


def _source_of(options: dict[str, Any]) -> LiveOffCpu:
    from schedtop.offcpu.measurement import Wakers
    from schedtop.sources.kernel.constants import OFFCPU
    from schedtop.sources.offcpu.source import LiveOffCpu
    from schedtop.sources.scope import find_scope

    for name in ("pid", "tid"):
        if len(options[name]) > OFFCPU.WANTED_IDS:
            raise click.UsageError(f"--{name} can be given at most {OFFCPU.WANTED_IDS} times here")
    if not all(comm.strip() for comm in options["comm"]):
        raise click.BadParameter("the name is empty", param_hint="'--comm'")
    try:
        scope = find_scope(options["pid"], options["tid"], options["comm"], options["cgroup"], None)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    wakers = Wakers.STACKS if options["waker"] else Wakers.INTERRUPTS
    return LiveOffCpu(scope, min_ns=options["min_ns"], wakers=wakers, source=options["source"])
