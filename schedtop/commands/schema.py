"""`schedtop schema`: the JSON Schemas of what is written."""

from __future__ import annotations

from schedtop.outputs.json_schema import schema_of
from schedtop.outputs.plain import json_text
from schedtop.run.stdout import write_stdout


def run(name: str) -> int:
    """Prints the schema of an output; gives the exit status."""
    write_stdout(json_text(schema_of(name)))
    return 0
