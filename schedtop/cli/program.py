"""Commands that may start a program of the user and measure it: `schedtop offcpu -- COMMAND`."""

from __future__ import annotations

import click
from click.core import ParameterSource

MARK = "--"
"""What stands before the program."""

GIVEN = "schedtop.program"
"""In `Context.meta`: a program follows."""


class RunsProgram(click.Command):
    """Takes the words behind `--` as they are: a program and its arguments, as `program` (empty: none was given).

    click alone cannot tell a TID from a program's name: to it `--` only ends the options.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own, program = _divided(args)
        rest = super().parse_args(ctx, own)
        if ctx.params.get("program") and not ctx.resilient_parsing:
            ctx.fail(f"Got unexpected extra argument ({' '.join(ctx.params['program'])}); a program stands behind --")
        ctx.params["program"] = tuple(program or ())
        if program is not None:
            ctx.meta[GIVEN] = True
            # What comes next is the program's: completion must not offer another argument of ours.
            for param in self.params:
                if isinstance(param, click.Argument) and param.name and param.name != "program":
                    ctx.set_parameter_source(param.name, ParameterSource.COMMANDLINE)
            if not program and not ctx.resilient_parsing:
                ctx.fail("there is no program behind --")
        return rest


program_argument = click.argument("program", nargs=-1, metavar="[-- COMMAND [ARGUMENT]...]", type=click.UNPROCESSED)
"""What is started and measured, for a command of the class `RunsProgram`."""


def _divided(args: list[str]) -> tuple[list[str], list[str] | None]:
    """The words before the mark and those behind it; `None`: there is no mark."""
    if MARK not in args:
        return args, None
    place = args.index(MARK)
    return args[:place], args[place + 1 :]
