"""`schedtop convert`: its options, arguments and help."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedtop.cli.types import Words

if TYPE_CHECKING:
    from schedtop.run.signals import Signals

TABLES = ("intervals", "cpus", "latency", "tasks", "waits", "pairs", "throttling")
"""`outputs.convert.columns.TABLES`; its module would bring numpy with it."""

PARTITIONS = ("host", "date", "kernel", "boot_id")


@click.command("convert")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, metavar="DIR",
              help="The directory of the tables, made if need be; with --table of one recording a file.")  # fmt: skip
@click.option("--table", type=click.Choice(TABLES), default=None, help="Only this table.  [default: all]")
@click.option("--partition", type=Words(PARTITIONS), default=(), metavar="KEYS",
              help="Lay files into directories, as Hive does: host,date (UTC), kernel, boot_id.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite files of the same recording.")
@click.pass_obj
def convert(signals: Signals, /, files: tuple[Path, ...], **options: Any) -> int:
    """Makes Parquet tables of recordings, for SQL.

    A row for each task, slow wait, CPU and interval, with its host and boot. Needs no root.
    """
    from schedtop.commands.convert import run  # late: --help and completion need only what stands above

    return run(signals, files, options)
