"""What a screen says in a terminal that is too small for it."""

from __future__ import annotations

from textual.geometry import Size
from textual.widgets import Static

from schedtop.ui.terminal.terminal import LEAST_COLUMNS, LEAST_LINES


def is_tiny(size: Size) -> bool:
    """Whether a terminal is too small for any screen of ours."""
    return size.width < LEAST_COLUMNS or size.height < LEAST_LINES


class TooSmall(Static):
    """The size there is, and the size that is needed."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, markup=False)

    def tell(self, size: Size) -> None:
        """Says so of a size."""
        needed = f"{LEAST_COLUMNS}x{LEAST_LINES}"
        self.update(f"the terminal is too small: {size.width}x{size.height}\nschedtop needs {needed}")
