"""`schedtop replay`: its options, arguments and help."""

from __future__ import annotations

from typing import Any

import click

from schedtop.cli.options import appearance_options, condition_option, config_option
from schedtop.cli.types import Moment, Number, Speed
from schedtop.commands.grouping import GROUP_NAMES


@click.command("replay")
@click.argument("file")
@click.option("--speed", type=Speed(), default=1.0, metavar="N",
              help="Playback speed, 0.1 to 1000.  [default: 1]")  # fmt: skip
@click.option("--from", "place", type=Moment(), metavar="TIME",
              help="Begin there: 90s or 2m from the beginning, 14:03:10, or a date and time.")  # fmt: skip
@click.option("--export-dir", default=".", metavar="DIR", help="Where keys write files.  [default: .]")
@click.option("--comm", multiple=True, metavar="TEXT", help="Show only tasks with this in their name.")
@click.option("--cpu", type=Number(), multiple=True, metavar="N", help="Show only this CPU.")
@click.option("--group", type=click.Choice(GROUP_NAMES), help="Group tasks.")
@config_option
@appearance_options
@condition_option
@click.pass_context
def replay(context: click.Context, /, file: str, **options: Any) -> int:
    """Shows a recording in the dashboard. Needs no root, only the file."""
    from schedtop.commands.replay import run  # late: --help and completion need only what stands above

    return run(context, file, options)
