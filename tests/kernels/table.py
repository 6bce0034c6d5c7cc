"""The table of docs/kernels.md: a row for each kernel, number of CPUs, front end and choice of tests that was run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

BEGIN, END = "<!-- results: written by make test-kernels -->", "<!-- end of results -->"

_HEADER = (
    "kernel", "package", "CPUs", "front end", "compiled", "tests", "passed", "failed", "skipped",
    "what did not pass at once", "date", "qemu", "bcc",
)  # fmt: skip
_KEY = ("CPUs", "front end", "compiled", "tests")
"""With the series of the kernel: what a row is of. No other run replaces it: others had other tests, fewer perhaps."""

_MOST_NAMED = 8
"""Of tests that there was no time for."""


@dataclass
class Result:
    """What came out of the tests of one front end: names, with a reason if they did not pass."""

    passed: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    repeated: list[str] = field(default_factory=list)
    boots_lost: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    @property
    def tests(self) -> int:
        """How many have a result."""
        return len(self.passed) + len(self.failed) + len(self.skipped)

    def row(self, told: dict[str, str]) -> dict[str, str]:
        """A row of the table; `told`: the columns that are not about tests."""
        words = [f"failed: {name} ({reason})" for name, reason in self.failed.items()]
        words += [f"skipped: {name} ({reason})" for name, reason in self.skipped.items()]
        words += [f"passed the second time: {name}" for name in self.repeated if name in self.passed]
        words += [f"booted again, because {why}" for why in self.boots_lost]
        named = f": {', '.join(self.left)}" if len(self.left) <= _MOST_NAMED else ""
        words += [f"no time for {len(self.left)}{named}"] if self.left else []
        counts = {name: str(len(getattr(self, name))) for name in ("passed", "failed", "skipped")}
        return told | counts | {"what did not pass at once": "; ".join(words)}


def updated(text: str, rows: Iterable[dict[str, str]]) -> str:
    """A page with these rows in its table, each in place of an older one of its kind; all others stay.

    Raises ValueError.
    """
    before, _, rest = text.partition(BEGIN)
    old, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page has no place for the table, between {BEGIN} and {END}")
    merged: dict[tuple[str, ...], dict[str, str]] = {}
    for row in (*_parsed(old), *rows):
        if row["date"] >= merged.get(_key(row), row)["date"]:
            merged[_key(row)] = row
    ordered = sorted(merged.values(), key=_order)
    return f"{before}{BEGIN}\n\n{_rendered(ordered)}\n{END}{after}"


def write(path: Path, rows: Iterable[dict[str, str]]) -> None:
    """Brings the table in a file up to date."""
    path.write_text(updated(path.read_text(), rows))


def _parsed(text: str) -> list[dict[str, str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [dict(zip(_HEADER, (cell.strip() for cell in line[1:-1].split(" | ")), strict=True)) for line in lines]


def _rendered(rows: Iterable[dict[str, str]]) -> str:
    lines = [_HEADER, tuple("---" for _ in _HEADER), *(tuple(row[name] for name in _HEADER) for row in rows)]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").replace("<", "&lt;").split()) or " "


def _key(row: dict[str, str]) -> tuple[str, ...]:
    return (_series(row), *(row[name] for name in _KEY))


def _series(row: dict[str, str]) -> str:
    return ".".join(row["kernel"].split(".")[:2])


def _order(row: dict[str, str]) -> tuple[list[int], list[int], str, str, str]:
    numbers = [int(part) for part in _series(row).split(".")]
    cpus = [int(word) for word in row["CPUs"].split() if word.isdigit()]
    return numbers, cpus, row["compiled"], row["tests"], row["front end"]
