"""The line in which a moment of a recording is typed; what is wrong with it is said in the same place."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

PlaceOf = Callable[[str], int]
"""The number of the interval at a moment that somebody typed. Raises ValueError with a sentence."""


class SeekBar(Horizontal):
    """Hidden until opened. Enter goes to the moment, Escape closes the line."""

    DEFAULT_CSS = """
    SeekBar {
        height: 1; display: none; background: $panel; padding: 0 1;
        & > .seek-label { width: auto; color: $primary; text-style: bold; }
        & > Input, & > Input:focus {
            width: 1fr; height: 1; border: none; background: $background; color: $foreground; padding: 0 1;
        }
        & > .seek-note { width: auto; max-width: 65%; height: 1; color: $faint; padding: 0 1; }
        & > .seek-note.wrong { color: $warning; text-style: bold; max-width: 80%; }
    }
    SeekBar.open { display: block; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", show=False, id="prompt-close", tooltip="Closes the line"),
    ]

    HINT = "90s, 2m, 14:03:10  Enter goes there, Esc closes"

    class Sought(Message):
        """Somebody wants to be at an interval."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    class Closed(Message):
        """The line was left."""

    def __init__(self, place_of: PlaceOf, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._place_of = place_of

    def compose(self) -> ComposeResult:
        yield Static("go to ", classes="seek-label", markup=False)
        yield Input(id="seek-input")
        yield Static(self.HINT, classes="seek-note", markup=False)

    def open(self) -> None:
        """Opens the line, empty."""
        self.add_class("open")
        entry = self.query_one(Input)
        entry.value = ""
        self._note(self.HINT, wrong=False)
        entry.focus()

    def action_close(self) -> None:
        """Closes the line."""
        if self.has_class("open"):
            self.remove_class("open")
            self.post_message(self.Closed())

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._note(self.HINT, wrong=False)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            number = self._place_of(event.value)
        except ValueError as problem:
            self._note(str(problem), wrong=True)
            return
        self.post_message(self.Sought(number))
        self.action_close()

    def on_descendant_blur(self, _event: events.DescendantBlur) -> None:
        self.action_close()

    def _note(self, text: str, *, wrong: bool) -> None:
        note = self.query_one(".seek-note", Static)
        note.update(text)
        note.set_class(wrong, "wrong")
