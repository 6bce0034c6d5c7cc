"""`schedtop report`: what happened in a recording, or in many, for a ticket or a post-mortem."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from schedtop.commands.evidence import Part, read_evidence
from schedtop.commands.output import checked_output, write_output
from schedtop.commands.together import gather, recordings_of
from schedtop.model.filters import Filter
from schedtop.model.source import SourceError
from schedtop.outputs.fleet import csv as fleet_csv
from schedtop.outputs.fleet import document as fleet_document
from schedtop.outputs.fleet import text as fleet_text
from schedtop.outputs.report.contents import to_json
from schedtop.outputs.report.csv import to_csv
from schedtop.outputs.report.text import to_text
from schedtop.outputs.saved import Wrong, damaged
from schedtop.run.memory import bounded
from schedtop.run.progress import progress
from schedtop.run.signals import Signals

DEFAULT_ROWS = {"text": 10, "html": 25}
"""How many rows a table for people has; the formats for programs have more."""

MANY_ROWS = 100


def run(signals: Signals, files: Sequence[Path], options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    if options["table"] and options["format_name"] != "csv":
        raise click.UsageError("--table is for --format csv")
    if not all(name.strip() for name in options["comm"]):
        raise click.BadParameter("the name is empty", param_hint="'--comm'")
    target = checked_output(options)
    top = DEFAULT_ROWS.get(options["format_name"], MANY_ROWS) if options["top"] is None else options["top"]
    paths = recordings_of(files)
    with signals.raising():
        complete = True
        if len(paths) == 1:
            written = _one(paths[0], options, top)
        else:
            written, complete = _many(paths, options, top)
        write_output(written, target, force=options["force"])
    return 0 if complete else 1


def _one(file: Path, options: dict[str, Any], top: int) -> str:
    with progress(f"reading {file.name}"), bounded(file):
        data = read_evidence(file, _chosen(options), Part(options["begin"], options["end"]), top=top)
        # A snapshot has nothing over time.
        table = options["table"] or ("series" if data["series"] else "tasks")
        if table in ("hosts", "services"):
            raise click.UsageError(f"--table {table} is for several recordings")
        if table == "series" and not data["series"]:
            raise SourceError(f"{file} is a snapshot, with nothing over time: --table tasks, waits or interrupts")
        try:
            return _written(data, options["format_name"], table, top)
        except Wrong as error:
            if data["recording"]:
                raise
            raise damaged(str(file), error) from error


def _many(paths: Sequence[Path], options: dict[str, Any], top: int) -> tuple[str, bool]:
    """What is written of several recordings, and whether all could be read."""
    table = options["table"] or "hosts"
    if table not in fleet_csv.TABLES:
        raise click.UsageError(
            f"--table {table} is for one recording: of several there are {', '.join(fleet_csv.TABLES)}"
        )
    together = gather(paths, _chosen(options), Part(options["begin"], options["end"]), top)
    data, name = fleet_document.fleet(together, top), options["format_name"]
    if name == "json":
        written = to_json(data)
    elif name == "csv":
        written = fleet_csv.to_csv(data, table)
    elif name == "html":
        # Late: it brings the templates, which the other formats need not wait for.
        from schedtop.outputs.fleet.html import to_html

        written = to_html(data, top)
    else:
        written = fleet_text.to_text(data, top)
    return written, not together.left_out


def _chosen(options: dict[str, Any]) -> Filter:
    return Filter(comms=options["comm"], cpus=options["cpu"])


def _written(data: dict[str, Any], format_name: str, table: str, top: int) -> str:
    if format_name == "json":
        return to_json(data)
    if format_name == "csv":
        return to_csv(data, table)
    if format_name == "html":
        # Late: it brings matplotlib and the templates, which the other formats need not wait for.
        from schedtop.outputs.report.html import to_html

        return to_html(data, top)

    return to_text(data, top)
