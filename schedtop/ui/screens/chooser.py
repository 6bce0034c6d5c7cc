"""A short list from which one thing is chosen: with arrows and Enter, a digit, or a click."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen

from schedtop.ui.screens.closing import close
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.strips import Spans, clip_spans, fit, spans_width

DIGITS = "1234567890"
"""The keys of the first choices."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of them: what stands in front (a key), its name, what is to be said of it, and what is handed back."""

    title: str
    detail: Spans
    value: Any
    key: str = ""


class ChoiceList(Canvas):
    """The choices, a line each, one of them under the cursor."""

    DEFAULT_CSS = """
    ChoiceList {
        width: 100%; max-width: 84; height: auto; max-height: 100%; background: $panel; border: heavy $primary;
        padding: 0 1; border-title-color: $primary; border-title-style: bold; border-subtitle-color: $faint;
    }
    """

    class Chosen(Message):
        """This is the one."""

        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice = choice

    def __init__(self, choices: Sequence[Choice], index: int = 0) -> None:
        super().__init__()
        self.choices = choices
        self.index = index

    def show(self, choices: Sequence[Choice]) -> None:
        """Other choices, the first one under the cursor."""
        self.choices, self.index, self.top = choices, 0, 0
        self.draw()

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return max(1, len(self.choices))

    def draw(self) -> None:
        width, height = self.inner
        if not width:
            return
        self.total_rows = len(self.choices)
        self.top = min(max(self.top, self.index - height + 1), self.index)
        self.clamp_top()
        keys = max((len(one.key) for one in self.choices), default=0)
        titles = max((len(one.title) for one in self.choices), default=0)
        lines: list[Spans] = []
        for at, one in enumerate(self.choices[self.top : self.top + height], self.top):
            line = [(fit(one.key, keys) + "  ", "key"), (fit(one.title, titles) + "  ", "strong"), *one.detail]
            line = clip_spans(line, width)
            if at == self.index:
                text = "".join(part for part, _ in line)
                line = [(text + " " * (width - spans_width(line)), "cursor")]
            lines.append(line)
        self.put(lines or [[("nothing has that name", "dim")]])

    def action_move(self, rows: int) -> None:
        self.index = max(0, min(self.index + rows, len(self.choices) - 1))
        self.draw()

    def choose(self, index: int) -> None:
        """Takes one, if there is one."""
        if 0 <= index < len(self.choices):
            self.post_message(self.Chosen(self.choices[index]))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None:
            self.choose(self.top + offset.y)


class Chooser(ModalScreen[Any]):
    """Gives the value of what was chosen, `None` if nothing was."""

    DEFAULT_CSS = """
    Chooser { align: center middle; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose(-1)", "Choose", id="choose", tooltip="Takes what is under the cursor"),
        *(Binding(digit, f"choose({at})", "Choose", id=f"choose-{digit}") for at, digit in enumerate(DIGITS)),
        Binding("escape,q,f10,p,F,f6", "close", "Close", id="close", tooltip="Chooses nothing"),
    ]

    def __init__(self, title: str, choices: Sequence[Choice], index: int = 0) -> None:
        super().__init__()
        self._list = ChoiceList(choices, index)
        self._list.border_title = Content(title)
        self._list.border_subtitle = Content("↑ ↓ Enter, a digit, or a click · Esc closes")

    def compose(self) -> ComposeResult:
        yield self._list

    def on_mount(self, _event: events.Mount) -> None:
        self._list.focus()

    def action_choose(self, index: int) -> None:
        """Takes the choice at an index; negative: the one under the cursor."""
        self._list.choose(self._list.index if index < 0 else index)

    def on_choice_list_chosen(self, event: ChoiceList.Chosen) -> None:
        event.stop()
        close(self, event.choice.value)

    def on_click(self, event: events.Click) -> None:
        if not self._list.region.contains(event.screen_x, event.screen_y):
            close(self)

    def action_close(self) -> None:
        """Chooses nothing."""
        close(self)
