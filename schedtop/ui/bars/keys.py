"""The line at the bottom: tabs of the presets where a screen has them, then as many keys as fit, each whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual import events

from schedtop.widgets.canvas import Canvas
from schedtop.widgets.strips import Span, spans_width

Key = tuple[str, str, str]
"""What to print, its word, and the action."""

GAP: Span = ("  ", "text")


class Tab(NamedTuple):
    """A preset: its key, its word, the action, and whether it is shown now."""

    key: str
    word: str
    action: str
    current: bool

    def spans(self, word: bool, edge: str) -> list[Span]:
        """The key, and the word if there is room; the one that is shown as a block."""
        text = f" {self.word}" if word else ""
        if self.current:
            return [(f"{edge}{self.key}{text}{edge}", "cursor")]
        return [(f"{edge}{self.key}", "key"), (f"{text}{edge}", "text")]


Placed = list[tuple[list[Span], str]]
"""Parts of the line, each with its action, empty for none."""


class KeyBar(Canvas, can_focus=False):
    """Tabs, then keys and words, in order of importance; a click on one does what its key does."""

    DEFAULT_CSS = """
    KeyBar { height: 1; padding: 0 1; background: $panel; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._keys: Sequence[Key] = ()
        self._tabs: Sequence[Tab] = ()
        self._needed = 0
        self._places: list[tuple[int, int, str]] = []

    def show(self, keys: Sequence[Key], tabs: Sequence[Tab] = (), needed: int = 0) -> None:
        """Shows keys after the tabs, which become shorter until the first `needed` keys fit."""
        self._keys, self._tabs, self._needed = keys, tabs, needed
        self.draw()

    def draw(self) -> None:
        width = self.inner.width
        line: list[Span] = []
        self._places = []
        for spans, action in self._parts(width):
            start = spans_width(line)
            line += spans
            if action:
                self._places.append((start, spans_width(line), action))
        self.put([line])

    def _parts(self, width: int) -> Placed:
        """The tabs in the widest form that leaves room for the keys that are needed, then the keys that fit."""
        keys: Placed = [([(key, "key"), (f" {word}", "text")], action) for key, word, action in self._keys]
        needed = _with_gaps(keys[: self._needed])
        forms = (self._tab_parts(True, " "), self._tab_parts(True, ""), self._tab_parts(False, ""))
        parts = next((form for form in forms if _width(form) + len(GAP[0]) + _width(needed) <= width), forms[-1])
        for key in keys:
            more: Placed = [*([([GAP], "")] if parts else []), key]
            if _width(parts) + _width(more) <= width:
                parts = [*parts, *more]
        return parts

    def _tab_parts(self, words: bool, edge: str) -> Placed:
        """All tabs; without `words` only the one that is shown has its word."""
        parts: Placed = []
        for tab in self._tabs:
            if parts and not edge:
                parts.append(([(" ", "text")], ""))
            parts.append((tab.spans(words or tab.current, edge), tab.action))
        return parts

    async def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        for start, end, action in self._places:
            if offset is not None and start <= offset.x < end:
                await self.screen.run_action(action)


def _with_gaps(parts: Placed) -> Placed:
    return [item for part in parts for item in (([GAP], ""), part)][1:]


def _width(parts: Placed) -> int:
    return sum(spans_width(spans) for spans, _ in parts)
