"""Areas as plain lines of quadrant blocks: two points across and two up in a cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

ACROSS = DOWN = 2
"""Points across and down one cell."""

_QUADRANTS = np.array(list(" ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"))
"""By bits: upper left 1, upper right 2, lower left 4, lower right 8. In every font that has box drawing."""


def area(up: Sequence[float], width: int, height: int, down: Sequence[float] = (), depth: int = 0) -> list[str]:
    """Values (0..1) as an area `height` lines high, and others hanging below it, `depth` lines deep.

    There are `ACROSS * width` places for values, from left to right. Zeros draw nothing; more than nothing is always
    seen. Gives `height + depth` lines of `width` characters.
    """
    if width <= 0 or height + depth <= 0:
        return []
    # The upper half is the one that hangs, upside down.
    points = np.concatenate((_hanging(up, width, height)[::-1], _hanging(down, width, depth)))
    cells = points.reshape(height + depth, DOWN, width, ACROSS)
    bits = cells[:, 0, :, 0] + 2 * cells[:, 0, :, 1] + 4 * cells[:, 1, :, 0] + 8 * cells[:, 1, :, 1]
    return ["".join(line) for line in _QUADRANTS[bits].tolist()]


def _hanging(values: Sequence[float], width: int, depth: int) -> npt.NDArray[np.intp]:
    """Which points are drawn (1) of an area that hangs from the top, shape (DOWN * depth, ACROSS * width)."""
    shares = np.zeros(ACROSS * width)
    given = np.asarray(values, float)[: ACROSS * width]
    shares[: len(given)] = np.minimum(given, 1.0)
    reach = np.where(shares > 0, np.maximum(1, np.ceil(shares * DOWN * depth - 1e-9)), 0)
    drawn: npt.NDArray[np.intp] = (np.arange(DOWN * depth)[:, None] < reach[None, :]).astype(np.intp)
    return drawn
