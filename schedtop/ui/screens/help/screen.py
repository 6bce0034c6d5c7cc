"""The help: topics in a list, the text of one of them beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from schedtop.ui.screens.action_list import ActionList
from schedtop.ui.screens.closing import close
from schedtop.ui.screens.help.topics import Topic
from schedtop.ui.screens.search import Search
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.parts import keys_of, made_of
from schedtop.widgets.strips import Span, Spans, fit

LIST_WIDTH = 13
"""Cells of the list of topics."""


class HelpText(Canvas):
    """The list and the text; the usual keys scroll the text."""

    DEFAULT_CSS = """
    HelpText {
        width: 96%; max-width: 112; height: 96%; background: $panel; border: heavy $primary; padding: 0 1;
        border-title-color: $primary; border-title-style: bold; border-subtitle-color: $faint;
    }
    """
    BORDER_TITLE = "Help"
    BORDER_SUBTITLE = "← → topic · ↑ ↓ scroll · / search · Esc closes"

    def __init__(self, topics: Sequence[Topic], first: str) -> None:
        super().__init__()
        self.topics = topics
        self.index = next((at for at, topic in enumerate(topics) if topic.name == first), 0)
        self._made: tuple[int, dict[int, list[Spans]]] = (-1, {})

    @property
    def topic(self) -> Topic:
        """The one that is shown."""
        return self.topics[self.index]

    @property
    def _text_width(self) -> int:
        return max(10, self.inner.width - LIST_WIDTH - 2)

    def _lines_of(self, index: int) -> list[Spans]:
        if self._made[0] != self._text_width:
            self._made = (self._text_width, {})
        if index not in self._made[1]:
            self._made[1][index] = list(self.topics[index].lines(self._text_width))
        return self._made[1][index]

    def draw(self) -> None:
        _, height = self.inner
        if not height:
            return
        text = self._lines_of(self.index)
        self.total_rows = len(text)
        self.clamp_top()
        listed = self._listed(height)
        shown = text[self.top : self.top + height]
        more = len(text) > self.top + height
        self.put([[listed[row], ("│ ", "dim"), *(shown[row] if row < len(shown) else [])] for row in range(height)])
        self.border_title = f"Help · {self.topic.name}" + (" · more below" if more else "")

    @property
    def _list_top(self) -> int:
        return max(0, self.index - self.inner.height + 1)

    def _listed(self, height: int) -> list[Span]:
        names: list[Span] = [
            (
                fit(f"{'▸' if at == self.index else ' '}{topic.name}", LIST_WIDTH),
                "sorted" if at == self.index else "dim",
            )
            for at, topic in enumerate(self.topics)
        ]
        names = names[self._list_top : self._list_top + height]
        return [*names, *([(" " * LIST_WIDTH, "dim")] * (height - len(names)))]

    def go(self, index: int) -> None:
        """Shows another topic from its beginning."""
        self.index, self.top = index % len(self.topics), 0
        self.draw()

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and offset.x < LIST_WIDTH and self._list_top + offset.y < len(self.topics):
            self.go(self._list_top + offset.y)

    # The search looks through all topics.

    def search_texts(self) -> Sequence[str]:
        return [
            "".join(text for text, _ in line) for index in range(len(self.topics)) for line in self._lines_of(index)
        ]

    @property
    def search_row(self) -> int:
        # A page that ends with the text has no line that could come to its top.
        return self._found if self._found_top == (self.index, self.top) else self._first_row(self.index) + self.top

    _found = 0
    _found_top = (-1, -1)

    def _first_row(self, index: int) -> int:
        return sum(len(self._lines_of(before)) for before in range(index))

    def reveal_row(self, row: int) -> None:
        self._found = row
        index = 0
        while row >= len(self._lines_of(index)):
            row -= len(self._lines_of(index))
            index += 1
        moved = index != self.index
        self.index = index
        self.total_rows = len(self._lines_of(index))
        if moved or not self.top <= row < self.top + self.inner.height:
            self.top = max(0, row - self.inner.height // 3)
        self.clamp_top()
        self._found_top = (self.index, self.top)
        self.draw()

    @property
    def place(self) -> object:
        return (self.index, self.top)

    def go_back_to(self, place: Any) -> None:
        self.index, self.top = place
        self.draw()


PARTS = {"search": Search, "action_list": ActionList}

KEYS: Sequence[BindingType] = (
    Binding("escape", "back", "Close", id="back", tooltip="Ends the search, else closes the help"),
    Binding("q,f10,question_mark,f1", "close", "Close", id="close", tooltip="Closes the help"),
    Binding("right,l,tab", "topic(1)", "Next topic", id="next-topic", tooltip="To the next topic"),
    Binding("left,h,shift+tab", "topic(-1)", "Topic before", id="topic-before", tooltip="To the topic before"),
)


@made_of(PARTS)
class HelpScreen(ModalScreen[None]):
    """Over the dashboard, which goes on collecting."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    """

    BINDINGS: ClassVar[list[BindingType]] = keys_of(PARTS, KEYS)

    def __init__(self, topics: Sequence[Topic], first: str = "") -> None:
        """`first`: the name of the topic that is shown first."""
        super().__init__()
        self.search = Search(self)
        self.action_list = ActionList(self, self.search.target)
        self._content = HelpText(topics, first)

    def compose(self) -> ComposeResult:
        yield self._content

    def on_mount(self, _event: events.Mount) -> None:
        self._content.focus()

    def on_click(self, event: events.Click) -> None:
        if not self._content.region.contains(event.screen_x, event.screen_y):
            close(self)

    def action_topic(self, step: int) -> None:
        """To the topic after or before."""
        self._content.go(self._content.index + step)

    def action_back(self) -> None:
        """Ends the search, else closes."""
        if not self.search.end():
            close(self)

    def action_close(self) -> None:
        """Closes the help."""
        close(self)
