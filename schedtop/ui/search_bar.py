"""The line in which one types what is searched for; how many rows have it is said in the same place."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static


class SearchBar(Horizontal):
    """Hidden until opened. Enter keeps what was found, Escape goes back to where one was."""

    DEFAULT_CSS = """
    SearchBar {
        dock: bottom; height: 1; display: none; background: $panel; padding: 0 1;
        & > .search-label { width: auto; color: $primary; text-style: bold; }
        & > Input, & > Input:focus {
            width: 1fr; height: 1; border: none; background: $background; color: $foreground; padding: 0 1;
        }
        & > .search-note { width: auto; max-width: 65%; height: 1; color: $faint; padding: 0 1; }
        & > .search-note.wrong { color: $warning; text-style: bold; }
    }
    SearchBar.open { display: block; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", show=False, id="prompt-close", tooltip="Leaves the search"),
    ]

    HINT = "Enter keeps, n N go on, Esc ends"

    class Changed(Message):
        """Something else is searched for."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Closed(Message):
        """The line was left; `kept`: with Enter."""

        def __init__(self, kept: bool) -> None:
            super().__init__()
            self.kept = kept

    def compose(self) -> ComposeResult:
        yield Static("search ", classes="search-label", markup=False)
        yield Input(id="search-input")
        yield Static(self.HINT, classes="search-note", markup=False)

    def open(self) -> None:
        """Opens the line, empty."""
        self.add_class("open")
        entry = self.query_one(Input)
        with entry.prevent(Input.Changed):
            entry.value = ""
        self.say(self.HINT)
        entry.focus()

    @property
    def is_open(self) -> bool:
        """Whether it is visible."""
        return self.has_class("open")

    def say(self, text: str, *, wrong: bool = False) -> None:
        """Says how the search goes."""
        note = self.query_one(".search-note", Static)
        note.update(text)
        note.set_class(wrong, "wrong")

    def action_cancel(self) -> None:
        """Leaves the search."""
        self._close(kept=False)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._close(kept=True)

    def on_descendant_blur(self, _event: events.DescendantBlur) -> None:
        self._close(kept=True)

    def _close(self, *, kept: bool) -> None:
        if self.is_open:
            self.remove_class("open")
            self.post_message(self.Closed(kept))
