"""`schedtop activity`: its options, arguments and help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from schedtop.activity import PARTS
from schedtop.base.units import NS_PER_S
from schedtop.cli.options import measuring_options, output_options, thread_options
from schedtop.cli.types import Duration, Number

if TYPE_CHECKING:
    from schedtop.run.signals import Signals

_GROUPS = ("process", "thread", "comm", "cgroup", "container")
"""`model.activity_rows.GROUPS`; its module would bring numpy with it."""


def _parts(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[str, ...]:
    """The parts that a list with commas names, in their own order; all, if there is none."""
    if value is None:
        return PARTS
    named = [part.strip() for part in value.split(",")]
    unknown = [part for part in named if part not in PARTS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(PARTS)}")
    return tuple(part for part in PARTS if part in named)


@click.command("activity")
@thread_options
@click.option("--duration", type=Duration(NS_PER_S // 10, 3600 * NS_PER_S), default=5 * NS_PER_S, metavar="TIME",
              help="How long to measure, 0.1s to 1h; ctrl-c ends it earlier.  [default: 5s]")  # fmt: skip
@click.option("--only", metavar="A,B", callback=_parts,
              help="Measure only these: syscalls, files, memory, network.  [default: all]")  # fmt: skip
@click.option("--by", type=click.Choice(_GROUPS), default="process",
              help="How to group threads.  [default: process]")  # fmt: skip
@click.option("--sort", metavar="COLUMN", default="",
              help="A field of the JSON rows, largest first.  [default: syscalls, or what is measured]")  # fmt: skip
@click.option("--top", type=Number({"all": 0}, least=1), metavar="N|all",
              help="How many rows.  [default: 20 in text, else all]")  # fmt: skip
@click.option("--format", "format_name", type=click.Choice(["text", "json", "csv"]), default="text",
              help="What to write.  [default: text]")  # fmt: skip
@output_options
@measuring_options
@click.pass_obj
def activity(signals: Signals, /, **options: Any) -> int:
    """Shows what all tasks do: system calls, files, memory, network.

    Counted in the kernel, by process or another group. Only what is asked for is attached.
    """
    from schedtop.commands.activity import run  # late: --help and completion need only what stands above

    return run(signals, options)
