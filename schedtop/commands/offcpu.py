"""`schedtop offcpu`: what threads do while they have no CPU, by their stacks."""

from __future__ import annotations

import signal
from typing import Any

import click

from schedtop.base.units import printable
from schedtop.commands.output import checked_output, write_output
from schedtop.offcpu.measurement import OffCpu, Wakers
from schedtop.outputs.offcpu.asked import Asked
from schedtop.outputs.offcpu.formats import FORMATS
from schedtop.run.progress import progress
from schedtop.run.signals import Signals
from schedtop.run.threads import in_thread
from schedtop.sources.kernel.constants import OFFCPU
from schedtop.sources.offcpu.source import LiveOffCpu
from schedtop.sources.scope import find_scope


def run(signals: Signals, options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    output = checked_output(options)
    source = _source_of(options)
    with progress("measuring"):
        taken = in_thread(lambda: _take(source, options["duration"], signals), signals)
    status = signals.answered()
    if not taken.rows and not taken.below_count:
        click.echo(f"schedtop: no thread matched: {printable(taken.host.scope or 'all threads')}", err=True)
    with signals.raising():
        data = FORMATS[options["format_name"]](taken, _asked(options))
        write_output(data, output, force=options["force"])
    # A user that ends it early has what was asked for.
    return 0 if status == 128 + signal.SIGINT else status


def _asked(options: dict[str, Any]) -> Asked:

    return Asked(options["state"], options["top"], options["idle"])


def _take(source: LiveOffCpu, duration_ns: int, signals: Signals) -> OffCpu:
    with source:
        signals.check()  # nothing was measured yet
        return source.take(duration_ns, signals.stop)


def _source_of(options: dict[str, Any]) -> LiveOffCpu:

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
