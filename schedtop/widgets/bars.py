"""Ratios as block characters: one line or several. A bar of one line never fills it, so that lines stay apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from schedtop.widgets.glyphs import text_of

EIGHTHS = " ▁▂▃▄▅▆▇█"
MISSING = "·"

_ONE_LINE = 7
"""Steps of a bar of one line: with the eighth the bars of neighbouring lines would be one slab."""

_GLYPHS = np.array(list(EIGHTHS + MISSING))
_MISSING_INDEX = len(EIGHTHS)

Ratios = npt.NDArray[np.floating]


def bars(ratios: Ratios) -> str:
    """A column a value (0..1, NaN where there is none). More than nothing is always seen."""
    return text_of(_GLYPHS[_levels(ratios, _ONE_LINE)])


def bar_rows(ratios: Ratios) -> list[str]:
    """`bars` of many rows at once, shape (rows, columns)."""
    rows, columns = ratios.shape
    if not ratios.size:
        return [""] * rows
    texts: list[str] = _GLYPHS[_levels(ratios, _ONE_LINE)].view(f"<U{columns}").ravel().tolist()
    return texts


def level_glyphs(ratios: Ratios) -> str:
    """One character a value: nothing is drawn as a little, because what idles must be seen, too."""
    levels = np.maximum(_levels(ratios, 8), 1)
    return text_of(_GLYPHS[levels])


def tall_bars(ratios: Ratios, height: int) -> list[str]:
    """The same over several lines, from the top one to the bottom one."""
    levels = _levels(ratios, 8 * height)
    missing = np.isnan(ratios)
    below = np.arange(8 * height - 8, -1, -8)[:, np.newaxis]
    parts = np.minimum(np.maximum(levels - below, 0), 8)
    parts[:-1, missing], parts[-1, missing] = 0, _MISSING_INDEX
    return [text_of(line) for line in _GLYPHS[parts]]


def thin_bar(ratio: float, width: int) -> str:
    """A horizontal bar of at most `width` cells, half a cell being the smallest step; more than nothing is always
    seen."""
    steps = max(ratio > 0, round(max(0.0, min(1.0, ratio)) * width * 2))
    return "━" * (steps // 2) + "╸" * (steps % 2)


def _levels(ratios: Ratios, steps: int) -> npt.NDArray[np.intp]:
    missing = np.isnan(ratios)
    known = np.where(missing, 0.0, np.minimum(np.maximum(ratios, 0.0), 1.0))
    levels = np.ceil(known * steps - 1e-9).astype(np.intp)
    if steps <= 8:
        levels[missing] = _MISSING_INDEX
    return levels
