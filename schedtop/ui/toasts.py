"""Where messages are shown: above the keys, and above the selected row if that is so far down."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.screen import Screen
from textual.widget import Widget

from schedtop.widgets.keyed_table import KeyedTable

KEY_LINES = 1
"""The keys have the last line of each screen."""


REFRESHES = 5
"""So many after it was asked for, a message has its place, and those before it are gone."""


def clear_when_laid_out(app: App[Any], refreshes: int = REFRESHES) -> None:
    """Keeps a message that has just been asked for off the selected row."""
    clear_of_selection(app.screen)
    if refreshes:
        app.call_after_refresh(clear_when_laid_out, app, refreshes - 1)


def clear_of_selection(screen: Screen[object]) -> None:
    """Moves the messages of a screen off the row that is selected in the table with the focus."""
    # It is a child of the screen: this is done at each key, and a query looks at every widget below.
    rack = next(iter(screen.query_children("ToastRack")), None)
    if rack is None:
        return
    heights = [toast.outer_size.height for toast in rack.query("Toast")]
    below = KEY_LINES
    line = _selected_line(screen.focused)
    if line is not None and line >= screen.size.height - KEY_LINES - sum(heights):
        # Only where there is room for it above.
        below = max(KEY_LINES, min(screen.size.height - line, screen.size.height - sum(heights)))
    if rack.styles.margin.bottom != below:
        rack.styles.margin = (0, 0, below, 0)


def _selected_line(focused: Widget | None) -> int | None:
    """On which line of the screen the selected row is, `None` if none is visible."""
    if not isinstance(focused, KeyedTable) or (row := focused.visible_selection) is None:
        return None
    return focused.region.y + focused.gutter.top + focused.head_rows + row
