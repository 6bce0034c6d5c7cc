"""Areas drawn by plotext, as plain lines of characters.

plotext has one figure for the whole process, which is why it is touched here only and from one thread. A build costs
about 17 µs a point, so callers leave out points that would not be seen and build only when data or size changed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

MARKER = "hd"
"""Quadrant blocks: two points across and two up in a cell, in every font that has box drawing."""

ACROSS = DOWN = 2
"""Points across and down one cell."""


@cache
def _plotext() -> Any:
    # Imported at the first plot: it takes a tenth of a second that a help text or an error need not wait for.
    import plotext  # type: ignore[import-untyped]

    plotext.terminal.limit(False, False)
    figure = plotext.figure
    figure.clear()
    figure.axes(False)
    figure.legend(False)
    for name in ("x", "y"):
        figure.ruler(name).ticks([]).alignment(lim="edge")
    return figure


@dataclass
class _Shape:
    """The size and the limits that the figure has: they are set only when they change."""

    wanted: tuple[int, int, int] = (0, 0, 0)


_shape = _Shape()


def area(up: Sequence[float], width: int, height: int, down: Sequence[float] = (), depth: int = 0) -> list[str]:
    """Values (0..1) as an area `height` lines high, and others hanging below it, `depth` lines deep.

    There are `ACROSS * width` places for values, from left to right. Zeros draw nothing; more than nothing is always
    seen. Gives `height + depth` lines of `width` characters.
    """
    if width <= 0 or height + depth <= 0:
        return []
    points = [*_points(up, height, 1), *_points(down, depth, -1)]
    if not points:
        return [" " * width] * (height + depth)
    # Areas begin at zero, and zero itself belongs to one of the halves: a line between them that nobody sees takes it.
    lines = _built(points, width, height, depth)
    return lines[:height] + lines[height + 1 :]


def _built(points: Sequence[tuple[float, float]], width: int, height: int, depth: int) -> list[str]:
    figure = _plotext()
    figure.clear.data()
    if _shape.wanted != (width, height, depth):
        _shape.wanted = (width, height, depth)
        figure.plot_size(width, height + 1 + depth)
        figure.ruler("x").lim(0, ACROSS * width)
        figure.ruler("y").lim(-DOWN * depth - 1, DOWN * height + 1)
    figure.draw(figure.signal([x for x, _ in points], [y for _, y in points], marker=MARKER).fillx())
    lines: list[str] = figure.build().string(colorless=True).split("\n")[: height + 1 + depth]
    return [line.ljust(width)[:width] for line in lines] + [" " * width] * (height + 1 + depth - len(lines))


def _points(values: Sequence[float], height: int, sign: int) -> list[tuple[float, float]]:
    """Places and heights in points. The middle of the last point reached, so that rounding cannot add another."""
    steps = DOWN * height
    return [
        (place + 0.5, sign * (max(1, math.ceil(min(value, 1.0) * steps - 1e-9)) + 0.5))
        for place, value in enumerate(values)
        if value > 0 and steps
    ]
