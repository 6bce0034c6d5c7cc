"""The table in docs/bcc.md: a row for each release, between two marks; releases that were not tried keep their row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.bcc.checks import CHECKS, FRONT_ENDS, Outcome

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "bcc.md"
BEGIN, END = "<!-- make test-bcc: begin -->", "<!-- make test-bcc: end -->"
HEADER = (
    "| bcc | of | Python | LLVM | BTF | tracepoints | maps and layouts | tested |\n|---|---|---|---|---|---|---|---|\n"
)


def row(name: str, outcome: Outcome, differences: list[str], day: str) -> str:
    """A release's row."""
    about = outcome.about
    compiler = [re.search(r"libLLVM[-.](?:so\.)?(\d+)", library) for library in about["libraries"]]
    llvm = next((found[1] for found in compiler if found), "?")
    maps = f"{len(differences)} differ" if differences else "the same"
    cells = [about["version"], name, about["python"], llvm, *(_passed(outcome, each) for each in FRONT_ENDS), maps, day]
    return f"| {' | '.join(cells)} |"


def _passed(outcome: Outcome, front_end: str) -> str:
    failed = [check.name for check in CHECKS if (check.name, front_end) in outcome.failures]
    return f"**failed: {', '.join(failed)}**" if failed else f"{len(CHECKS)} of {len(CHECKS)}"


def with_rows(text: str, rows: Mapping[str, str], kernel: str) -> str:
    """The document with these rows, by name of the release, in place of what it said of them."""
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    kept = {line.split("|")[2].strip(): line for line in old.splitlines() if line.startswith("| ")}
    kept.pop("of", None)
    lines = "\n".join({**kept, **rows}.values())
    return f"{before}{BEGIN}\n\n{HEADER}{lines}\n\nOn kernel {kernel}.\n\n{END}{after}"
