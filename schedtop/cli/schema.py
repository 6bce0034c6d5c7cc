"""`schedtop schema`: its arguments and help."""

from __future__ import annotations

import click

NAMES = (
    "snapshot", "waits", "report", "fleet", "diff", "task", "entitlement", "offcpu", "path", "advise", "activity",
    "doctor", "recording",
)  # fmt: skip
"""`outputs.json_schema.names()`; a test compares them."""


@click.command("schema")
@click.argument("name", type=click.Choice(NAMES), metavar="OUTPUT")
def schema(name: str) -> int:
    """Prints the JSON Schema of an output.

    OUTPUT is snapshot, waits, report, fleet (a report of several files), diff, task, entitlement, offcpu, path, advise,
    activity, doctor, or recording (of each line). docs/scripts.md says what stays stable.
    """
    from schedtop.commands.schema import run  # late: --help and completion need only what stands above

    return run(name)
