"""How many charts a pane has room for, and where."""

from __future__ import annotations

from dataclasses import dataclass

from schedtop.charts.chart import LABELS, MARGIN

LEAST_WIDTH, LEAST_HEIGHT = 56, 6
"""Of a chart, with its title; the line of the time is besides."""

MOST_ACROSS = 3
GUTTER = 1
NAMES_LEAST = 40
"""In less width than this the names of the lines give way."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Charts in `across` columns and `down` rows, each `width` cells wide with the gutter."""

    across: int
    down: int
    width: int
    heights: tuple[int, ...]
    """The lines of each row of charts, with their titles, without the time below the last one."""

    @property
    def names(self) -> int:
        """Cells for the names of the lines."""
        return LABELS if self.width >= NAMES_LEAST else 0

    @property
    def columns(self) -> int:
        """Cells that a chart has for its lines."""
        return max(1, self.width - MARGIN - self.names - GUTTER)


def grid_of(charts: int, width: int, height: int) -> Grid:
    """The grid for so many charts; it may have room for fewer of them."""
    across = min(max(1, width // LEAST_WIDTH), MOST_ACROSS, charts)
    wanted = -(-charts // across)
    room = max(1, height - 1)
    down = min(wanted, max(1, room // LEAST_HEIGHT))
    # As few columns as the rows need: two charts above each other leave no hole beside them.
    across = min(across, -(-charts // down))
    heights = tuple(room // down + (row < room % down) for row in range(down))
    return Grid(across, down, width // across, heights)
