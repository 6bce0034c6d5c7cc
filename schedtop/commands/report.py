"""`schedtop report`: what happened in a recording, for a ticket or a post-mortem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from schedtop.commands.evidence import Part, read_evidence
from schedtop.commands.output import checked_output, write_output
from schedtop.model.filters import Filter
from schedtop.model.source import SourceError
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


def run(signals: Signals, file: Path, options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    if options["table"] and options["format_name"] != "csv":
        raise click.UsageError("--table is for --format csv")
    if not all(name.strip() for name in options["comm"]):
        raise click.BadParameter("the name is empty", param_hint="'--comm'")
    target = checked_output(options)
    top = DEFAULT_ROWS.get(options["format_name"], MANY_ROWS) if options["top"] is None else options["top"]
    chosen = Filter(comms=options["comm"], cpus=options["cpu"])
    with signals.raising():
        with progress(f"reading {file.name}"), bounded(file):
            data = read_evidence(file, chosen, Part(options["begin"], options["end"]), top=top)
            # A snapshot has nothing over time.
            table = options["table"] or ("series" if data["series"] else "tasks")
            if table == "series" and not data["series"]:
                raise SourceError(f"{file} is a snapshot, with nothing over time: --table tasks, waits or interrupts")
            try:
                written = _written(data, options["format_name"], table, top)
            except Wrong as error:
                if data["recording"]:
                    raise
                raise damaged(str(file), error) from error
        write_output(written, target, force=options["force"])
    return 0


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
