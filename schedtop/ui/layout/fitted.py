"""A pane that is no higher than its rows need, so that the panes below it get the rest."""

from __future__ import annotations

from typing import Any

from schedtop.panes.pane import Pane

STEP = 4
"""The height follows the number of rows in steps of so many: the panes below shall not jump."""

FRAME = 3
"""Lines of a table that are no rows: its border and its header."""


class Fitted:
    """Bounds the height of one pane."""

    def __init__(self, pane: Pane[Any], most: int = 1000) -> None:
        """`most`: lines that it never has more than."""
        self._pane = pane
        self._most = most
        self._rows = 0
        """Rows that it has room for at most; 0: not known yet."""

    def fit(self, rows: int, *, alone: bool = False) -> None:
        """The pane has so many rows now; `alone`: it has the whole screen."""
        rows = max(1, rows)
        if not self._rows - 2 * STEP < rows <= self._rows:
            self._rows = -(-rows // STEP) * STEP
        wanted = None if alone else min(self._most, self._rows + FRAME)
        now = self._pane.styles.max_height
        if (None if now is None else now.value) != wanted:
            self._pane.styles.max_height = wanted
