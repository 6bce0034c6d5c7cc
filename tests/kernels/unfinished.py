"""What a guest had no time for (`--minutes`), and what came out of the rest: `--go-on` makes one row of both."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from tests.kernels.table import Result

Results = dict[str, Result]
"""By front end."""


def save(file: Path, results: Results, left: list[str]) -> None:
    """Keeps what came out of a part of the tests; with none left, nothing is kept."""
    file.unlink(missing_ok=True)
    if left:
        kept = {name: asdict(result) for name, result in results.items()}
        file.write_text(json.dumps({"results": kept, "left": left}))


def load(file: Path) -> tuple[Results, list[str]]:
    """The results of the part that was run, and the tests that are left; both empty if there was no such run."""
    if not file.exists():
        return {}, []
    kept = json.loads(file.read_text())
    return {name: Result(**fields | {"left": []}) for name, fields in kept["results"].items()}, kept["left"]
