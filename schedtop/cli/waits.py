"""`schedtop waits`: its options, arguments and help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.cli.options import replay_option, source_options
from schedtop.cli.types import Duration, Number

if TYPE_CHECKING:
    from schedtop.run.signals import Signals


@click.command("waits")
@click.option("--format", "format_name", type=click.Choice(["text", "json"]), default="text",
              help="json: an object a line.  [default: text]")  # fmt: skip
@click.option("--most", type=Number(least=1), default=1000, metavar="N",
              help="How many lines a second; of more waits the longest.  [default: 1000]")  # fmt: skip
@click.option("--interval", type=Duration(NS_PER_S // 10, 60 * NS_PER_S), default=500 * NS_PER_MS, metavar="TIME",
              help="How often the kernel is asked for them, 0.1s to 60s.  [default: 0.5s]")  # fmt: skip
@replay_option
@source_options
@click.pass_obj
def waits(signals: Signals, /, **options: Any) -> int:
    """Writes slow waits as they happen.

    A line each, with cause, preemptor, waker and blockers. It runs until you stop it; the status is then 0.
    """
    from schedtop.commands.waits import run  # late: --help and completion need only what stands above

    return run(signals, options)


# A line is of one wait: there is nothing to group.
waits.params = [param for param in waits.params if param.name != "group"]
