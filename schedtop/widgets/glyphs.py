"""Tables of characters as text, line by line: the quick way from numbers to cells."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from schedtop.widgets.strips import Span

SHADES = np.array(list(" ·░▒▓█"))
"""From nothing to most; what is not nothing is always seen."""

SHADE_LEVELS = len(SHADES) - 1

_CODEC = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"


def shades_of(look: str) -> tuple[str, ...]:
    """The names of a look's shades, from none of it to most (`canvas.SHADE_SHARES`)."""
    return (look, *(f"{look}-shade-{level}" for level in range(1, SHADE_LEVELS + 1)))


def shaded(levels: npt.NDArray[np.integer], look: str, none: str = " ") -> list[Span]:
    """A line of cells by how much of a look each has, 0 to SHADE_LEVELS; `none`: the character of those without."""
    glyphs = np.where(levels > 0, SHADES[levels], none)
    return styled(glyphs[np.newaxis], levels[np.newaxis], shades_of(look))[0]


def text_of(glyphs: npt.NDArray[np.str_]) -> str:
    """An array of single characters as one text."""
    return np.ascontiguousarray(glyphs).tobytes().decode(_CODEC)


def styled(glyphs: npt.NDArray[np.str_], styles: npt.NDArray[np.integer], names: Sequence[str]) -> list[list[Span]]:
    """A table of single characters as lines of spans, neighbours of one style joined.

    `styles`: the number of each cell's style in `names`, of the same shape.
    """
    height, width = glyphs.shape
    text = text_of(glyphs)
    rows, places = np.nonzero(np.diff(styles, axis=1))
    bounds: list[list[int]] = [[0] for _ in range(height)]
    for row, place in zip(rows.tolist(), places.tolist(), strict=True):
        bounds[row].append(place + 1)
    lines: list[list[Span]] = []
    for row, starts in enumerate(bounds):
        first = row * width
        used = [names[number] for number in styles[row, starts].tolist()]
        ends = [*starts[1:], width]
        lines.append(
            [(text[first + start : first + end], name) for start, end, name in zip(starts, ends, used, strict=True)]
        )
    return lines
