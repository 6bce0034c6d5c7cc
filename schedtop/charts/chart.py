"""What a chart shows: its lines, their scale, and where the names of the lines stand. Nothing is drawn here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

Span = tuple[str, str]
"""Text and the name of its style, as in `widgets.strips`."""

MARGIN = 7
"""Cells left of a canvas: the labels of the scale, and its axis."""

LABELS = 13
"""Cells right of a canvas: the name of each line with one of its values."""

EMPTY_HIGH, EMPTY_LOW = 1e6, 1e3
"""The logarithmic scale of a chart without any value."""

TALL, MEDIUM = 11, 5
"""From so many rows on a scale has several ticks, or one in the middle."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a chart. `name`: at most five characters; `values`: one a column, `None` where nothing is known.

    `filled`: it is drawn as an area; `shaded`: as a line with an area below it.
    """

    name: str
    style: str
    values: Sequence[float | None]
    filled: bool = False
    shaded: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over one axis. `format`: a value in at most six characters; `least_high`: a linear scale goes so far."""

    title: str
    lines: tuple[Line, ...]
    format: Callable[[float | None], str]
    logarithmic: bool = False
    least_high: float = 1.0

    @property
    def known(self) -> list[float]:
        """All values that there are."""
        return [value for line in self.lines for value in line.values if value is not None]


@dataclass(frozen=True, slots=True)
class Scale:
    """The values of a chart from bottom to top."""

    low: float
    high: float
    logarithmic: bool

    def share(self, value: float) -> float:
        """How high a value is: 0 at the bottom, 1 at the top."""
        if self.logarithmic:
            value = min(max(value, self.low), self.high)
            return log10(value / self.low) / log10(self.high / self.low)
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def ticks(self, rows: int) -> list[float]:
        """The values that are written beside so many rows."""
        if self.logarithmic:
            decades = round(log10(self.high / self.low))
            step = max(1, ceil(decades / max(1, rows - 1)))
            return [self.low * 10**power for power in range(0, decades + 1, step)]
        parts = 1 if rows < MEDIUM else 2 if rows < TALL else 4 if f"{self.high:e}".startswith("2") else 5
        return [self.high * part / parts for part in range(parts + 1)]


def scale_of(chart: Chart) -> Scale:
    """The scale that holds all lines of a chart: from zero to 1, 2 or 5 times a power of ten; or whole decades."""
    known = chart.known
    if chart.logarithmic:
        positive = [value for value in known if value > 0]
        if not positive:
            return Scale(EMPTY_LOW, EMPTY_HIGH, True)
        low, high = floor(log10(min(positive))), ceil(log10(max(positive)))
        return Scale(10.0**low, 10.0 ** max(high, low + 1), True)
    return Scale(0.0, round_up(max(chart.least_high, *known, 0.0)), False)


def round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, ..."""
    power = 10.0 ** floor(log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9))


def row_of(scale: Scale, value: float, rows: int) -> int:
    """The row of a value, from the top."""
    return round((1 - scale.share(value)) * (rows - 1))


def names(
    chart: Chart, scale: Scale, rows: int, column: int | None = None, *, cells: int = LABELS, values: bool = True
) -> list[Span]:
    """The name and a value of each line, at the height of that value: a Span of so many cells for each of the rows.

    `column`: of which column the values are; `None`: the newest that are known. `values`: whether they are written.
    """
    placed = []
    for line in chart.lines:
        newest = line.values if column is None else line.values[: column + 1][-1:]
        value = next((value for value in reversed(newest) if value is not None), None)
        shown = f" {chart.format(value)}" if values else ""
        row = rows - 1 if value is None else row_of(scale, value, rows)
        placed.append((row, f" {line.name:<5}{shown}"[:cells], line.style))
    labels: list[Span] = [(" " * cells, "text")] * rows
    free = 0
    # Highest first; those below give way, and then all move up where the last ones have no room.
    ordered = sorted(placed, key=lambda one: one[0])[:rows]
    for number, (row, text, style) in enumerate(ordered):
        row = min(max(row, free), rows - (len(ordered) - number))
        labels[row] = (f"{text:<{cells}}", style)
        free = row + 1
    return labels
