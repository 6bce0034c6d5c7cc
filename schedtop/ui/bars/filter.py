"""The line in which a filter is typed; what is wrong with it is said in the same place."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

from schedtop.model.filters import Filter
from schedtop.ui.bars.prompt import PromptBar

UNFINISHED = re.compile(r"\b\w+[:=]$")


class FilterBar(PromptBar):
    """Every valid state of the text is applied at once; Enter keeps it, Escape clears it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "escape", "clear", "Clear filter", show=False, id="filter-clear", tooltip="Clears and closes the filter"
        ),
    ]

    LABEL = "filter"
    HINT = "name tid:1 cpu:0,1 cgroup:web, Esc clears"

    class Changed(Message):
        """Another filter holds."""

        def __init__(self, value: Filter) -> None:
            super().__init__()
            self.value = value

    class Closed(Message):
        """The line was left."""

    def __init__(self, parse: Callable[[str], Filter] = Filter.parse, hint: str = "", *, id: str | None = None) -> None:
        """`parse` raises ValueError with a sentence for the user; `hint`: another one."""
        super().__init__(hint, id=id)
        self._parse = parse

    def action_clear(self) -> None:
        """Clears the filter and closes the line."""
        self.post_message(self.Changed(Filter()))
        self.leave()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        # A field without its value is still being typed.
        value = self._parsed(UNFINISHED.sub("", event.value))
        if value is not None:
            self.say(self.hint)
            self.post_message(self.Changed(value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        value = self._parsed(event.value)
        if value is not None:
            self.post_message(self.Changed(value))
            self.leave()

    def _parsed(self, text: str) -> Filter | None:
        """The filter, `None` after saying what is wrong with it."""
        try:
            return self._parse(text)
        except ValueError as problem:
            self.say(str(problem), wrong=True)
            return None

    def leave(self) -> None:
        self.close(self.Closed())
