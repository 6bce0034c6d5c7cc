"""`schedtop offcpu`: what threads do while they have no CPU, by their stacks."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from schedtop.base.units import printable
from schedtop.commands.output import checked_output, write_output
from schedtop.commands.program import duration_ns, end_with, refuse_beside, with_program
from schedtop.offcpu.measurement import OffCpu, Wakers
from schedtop.outputs.offcpu.asked import Asked
from schedtop.outputs.offcpu.formats import FORMATS
from schedtop.run.program import Program
from schedtop.run.progress import progress
from schedtop.run.signals import Signals
from schedtop.run.threads import in_thread
from schedtop.sources.kernel.constants import OFFCPU
from schedtop.sources.offcpu.source import LiveOffCpu
from schedtop.sources.scope import find_scope


def run(signals: Signals, options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    refuse_beside(options, "pid", "tid", "cgroup")
    output = checked_output(options)
    return with_program(signals, options, lambda program: _measure(signals, options, output, program))


def _measure(signals: Signals, options: dict[str, Any], output: Path | None, program: Program | None) -> int:
    source = _source_of(options, program)
    # What the program says has the terminal to itself.
    with progress("" if program else "measuring"):
        taken = in_thread(lambda: _take(source, duration_ns(options), signals, program), signals)
    status = signals.answered()
    if program:
        end_with(program, status)
        taken = replace(taken, notes=(_told(program), *taken.notes))
    elif not taken.rows and not taken.below_count:
        click.echo(f"schedtop: no thread matched: {printable(taken.host.scope or 'all threads')}", err=True)
    with signals.raising():
        data = FORMATS[options["format_name"]](taken, _asked(options))
        write_output(data, output, force=options["force"])
    if program:
        return program.wait(signals)
    # A user that ends it early has what was asked for.
    return 0 if status == 128 + signal.SIGINT else status


def _told(program: Program) -> str:
    """What was started, and how far it was measured."""
    until = "to its end" if program.ended else "on; it had not ended"
    return f"process {program.pid} is {program.name}, from its first instruction {until}"


def _asked(options: dict[str, Any]) -> Asked:
    return Asked(options["state"], options["top"], options["idle"])


def _take(source: LiveOffCpu, duration_ns: int, signals: Signals, program: Program | None) -> OffCpu:
    with source:
        signals.check()  # nothing was measured yet
        if program:
            program.go(signals.stop)
        return source.take(duration_ns, signals.stop, lambda: program is not None and program.ended)


def _source_of(options: dict[str, Any], program: Program | None) -> LiveOffCpu:
    for name in ("pid", "tid"):
        if len(options[name]) > OFFCPU.WANTED_IDS:
            raise click.UsageError(f"--{name} can be given at most {OFFCPU.WANTED_IDS} times here")
    if not all(comm.strip() for comm in options["comm"]):
        raise click.BadParameter("the name is empty", param_hint="'--comm'")
    pids = (program.pid,) if program else options["pid"]
    try:
        scope = find_scope(pids, options["tid"], options["comm"], options["cgroup"], None)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    wakers = Wakers.STACKS if options["waker"] else Wakers.INTERRUPTS
    return LiveOffCpu(
        scope, min_ns=options["min_ns"], wakers=wakers, source=options["source"], held=program is not None
    )
