"""How many lines panes can fill: rows of panes with little to show leave the rest to others."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from schedtop.history.view import View
from schedtop.panes.pane import Pane
from schedtop.panes.time_columns import is_moment

STEP = 4
"""Heights follow the number of rows in steps of so many lines: what is below shall not jump."""

KEPT = 15
"""A pane keeps its lines while one of so many last Views filled them."""


class WantedHeights:
    """The lines that each pane could fill at most in the last Views."""

    def __init__(self) -> None:
        self._wanted: dict[str, deque[int]] = {}

    def take(self, panes: Sequence[Pane[View]], view: View) -> Mapping[str, int]:
        """Takes what the panes that are seen show now. While one moves through a frozen history nothing shrinks."""
        for pane in panes:
            lines = None if pane.hidden else pane.wanted_lines
            if lines is None:
                continue
            kept = self._wanted.setdefault(pane.id or "", deque(maxlen=KEPT))
            if is_moment(view) and kept:
                kept[-1] = max(kept[-1], lines)
            else:
                kept.append(lines)
        return {name: -(-max(kept) // STEP) * STEP for name, kept in self._wanted.items()}
