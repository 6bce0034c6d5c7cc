"""What a topic found: tables for the terminal, goals, and data for the JSON file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for. `rounds`: how often each figure is measured, in alternating order."""

    rounds: int
    quick: bool


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure and the most it should be, in `unit`; `measured` is `None` where it could not be had."""

    what: str
    measured: float | None
    limit: float | None
    unit: str

    @property
    def verdict(self) -> str:
        """Met, missed, or not measured."""
        if self.measured is None or self.limit is None:
            return "not measured"
        return "met" if self.measured <= self.limit else "missed"

    def __str__(self) -> str:
        if self.measured is None or self.limit is None:
            return f"{self.verdict:>12}  {self.what}"
        measured = f"{self.measured:.3g} {self.unit}".strip()
        return f"{self.verdict:>12}  {self.what}: {measured}, at most {self.limit:.3g}"

    def to_data(self) -> dict[str, Any]:
        """All of it for the JSON file."""
        return {**asdict(self), "verdict": self.verdict}


@dataclass(slots=True)
class Table:
    """A table of text; the first column is to the left, all others to the right."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [self.columns, *self.rows]
        widths = [max(len(line[place]) for line in lines) for place in range(len(self.columns))]
        text = ["", self.title, *(_line(line, widths) for line in lines)]
        text.insert(3, "-" * (sum(widths) + 2 * (len(widths) - 1)))
        return "\n".join(text + [f"  {note}" for note in self.notes])


@dataclass(slots=True)
class Topic:
    """The result of one topic."""

    tables: list[Table]
    data: dict[str, Any]
    goals: list[Goal] = field(default_factory=list)


def number(value: float | None, digits: int = 0) -> str:
    """A figure as text, a dash where there is none."""
    return "-" if value is None else f"{value:,.{digits}f}"


def share(value: float | None) -> str:
    """A ratio above the best as text."""
    return "-" if value is None else f"+{value:.0%}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = [
        cell.ljust(width) if place == 0 else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join([first, *others]).rstrip()
