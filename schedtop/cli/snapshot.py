"""`schedtop snapshot`: its options, arguments and help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_S
from schedtop.cli.options import only_option, output_options, replay_option, source_options
from schedtop.cli.types import Duration, Number

if TYPE_CHECKING:
    from schedtop.run.signals import Signals

ALL_TASKS = -1
"""What `--tasks all` is: click takes `None` for an option that is not there."""


@click.command("snapshot")
@click.option("--duration", type=Duration(NS_PER_S // 10, 600 * NS_PER_S), metavar="TIME",
              help="How long to collect, 0.1s to 10min.  [default: 3s]")  # fmt: skip
@click.option("--interval", type=Duration(NS_PER_S // 10, 600 * NS_PER_S), metavar="TIME",
              help="Write one each TIME, 0.1s to 10min, until you stop it; as JSON a line each.")  # fmt: skip
@click.option("--count", type=Number(least=1), metavar="N", help="With --interval: end after N of them.")
@replay_option
@click.option("--format", "format_name", type=click.Choice(["json", "text", "csv"]), default="json",
              help="What to write.  [default: json]")  # fmt: skip
@click.option("--tasks", type=Number({"all": ALL_TASKS}), default=50, metavar="N|all",
              help="How many tasks, by run delay.  [default: 50]")  # fmt: skip
@click.option("--plot", is_flag=True, help="With text: charts over the time collected.")
@output_options
@only_option
@source_options
@click.pass_obj
def snapshot(signals: Signals, /, **options: Any) -> int:
    """Collects for a few seconds and writes one snapshot."""
    from schedtop.commands.snapshot import run  # late: --help and completion need only what stands above

    tasks = None if options["tasks"] == ALL_TASKS else options["tasks"]
    return run(signals, {**options, "tasks": tasks})
