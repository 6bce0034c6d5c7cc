"""Commands that start a program and measure it: what is said around it, and its exit status, which becomes ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from schedtop.base.units import NS_PER_S
from schedtop.run.errors import complain
from schedtop.run.program import CannotRun, Program
from schedtop.run.signals import Signals

USUAL_NS = 5 * NS_PER_S
LONGEST_NS = 3600 * NS_PER_S
"""How long is measured if nothing is said: of a program until it ends."""


def duration_ns(options: dict[str, Any]) -> int:
    """How long is measured."""
    return int(options["duration"] or (LONGEST_NS if options["program"] else USUAL_NS))


def refuse_beside(options: dict[str, Any], *names: str) -> None:
    """Raises UsageError where options that choose tasks stand beside a program, which is the task."""
    for name in names if options["program"] else ():
        if options[name]:
            raise click.UsageError(f"--{name} and a program behind -- are two things to measure: give one of them")


def with_program(signals: Signals, options: dict[str, Any], run: Callable[[Program | None], int]) -> int:
    """What `run` gives, which measures the program that the options name, if they do, and lets it go."""
    if not options["program"]:
        return run(None)
    try:
        with Program(options["program"]) as program:
            return run(program)
    except CannotRun as error:
        signals.check()  # it was ended with us, before it began
        complain(str(error))
        return error.status


def end_with(program: Program, status: int) -> None:
    """A signal (`status`: 128 and its number, 0: none) has ended the measurement: it is the program's as well."""
    if status:
        program.ask_to_end(status - 128)
