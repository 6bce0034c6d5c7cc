"""The line in which a filter is typed; what is wrong with it is said in the same place."""

from __future__ import annotations

import re
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from schedtop.filters import Filter

UNFINISHED = re.compile(r"\b\w+[:=]$")


class FilterBar(Horizontal):
    """Hidden until opened. Every valid state of the text is applied at once; Enter keeps it, Escape clears it."""

    DEFAULT_CSS = """
    FilterBar {
        height: 1; display: none; background: $panel; padding: 0 1;
        & > .filter-label { width: auto; color: $primary; text-style: bold; }
        & > Input, & > Input:focus {
            width: 1fr; height: 1; border: none; background: $background; color: $foreground; padding: 0 1;
        }
        & > .filter-note { width: auto; max-width: 65%; height: 1; color: $faint; padding: 0 1; }
        & > .filter-note.wrong { color: $warning; text-style: bold; }
    }
    FilterBar.open { display: block; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "escape", "clear", "Clear filter", show=False, id="filter-clear", tooltip="Clears and closes the filter"
        ),
    ]

    HINT = "name tid:1 cpu:0,1 cgroup:web  Enter keeps, Esc clears"

    class Changed(Message):
        """Another filter holds."""

        def __init__(self, value: Filter) -> None:
            super().__init__()
            self.value = value

    class Closed(Message):
        """The line was left."""

    def compose(self) -> ComposeResult:
        yield Static("filter ", classes="filter-label", markup=False)
        yield Input(id="filter-input")
        yield Static(self.HINT, classes="filter-note", markup=False)

    def open(self, current: Filter) -> None:
        """Opens the line with the filter that holds."""
        self.add_class("open")
        entry = self.query_one(Input)
        with entry.prevent(Input.Changed):
            entry.value = str(current)
        entry.cursor_position = len(entry.value)
        self._note(self.HINT, wrong=False)
        entry.focus()

    @property
    def is_open(self) -> bool:
        """Whether it is visible."""
        return self.has_class("open")

    def action_clear(self) -> None:
        """Clears the filter and closes the line."""
        self.post_message(self.Changed(Filter()))
        self._close()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        # A field without its value is still being typed.
        value = self._parsed(UNFINISHED.sub("", event.value))
        if value is not None:
            self._note(self.HINT, wrong=False)
            self.post_message(self.Changed(value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        value = self._parsed(event.value)
        if value is not None:
            self.post_message(self.Changed(value))
            self._close()

    def parsed(self, text: str) -> Filter:
        """The filter. Raises ValueError with a sentence for the user."""
        return Filter.parse(text)

    def _parsed(self, text: str) -> Filter | None:
        """The filter, `None` after saying what is wrong with it."""
        try:
            return self.parsed(text)
        except ValueError as problem:
            self._note(str(problem), wrong=True)
            return None

    def on_descendant_blur(self, _event: events.DescendantBlur) -> None:
        if self.is_open:
            self._close()

    def _close(self) -> None:
        if self.is_open:
            self.remove_class("open")
            self.post_message(self.Closed())

    def _note(self, text: str, *, wrong: bool) -> None:
        note = self.query_one(".filter-note", Static)
        note.update(text)
        note.set_class(wrong, "wrong")
