"""`schedtop report`: its options, arguments and help."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedtop.cli.options import output_options
from schedtop.cli.types import Moment, Number

if TYPE_CHECKING:
    from schedtop.run.signals import Signals


TABLES = ("series", "tasks", "waits", "interrupts", "activity", "hosts", "services")


@click.command("report")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--format", "format_name", type=click.Choice(["text", "json", "csv", "html"]), default="text",
              help="What to write.  [default: text]")  # fmt: skip
@click.option("--table", type=click.Choice(TABLES), default=None,
              help="With csv: which table.  [default: series; of a snapshot tasks, of several hosts]")  # fmt: skip
@click.option("--from", "begin", type=Moment(), metavar="T",
              help="Begin there: 90s or 2m (from the beginning), 14:03:10, or a full time.")  # fmt: skip
@click.option("--to", "end", type=Moment(), metavar="T", help="End there.")
@click.option("--top", type=Number(least=1), metavar="N", help="How many rows of a table: the worst.")
@click.option("--cpu", type=Number(), multiple=True, metavar="N", help="Only this CPU (repeatable).")
@click.option("--comm", multiple=True, metavar="TEXT", help="Only tasks with this in their name (repeatable).")
@output_options
@click.pass_obj
def report(signals: Signals, /, files: tuple[Path, ...], **options: Any) -> int:
    """Reports what happened in a recording, or in several.

    Several are reported together, by host. FILE may also be a snapshot as JSON, or a directory with recordings. Needs
    no root.
    """
    from schedtop.commands.report import run  # late: --help and completion need only what stands above

    return run(signals, files, options)
