"""`schedtop report`: what happened in a recording, for a ticket or a post-mortem."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedtop.commands.options import Moment, Number, output_options, output_path

if TYPE_CHECKING:
    from schedtop.run.session import Signals

DEFAULT_ROWS = {"text": 10, "html": 25}
"""How many rows a table for people has; the formats for programs have more."""

MANY_ROWS = 100


@click.command("report")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--format", "format_name", type=click.Choice(["text", "json", "csv", "html"]), default="text",
              help="What to write.  [default: text]")  # fmt: skip
@click.option("--table", type=click.Choice(["series", "tasks", "waits"]), default=None,
              help="With csv: which table.  [default: series, of a snapshot tasks]")  # fmt: skip
@click.option("--from", "begin", type=Moment(), metavar="T",
              help="Begin there: 90s or 2m (from the beginning), 14:03:10, or a full time.")  # fmt: skip
@click.option("--to", "end", type=Moment(), metavar="T", help="End there.")
@click.option("--top", type=Number(least=1), metavar="N", help="How many rows of a table: the worst.")
@click.option("--cpu", type=Number(), multiple=True, metavar="N", help="Only this CPU (repeatable).")
@click.option("--comm", multiple=True, metavar="TEXT", help="Only tasks with this in their name (repeatable).")
@output_options
@click.pass_obj
def report(signals: Signals, /, file: Path, **options: Any) -> int:
    """Says what happened in FILE: a recording, or a snapshot as JSON. Needs no root."""
    from schedtop.commands.evidence import Part, read_evidence
    from schedtop.model.filters import Filter
    from schedtop.model.source import SourceError
    from schedtop.outputs.files import check_target, write_file
    from schedtop.outputs.saved import Wrong, damaged
    from schedtop.run.headless import write_stdout
    from schedtop.run.session import progress

    if options["table"] and options["format_name"] != "csv":
        raise click.UsageError("--table is for --format csv")
    if not all(name.strip() for name in options["comm"]):
        raise click.BadParameter("the name is empty", param_hint="'--comm'")
    target = output_path(options)
    if target:
        check_target(target, force=options["force"])
    top = DEFAULT_ROWS.get(options["format_name"], MANY_ROWS) if options["top"] is None else options["top"]
    chosen = Filter(comms=options["comm"], cpus=options["cpu"])
    with signals.raising():
        with progress(f"reading {file.name}"):
            data = read_evidence(file, chosen, Part(options["begin"], options["end"]), top=top)
            # A snapshot has nothing over time.
            table = options["table"] or ("series" if data["series"] else "tasks")
            if table == "series" and not data["series"]:
                raise SourceError(f"{file} is a snapshot, without anything over time: --table tasks or waits")
            try:
                written = _written(data, options["format_name"], table, top)
            except Wrong as error:
                if data["recording"]:
                    raise
                raise damaged(str(file), error) from error
        if target:
            write_file(target, written, force=options["force"])
        else:
            write_stdout(written)
    return 0


def _written(data: dict[str, Any], format_name: str, table: str, top: int) -> str:
    if format_name == "json":
        from schedtop.outputs.report.contents import to_json

        return to_json(data)
    if format_name == "csv":
        from schedtop.outputs.report.text import to_csv

        return to_csv(data, table)
    if format_name == "html":
        from schedtop.outputs.report.html import to_html

        return to_html(data, top)
    from schedtop.outputs.report.text import to_text

    return to_text(data, top)
