"""The line in which something is typed: what it wants, the text, and a note on it."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static


class PromptBar(Horizontal):
    """Hidden until opened; it closes when something else gets the focus.

    `LABEL` stands before the text, `HINT` behind it while there is nothing else to say.
    """

    DEFAULT_CSS = """
    PromptBar {
        height: 1; display: none; background: $panel; padding: 0 1;
        & > .label { width: auto; color: $primary; text-style: bold; }
        & > Input, & > Input:focus {
            width: 1fr; height: 1; border: none; background: $background; color: $foreground; padding: 0 1;
        }
        & > .note { width: auto; max-width: 65%; height: 1; color: $faint; padding: 0 1; }
        & > .note.wrong { color: $warning; text-style: bold; }
    }
    PromptBar.open { display: block; }
    """

    LABEL: ClassVar[str] = ""
    HINT: ClassVar[str] = ""

    def __init__(self, hint: str = "", *, id: str | None = None) -> None:
        """`hint`: another one than that of the class."""
        super().__init__(id=id)
        self.hint = hint or self.HINT

    def compose(self) -> ComposeResult:
        yield Static(f"{self.LABEL} ", classes="label", markup=False)
        yield Input()
        yield Static(self.hint, classes="note", markup=False)

    @property
    def is_open(self) -> bool:
        """Whether it is visible."""
        return self.has_class("open")

    def open(self, text: str = "") -> None:
        """Opens the line with a text to begin with."""
        self.add_class("open")
        entry = self.query_one(Input)
        with entry.prevent(Input.Changed):
            entry.value = text
        entry.cursor_position = len(text)
        self.say(self.hint)
        entry.focus()

    def say(self, text: str, *, wrong: bool = False) -> None:
        """Says what there is to say of the text."""
        note = self.query_one(".note", Static)
        note.update(text)
        note.set_class(wrong, "wrong")

    def close(self, closed: Message) -> None:
        """Closes the line and tells so, if it is open."""
        if self.is_open:
            self.remove_class("open")
            self.post_message(closed)

    def leave(self) -> None:
        """Closes the line with what stands in it."""
        raise NotImplementedError

    def on_descendant_blur(self, _event: events.DescendantBlur) -> None:
        self.leave()
