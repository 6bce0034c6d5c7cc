"""Tables of characters as text, line by line: the quick way from numbers to cells."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from schedtop.widgets.strips import Span

SHADES = np.array(list(" ·░▒▓█"))
"""From nothing to most; what is not nothing is always seen."""

SHADE_LEVELS = len(SHADES) - 1

_CODEC = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"


def text_of(glyphs: npt.NDArray[np.str_]) -> str:
    """An array of single characters as one text."""
    return np.ascontiguousarray(glyphs).tobytes().decode(_CODEC)


def styled(text: str, styles: npt.NDArray[np.integer], names: Sequence[str]) -> list[Span]:
    """A text in spans, neighbours of one style joined; `styles`: the number of each cell's style in `names`."""
    bounds = [0, *(np.flatnonzero(np.diff(styles)) + 1).tolist(), len(text)]
    return [(text[start:end], names[styles[start]]) for start, end in pairwise(bounds) if end > start]
