"""`schedtop diff`: its options, arguments and help."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedtop.cli.options import output_options
from schedtop.cli.sets import ComparesSets
from schedtop.cli.types import Number

if TYPE_CHECKING:
    from schedtop.run.signals import Signals


@click.command("diff", cls=ComparesSets)
@click.argument("files", metavar="BEFORE... AFTER...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--with", is_flag=True, help="Between two sets: what stands in front is BEFORE, what follows AFTER.")
@click.option("--format", "format_name", type=click.Choice(["text", "json"]), default="text",
              help="What to write.  [default: text]")  # fmt: skip
@click.option("--top", type=Number(least=1), default=12, metavar="N", help="How many rows of a table.  [default: 12]")
@output_options
@click.pass_obj
def diff(signals: Signals, /, before: tuple[Path, ...], after: tuple[Path, ...], **options: Any) -> int:
    """Compares two recordings, or two sets of them.

    The largest change comes first. BEFORE and AFTER may also be snapshots as JSON. A directory stands for the
    recordings in it. Needs no root.
    """
    from schedtop.commands.diff import run  # late: --help and completion need only what stands above

    return run(signals, before, after, options)
