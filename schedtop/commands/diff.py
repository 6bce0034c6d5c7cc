"""`schedtop diff`: what changed between two recordings or snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedtop.commands.options import Number, output_options, output_path

if TYPE_CHECKING:
    from schedtop.run.session import Signals


@click.command("diff")
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option("--format", "format_name", type=click.Choice(["text", "json"]), default="text",
              help="What to write.  [default: text]")  # fmt: skip
@click.option("--top", type=Number(least=1), default=12, metavar="N", help="How many rows of a table.  [default: 12]")
@output_options
@click.pass_obj
def diff(signals: Signals, /, before: Path, after: Path, **options: Any) -> int:
    """Says what changed from BEFORE to AFTER, most first: recordings, or snapshots as JSON. Needs no root."""
    from schedtop.commands.evidence import read_evidence
    from schedtop.model.filters import Filter
    from schedtop.outputs.diff.changes import diff as compare
    from schedtop.outputs.diff.text import to_text
    from schedtop.outputs.files import check_target, write_file
    from schedtop.outputs.report.contents import to_json
    from schedtop.outputs.saved import Wrong, damaged
    from schedtop.run.headless import write_stdout
    from schedtop.run.session import progress

    target = output_path(options)
    if target:
        check_target(target, force=options["force"])
    with signals.raising():
        sides = []
        for path in (before, after):
            with progress(f"reading {path.name}"):
                sides.append(read_evidence(path, Filter(), top=0, all_tasks=True))
        names = (str(before), str(after))
        try:
            data = compare(sides[0], sides[1], names, options["top"])
            written = to_json(data) if options["format_name"] == "json" else to_text(data, options["top"])
        except Wrong as error:
            doubtful = [name for name, side in zip(names, sides, strict=True) if not side["recording"]]
            if not doubtful:
                raise
            raise damaged(" or ".join(doubtful), error) from error
        if target:
            write_file(target, written, force=options["force"])
        else:
            write_stdout(written)
    return 0
