"""The strip: the panes that are not seen, each in one cell that says the most important thing of it."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message

from schedtop.history.view import View
from schedtop.panes.levels import THROTTLED_MARK
from schedtop.panes.pane import Pane
from schedtop.ui.layout.arrangement import strip_across, strip_rows
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.strips import Span, clip, clip_spans, spans_width, width_of


class PaneStrip(Canvas, can_focus=False):
    """Cells of equal width, some panes in two, so that nothing moves when numbers change; a click takes to the pane."""

    DEFAULT_CSS = """
    PaneStrip { height: 0; padding: 0 1; background: $panel; }
    """

    class Chosen(Message):
        """A pane was clicked."""

        def __init__(self, pane: Pane[View]) -> None:
            super().__init__()
            self.pane = pane

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._panes: Sequence[Pane[View]] = ()

    def show(self, panes: Sequence[Pane[View]], lines: int) -> None:
        """Tells of these panes, in so many lines."""
        self._panes = panes
        self.styles.height = lines
        self.display = lines > 0
        self.draw()

    def draw(self) -> None:
        if not self.display or not self.inner.width:
            return
        width = self._cell_width
        self.put([[span for pane, cells in row for span in _cell(pane, cells * width)] for row in self._rows])

    @property
    def _rows(self) -> list[list[tuple[Pane[View], int]]]:
        """The panes of each line, each with how many cells it takes."""
        by_name = {pane.id or "": pane for pane in self._panes}
        rows = strip_rows([*by_name], self.outer_size.width)
        return [[(by_name[name], cells) for name, cells in row] for row in rows]

    @property
    def _cell_width(self) -> int:
        return self.inner.width // strip_across(self.outer_size.width)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        rows = self._rows
        if offset is None or offset.y >= len(rows):
            return
        end = 0
        for pane, cells in rows[offset.y]:
            end += cells * self._cell_width
            if offset.x < end:
                self.post_message(self.Chosen(pane))
                return


LEAST_NAME = 5
"""In fewer cells a name tells nothing."""

LESS = (" · ", f" {THROTTLED_MARK}")
"""How a part begins that can be left out."""


def _cell(pane: Pane[View], width: int) -> list[Span]:
    """The name and what there is to say, in exactly so many cells, the last one empty."""
    words, flag = pane.strip_name, pane.flag
    name: list[Span] = [(f"{flag.sign} {words}", flag.style), (" ", "text")] if flag.sign else [(f"{words} ", "head")]
    glance = [*pane.glance()]
    room = width - 1 - spans_width(name)
    while glance and spans_width(glance) > room and glance[-1][0].startswith(LESS):
        glance.pop()  # a number that is cut is none
    over = spans_width(glance) - room
    if over > 0 and len(glance) > 1 and width_of(glance[0][0]) - over >= LEAST_NAME:
        # Nor is one behind a name: that gives way.
        glance[0] = (clip(glance[0][0], width_of(glance[0][0]) - over), glance[0][1])
    line = clip_spans([*name, *glance], width - 1)
    return [*line, (" " * (width - spans_width(line)), "text")]
