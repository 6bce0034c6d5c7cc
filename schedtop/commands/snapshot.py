"""`schedtop snapshot`: one snapshot as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_S
from schedtop.commands.options import (
    Duration,
    Number,
    output_options,
    output_path,
    settings_of,
    source_of,
    source_options,
)

if TYPE_CHECKING:
    from schedtop.run.session import Signals

ALL_TASKS = -1
"""What `--tasks all` is: click takes `None` for an option that is not there."""


@click.command("snapshot")
@click.option("--duration", type=Duration(NS_PER_S // 10, 600 * NS_PER_S), default=3 * NS_PER_S, metavar="TIME",
              help="How long to collect, 0.1s to 10min.  [default: 3s]")  # fmt: skip
@click.option("--format", "format_name", type=click.Choice(["json", "text", "csv"]), default="json",
              help="What to write.  [default: json]")  # fmt: skip
@click.option("--tasks", type=Number({"all": ALL_TASKS}), default=50, metavar="N|all",
              help="How many tasks, by run delay.  [default: 50]")  # fmt: skip
@output_options
@source_options
@click.pass_obj
def snapshot(signals: Signals, /, **options: Any) -> int:
    """Collects for a while and writes one snapshot as data."""
    from schedtop.run.headless import interval_of, take_snapshot
    from schedtop.run.session import opening_words, raise_priority

    if not options["no_renice"]:
        raise_priority()
    take_snapshot(
        signals,
        source=source_of(options, interval_of(options["duration"]), paced=False),
        opening=opening_words(options["source"]),
        duration_ns=options["duration"],
        settings=settings_of(options, window_ns=options["duration"]),
        format_name=options["format_name"],
        tasks=None if options["tasks"] == ALL_TASKS else options["tasks"],
        output=output_path(options),
        force=options["force"],
    )
    return 0
