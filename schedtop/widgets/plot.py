"""Areas drawn by plotext, as plain lines of characters.

plotext has one figure for the whole process, which is why it is touched here only and from one thread. A build costs
about 17 µs a point, so callers leave out points that would not be seen and build only when data or size changed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

MARKER = "hd"
"""Quadrant blocks: two points across and two up in a cell, in every font that has box drawing."""

ACROSS = DOWN = 2
"""Points across and down one cell."""


@cache
def _plotext() -> Any:
    # Imported at the first plot: it takes a tenth of a second that a help text or an error need not wait for.
    import plotext

    plotext.terminal.limit(False, False)
    return plotext


def area(values: Sequence[float], width: int, height: int, *, low: float, high: float) -> list[str]:
    """An area from zero to `values`, in `height` lines of `width` characters.

    There are `ACROSS * width` places for values, from left to right; the vertical axis spans `low` to `high`.
    Zeros draw nothing. Values below zero hang down from zero.
    """
    step = (high - low) / (DOWN * height) if height else 0.0
    points = [(index + 0.5, _centre(value, low, high, step)) for index, value in enumerate(values) if value]
    if width <= 0 or height <= 0:
        return []
    if not points:
        return [" " * width] * height
    figure = _plotext().figure
    figure.clear()
    figure.plot_size(width, height)
    figure.axes(False)
    figure.legend(False)
    for name, first, last in (("x", 0, ACROSS * width), ("y", low, high)):
        figure.ruler(name).ticks([]).lim(first, last).alignment(lim="edge")
    figure.draw(figure.signal([x for x, _ in points], [y for _, y in points], marker=MARKER).fillx())
    lines: list[str] = figure.build().string(colorless=True).split("\n")[:height]
    return [line.ljust(width)[:width] for line in lines] + [" " * width] * (height - len(lines))


def _centre(value: float, low: float, high: float, step: float) -> float:
    """The middle of the last point that a value reaches into, so that rounding cannot add another one."""
    value = min(max(value, low), high)
    return (math.ceil(abs(value) / step - 1e-9) - 0.5) * math.copysign(step, value)
