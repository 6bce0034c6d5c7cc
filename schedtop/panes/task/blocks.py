"""Short lists with a heading each, side by side where the width allows it, each cut at a whole line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from schedtop.widgets.strips import Span, Spans, clip, spans_width, wrapped

GUTTER = 2

LEAST_LINES = 2
"""A heading and one line."""


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, and lines of what it is about; `empty` is said instead if there are none.

    `whole`: how many lines there would be, if only the first ones are made.
    """

    title: str
    lines: Sequence[Spans]
    empty: str = "none"
    whole: int = 0


def block_width(width: int, across: int) -> int:
    """How many cells each of `across` (1 or 2) blocks beside each other gets."""
    return (width - GUTTER) // 2 if across > 1 else width


def arranged(blocks: Sequence[Block], width: int, height: int, across: int) -> list[Spans]:
    """The blocks, so many beside each other, in at most `height` lines of `width` cells.

    What does not fit is counted or named, not cut in half.
    """
    cells = block_width(width, across)
    blocks = [block if block.lines else _said(block, cells) for block in blocks]
    rows = [blocks[at : at + across] for at in range(0, len(blocks), across)]
    left_out: list[Block] = []
    while rows and len(rows) * LEAST_LINES + bool(left_out) > height:
        left_out = [*rows.pop(), *left_out]
    heights = _shared([1 + max(len(block.lines) for block in row) for row in rows], height - bool(left_out))
    lines: list[Spans] = []
    for row, room in zip(rows, heights, strict=True):
        drawn = [_drawn(block, cells, room) for block in row]
        for at in range(room):
            lines.append(_beside([block[at] if at < len(block) else [] for block in drawn], cells))
    if left_out:
        names = ", ".join(block.title for block in left_out)
        lines.append([(clip(f"z for: {names}", width), "dim")])
    return lines


def _shared(wanted: Sequence[int], height: int) -> list[int]:
    """How many of `height` lines each row of blocks gets: none more than it wants, the rest shared out in turn."""
    given = [min(LEAST_LINES, want) for want in wanted]
    while sum(given) < height and given != list(wanted):
        for place, want in enumerate(wanted):
            if given[place] < want and sum(given) < height:
                given[place] += 1
    return given


def _drawn(block: Block, width: int, height: int) -> list[Spans]:
    many = max(len(block.lines), block.whole)
    kept = block.lines[: max(1, height - 1)]
    more = f" · {many - len(kept)} more" if many > len(kept) else ""
    lines: list[Spans] = [[(clip(block.title + more, width), "key")]]
    return [*lines, *kept]


def _said(block: Block, width: int) -> Block:
    """One without lines, with what is to be said instead."""
    return replace(block, lines=[[(line, "dim")] for line in wrapped(block.empty, width)])


def _beside(parts: Sequence[Spans], cells: int) -> list[Span]:
    line: list[Span] = []
    for place, part in enumerate(parts):
        line.extend(part)
        if place < len(parts) - 1:
            line.append((" " * max(0, cells + GUTTER - spans_width(part)), "text"))
    return line
