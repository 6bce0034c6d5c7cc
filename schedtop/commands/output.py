"""Where a command writes: the file that `--output` names, or standard output."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schedtop.outputs.files import check_target, write_file
from schedtop.run.stdout import write_stdout


def output_path(options: Mapping[str, Any]) -> Path | None:
    """The file that `--output` names; `None`: standard output."""
    return None if options["output"] in (None, "-") else Path(options["output"])


def checked_output(options: Mapping[str, Any]) -> Path | None:
    """The same, before there is anything to write. Raises OutputError where it cannot be written."""
    output = output_path(options)
    if output:
        check_target(output, force=options["force"])
    return output


def write_output(data: str, output: Path | None, *, force: bool) -> None:
    """Writes all of it. Raises OutputError; Interrupted if standard output has no reader."""
    if output:
        write_file(output, data, force=force)
    else:
        write_stdout(data)
