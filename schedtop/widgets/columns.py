"""Columns as objects: a header and a function from the visible rows to their cells; and how they share a width."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Generic, TypeVar

from schedtop.widgets.strips import Span, clip, fit, width_of

C = TypeVar("C")

GAP = 1
"""Cells between two columns."""

NOTHING = frozenset(("0", "0 ", "0.0", "0.00", "0 ns", "0 B", "0/s"))
"""What cells say of which there is nothing. A dot is faint as it is, and its colour would have to be sent."""

UNDIMMED = frozenset(("strong", "dim"))
"""The styles of columns of names, and of those that are dim anyway."""

LEAST_NAME = 4
"""A name is cut to no fewer cells for the sake of its number."""

AIR_MOST = 5
"""Cells of air that a column gets at most where the width is larger than all columns can use."""


@dataclass(frozen=True, slots=True)
class Column(Generic[C]):
    """One column of a table over some context C (the visible rows and what is needed to read them).

    `cells` gives one text a visible row; `rank` says how early the column goes when the width does not suffice
    (0 stays longest); `grow` is the most that it takes beyond `width`; `sort` is the key that sorts by it;
    `meaning` is what the help says of it; `part` the part of a Frame without which it is empty; `quiet` the field of
    a row that it tells, if a table may leave it out while that is zero everywhere. `level` gives the style of each
    cell by its value, empty for that of the column; cells of NOTHING are dim, unless `named`: numbers are then names.
    """

    header: str
    width: int
    cells: Callable[[C], Sequence[str]]
    right: bool = True
    rank: int = 0
    grow: int = 0
    sort: str | None = None
    style: str = "text"
    meaning: str = ""
    part: str = ""
    quiet: str = ""
    level: Callable[[C], Sequence[str]] | None = None
    named: bool = False


def explained(columns: Sequence[Column[C]], meanings: Mapping[str, str]) -> tuple[Column[C], ...]:
    """The columns with what they mean, by their headers. Raises KeyError for one of which nothing is said."""
    return tuple(replace(column, meaning=meanings[column.header.strip()]) for column in columns)


Placed = Sequence[tuple[Column[C], int]]
"""Columns that fit, each with its width."""


def place(columns: Sequence[Column[C]], width: int, air_most: int = AIR_MOST) -> list[tuple[Column[C], int]]:
    """The columns that fit in `width` cells, those of high rank dropped first, and the rest of the width shared out.

    Each column gets at most `air_most` cells more than it can use.
    """
    chosen = list(columns)
    while len(chosen) > 1 and _needed(chosen) > width:
        worst = max(column.rank for column in chosen)
        last = max(index for index, column in enumerate(chosen) if column.rank == worst)
        del chosen[last]
    widths = {id(column): column.width for column in chosen}
    spare = width - _needed(chosen)
    growing = [column for column in chosen if column.grow]
    while spare > 0 and growing:
        share = max(1, spare // len(growing))
        for column in list(growing):
            more = min(share, spare, column.width + column.grow - widths[id(column)])
            widths[id(column)] += more
            spare -= more
            if widths[id(column)] >= column.width + column.grow:
                growing.remove(column)
    # What is left makes all columns airier, so that the table fills its pane.
    air = min(air_most, spare // len(chosen))
    return [(column, widths[id(column)] + air) for column in chosen]


def _needed(columns: Sequence[Column[C]]) -> int:
    return sum(column.width + GAP for column in columns) - GAP


def header_spans(placed: Placed[C], sort: str | None) -> list[Span]:
    """The header line; the column that sorts carries `▼`."""
    spans: list[Span] = []
    for column, width in placed:
        marked = sort is not None and column.sort == sort
        text = f"▼{column.header}" if marked and column.right else f"{column.header}{'▼' if marked else ''}"
        spans.append((fit(text, width, column.right) + " " * GAP, "sorted" if marked else "head"))
    return _joined(spans)


def row_lines(placed: Placed[C], context: C, count: int) -> list[list[Span]]:
    """The lines of the visible rows, neighbouring cells of one style joined to one span."""
    runs: list[tuple[str | list[str], list[list[str]]]] = []
    for column, width in placed:
        cells, right = column.cells(context), column.right
        pad = str.rjust if right else str.ljust
        texts = [
            # Mostly it has room, and no character of two cells.
            pad(text, width) if len(text) <= width and text.isascii() else fit(fewer_words(text, width), width, right)
            for text in cells
        ]
        styles = _cell_styles(column, context, cells)
        if runs and runs[-1][0] == styles:
            runs[-1][1].append(texts)
        else:
            runs.append((styles, [texts]))
    gap = " " * GAP
    lines: list[list[Span]] = [[] for _ in range(count)]
    for styles, columns in runs:
        texts = [gap.join(cells) + gap for cells in zip(*columns, strict=True)]
        each: Iterable[str] = repeat(styles) if isinstance(styles, str) else styles
        for line, text, style in zip(lines, texts, each, strict=False):
            if line and line[-1][1] == style:
                line[-1] = (line[-1][0] + text, style)
            else:
                line.append((text, style))
    return lines


_NAMED = re.compile(r"(.+) \((?:(\d+)(?:, )?)?([^()]*)\)(.*)", re.DOTALL)
"""`name (tid, fifo 50) +2`: the number and what else is in parentheses may both be missing."""


def fewer_words(text: str, width: int) -> str:
    """A cell that is too long for its width, without what is beside the number in parentheses; then the name gives way.

    A name that is cut still tells a task beside its number, and not the other way round.
    """
    if len(text) <= width:
        return text
    if not (found := _NAMED.fullmatch(text)):
        name, _, more = text.rpartition(" +")
        return name if more.isdecimal() and width_of(name) <= width else text
    name, number, _, rest = found.groups()
    end = f" ({number}){rest}" if number else rest
    room = width - width_of(end)
    return f"{clip(name, room)}{end}" if room >= LEAST_NAME else text


def _cell_styles(column: Column[C], context: C, cells: Sequence[str]) -> str | list[str]:
    """The style of all cells, or of each."""
    style = column.style
    levels: Sequence[str] = column.level(context) if column.level is not None else ()
    if any(levels):
        return [level or ("dim" if cell in NOTHING else style) for cell, level in zip(cells, levels, strict=True)]
    if column.named or style in UNDIMMED or NOTHING.isdisjoint(cells):
        return style
    return ["dim" if cell in NOTHING else style for cell in cells]


def _joined(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for text, style in spans:
        if joined and joined[-1][1] == style:
            joined[-1] = (joined[-1][0] + text, style)
        else:
            joined.append((text, style))
    return joined
