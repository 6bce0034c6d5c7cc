"""The line of keys at the bottom: as many as fit, each whole; the rest is in the help."""

from __future__ import annotations

from textual import events

from schedtop.widgets.canvas import Canvas
from schedtop.widgets.strips import Span, spans_width


class KeyBar(Canvas, can_focus=False):
    """Keys and words, in order of importance; a click on one does what its key does."""

    DEFAULT_CSS = """
    KeyBar { height: 1; padding: 0 1; background: $panel; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._keys: tuple[tuple[str, str, str], ...] = ()
        self._places: list[tuple[int, int, str]] = []

    def show(self, keys: tuple[tuple[str, str, str], ...]) -> None:
        """Shows keys: what to print, its word, and the action."""
        self._keys = keys
        self.draw()

    def draw(self) -> None:
        width = self.inner.width
        line: list[Span] = []
        self._places = []
        for key, word, action in self._keys:
            part: list[Span] = [(key, "key"), (f" {word}", "text")]
            start = spans_width(line) + (2 if line else 0)
            end = start + spans_width(part)
            if end > width:
                continue
            line = [*line, *([("  ", "text")] if line else []), *part]
            self._places.append((start, end, action))
        self.put([line])

    async def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        for start, end, action in self._places:
            if offset is not None and start <= offset.x < end:
                await self.screen.run_action(action)
