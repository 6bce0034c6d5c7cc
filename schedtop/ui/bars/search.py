"""The line in which one types what is searched for; how many rows have it is said in the same place."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

from schedtop.ui.bars.prompt import PromptBar


class SearchBar(PromptBar):
    """Enter keeps what was found, Escape goes back to where one was."""

    DEFAULT_CSS = """
    SearchBar { dock: bottom; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", show=False, id="prompt-close", tooltip="Leaves the search"),
    ]

    LABEL = "search"
    HINT = "Enter keeps, n N go on, Esc ends"

    class Changed(Message):
        """Something else is searched for."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Closed(Message):
        """The line was left; `kept`: not with Escape."""

        def __init__(self, kept: bool) -> None:
            super().__init__()
            self.kept = kept

    def action_cancel(self) -> None:
        """Leaves the search."""
        self.close(self.Closed(kept=False))

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.leave()

    def leave(self) -> None:
        self.close(self.Closed(kept=True))
