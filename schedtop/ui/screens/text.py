"""A text over the dashboard, which goes on collecting: scrolled with the usual keys, closed with Escape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen

from schedtop.ui.screens.action_list import ActionList
from schedtop.ui.screens.closing import close
from schedtop.ui.screens.copying import copy_command
from schedtop.ui.screens.search import Search
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.parts import keys_of, made_of
from schedtop.widgets.strips import Spans

Text = Callable[[int], Iterable[Spans]]
"""The lines of a text, broken to a width in cells."""


class TextBox(Canvas):
    """The text, as high as it is where there is room."""

    DEFAULT_CSS = """
    TextBox {
        width: 100%; max-width: 106; height: auto; max-height: 100%; background: $panel; border: heavy $primary;
        padding: 0 2; border-title-color: $primary; border-title-style: bold; border-subtitle-color: $faint;
    }
    """

    def __init__(self, title: str, text: Text, keys: str) -> None:
        """`keys`: what of its keys the lower edge tells."""
        super().__init__()
        self.border_title = Content(title)  # a task may call itself [red]
        self._make, self._keys = text, keys
        self._found = 0
        self._text: tuple[int, list[Spans]] = (-1, [])

    def replace(self, title: str, text: Text, keys: str) -> None:
        """Shows another text, from the same line on; under the same title the box gets no lower, which would move all
        lines."""
        words = Content(title)
        self.styles.min_height = self.outer_size.height if self.border_title == words else None
        self.border_title = words
        self._make, self._keys, self._text = text, keys, (-1, [])
        self.refresh(layout=True)
        self.draw()

    def lines_for(self, width: int) -> list[Spans]:
        """All lines at a width."""
        if self._text[0] != width:
            self._text = (width, list(self._make(width)))
        return self._text[1]

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(self.lines_for(width))

    def search_texts(self) -> Sequence[str]:
        return ["".join(text for text, _ in line) for line in self.lines_for(self.inner.width)]

    @property
    def search_row(self) -> int:
        return self._found

    def reveal_row(self, row: int) -> None:
        self._found = row
        if not self.top <= row < self.top + self.inner.height:
            self.top = max(0, row - self.inner.height // 3)
        self.clamp_top()
        self.draw()

    def draw(self) -> None:
        width, height = self.inner
        if not width:
            return
        lines = self.lines_for(width)
        self.total_rows = len(lines)
        self.clamp_top()
        self.put(lines[self.top : self.top + height])
        self.border_subtitle = f"more below · {self._keys}" if self.top + height < len(lines) else self._keys


PARTS = {"search": Search, "action_list": ActionList}

KEYS: Sequence[BindingType] = (
    Binding("escape", "back", "Close", id="back", tooltip="Ends the search, else closes the text"),
    Binding("y", "copy", "Copy", id="copy", tooltip="Copies the command in the text"),
    Binding("q,f10,v,i,enter", "close", "Close", id="close", tooltip="Closes the text"),
)


def _keys_told(command: str) -> str:
    return f"{'y copies · ' if command else ''}↑ ↓ scroll · Esc closes"


@made_of(PARTS)
class TextScreen(ModalScreen[None]):
    """One text; the keys that opened it close it, too, and so does a click beside it."""

    DEFAULT_CSS = """
    TextScreen { align: center middle; }
    """

    BINDINGS: ClassVar[list[BindingType]] = keys_of(PARTS, KEYS)

    def __init__(self, title: str, text: Text, *, command: str = "", free_rows: int = 0) -> None:
        """`command`: what in it is to be copied, if anything is. `free_rows`: above it so many rows stay free."""
        super().__init__()
        self.search = Search(self)
        self.action_list = ActionList(self, self.search.target)
        self._content = TextBox(title, text, _keys_told(command))
        self._content.styles.margin = (free_rows, 0, 0, 0)
        self._command = command

    def replace(self, title: str, text: Text, *, command: str = "") -> None:
        """Shows another text in place of this one."""
        self._command = command
        self._content.replace(title, text, _keys_told(command))

    def compose(self) -> ComposeResult:
        yield self._content

    def on_mount(self, _event: events.Mount) -> None:
        self._content.focus()

    def on_resize(self, _event: events.Resize) -> None:
        self._content.styles.min_height = None  # it may be more than there is now

    def on_click(self, event: events.Click) -> None:
        if not self._content.region.contains(event.screen_x, event.screen_y):
            close(self)

    def action_back(self) -> None:
        """Ends the search, else closes."""
        if not self.search.end():
            close(self)

    def action_close(self) -> None:
        close(self)

    def action_copy(self) -> None:
        copy_command(self, self._command)
