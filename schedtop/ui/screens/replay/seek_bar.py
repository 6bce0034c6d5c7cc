"""The line in which a moment of a recording is typed; what is wrong with it is said in the same place."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

from schedtop.ui.bars.prompt import PromptBar

PlaceOf = Callable[[str], int]
"""The number of the interval at a moment that was typed. Raises ValueError with a sentence."""


class SeekBar(PromptBar):
    """Enter goes to the moment, Escape closes the line."""

    DEFAULT_CSS = """
    SeekBar > .note.wrong { max-width: 80%; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", show=False, id="prompt-close", tooltip="Closes the line"),
    ]

    LABEL = "go to"
    HINT = "90s, 2m, 14:03:10  Enter goes there, Esc closes"

    class Sought(Message):
        """The user wants to be at an interval."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    class Closed(Message):
        """The line was left."""

    def __init__(self, place_of: PlaceOf, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._place_of = place_of

    def action_close(self) -> None:
        """Closes the line."""
        self.leave()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.say(self.hint)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            number = self._place_of(event.value)
        except ValueError as problem:
            self.say(str(problem), wrong=True)
            return
        self.post_message(self.Sought(number))
        self.leave()

    def leave(self) -> None:
        self.close(self.Closed())
