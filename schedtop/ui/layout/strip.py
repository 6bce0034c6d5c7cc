"""The strip: the panes that are not seen, each in one cell that says the most important thing of it."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message

from schedtop.history.view import View
from schedtop.panes.pane import Pane
from schedtop.ui.layout.arrangement import strip_across
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.strips import Span, clip_spans, spans_width


class PaneStrip(Canvas, can_focus=False):
    """Cells of equal width, so that nothing moves when numbers change; a click takes to the pane."""

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
        across, width = self._grid
        lines: list[list[Span]] = []
        for start in range(0, len(self._panes), across):
            lines.append([span for pane in self._panes[start : start + across] for span in _cell(pane, width)])
        self.put(lines)

    @property
    def _grid(self) -> tuple[int, int]:
        """Cells in a line, and the width of each."""
        across = strip_across(self.inner.width)
        return across, self.inner.width // across

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        across, width = self._grid
        index = offset.y * across + min(offset.x // width, across - 1)
        if index < len(self._panes):
            self.post_message(self.Chosen(self._panes[index]))


def _cell(pane: Pane[View], width: int) -> list[Span]:
    """The name and what there is to say, in exactly so many cells, the last one empty."""
    name: Span = (f"{pane.SHORT or pane.TITLE} ", "head")
    line = clip_spans([name, *pane.glance()], width - 1)
    return [*line, (" " * (width - spans_width(line)), "text")]
