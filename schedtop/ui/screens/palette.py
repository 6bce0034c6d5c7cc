"""The command palette: every action of a screen with its key and meaning, found by a part of its name.

Textual's own looks for matches in the background, so that Enter right behind the name would find nothing yet: this one
has found them when the next key comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.dom import DOMNode
from textual.fuzzy import Matcher
from textual.screen import ModalScreen
from textual.widgets import Input

from schedtop.ui.keys.bindings import KeyRow
from schedtop.ui.screens.chooser import Choice, ChoiceList
from schedtop.ui.screens.closing import close

Found = tuple[DOMNode, KeyRow]
"""An action, and what it is done to."""

MEANING_WEIGHT = 0.3
"""A word in the meaning counts less than one in the name."""


class Palette(ModalScreen[Found | None]):
    """Gives what was chosen, and what does it."""

    DEFAULT_CSS = """
    Palette { align: center top; }
    Palette > Vertical {
        width: 96%; max-width: 100; height: auto; max-height: 85%; margin-top: 3; background: $panel;
        & > Input, & > Input:focus {
            width: 1fr; height: 1; border: none; background: $background; color: $foreground; padding: 0 2;
        }
        & > ChoiceList { width: 1fr; max-width: 100; height: auto; max-height: 18; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,ctrl+p", "move(-1)", "Up", show=False, id="palette-up"),
        Binding("down,ctrl+n", "move(1)", "Down", show=False, id="palette-down"),
        Binding("pageup", "move(-10)", "Page up", show=False, id="palette-page-up"),
        Binding("pagedown", "move(10)", "Page down", show=False, id="palette-page-down"),
        Binding("escape,f10", "close", "Close", show=False, id="prompt-close"),
    ]

    def __init__(self, actions: Sequence[Found]) -> None:
        super().__init__()
        self._all = [
            Choice(row.word, [(row.meaning, "text")], (node, row), " ".join(row.keys.split()[:2]))
            for node, row in actions
        ]
        self._list = ChoiceList(self._all)
        self._list.can_focus = False
        self._list.border_title = "All actions here"
        self._list.border_subtitle = "type a part of a name · ↑ ↓ Enter · Esc closes"

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Input(placeholder="what to do: freeze, sort, verdict ...")
            yield self._list

    def on_mount(self, _event: events.Mount) -> None:
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._list.show(matching(self._all, event.value))
        self._list.refresh(layout=True)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._list.choose(self._list.index)

    def on_choice_list_chosen(self, event: ChoiceList.Chosen) -> None:
        event.stop()
        close(self, event.choice.value)

    def on_click(self, event: events.Click) -> None:
        if not self.query_one(Vertical).region.contains(event.screen_x, event.screen_y):
            close(self)

    def action_move(self, rows: int) -> None:
        """Moves the cursor in the list."""
        self._list.action_move(rows)

    def action_close(self) -> None:
        """Does nothing."""
        close(self)


def matching(choices: Sequence[Choice], wanted: str) -> list[Choice]:
    """The choices with the letters in their key, name or meaning, the best one first."""
    if not wanted.strip():
        return list(choices)
    matcher = Matcher(wanted.strip())
    scored = []
    for choice in choices:
        meaning = choice.detail[0][0]
        score = max(matcher.match(choice.title), MEANING_WEIGHT * (wanted.strip().lower() in meaning.lower()))
        # A name that begins so is what was meant.
        score += choice.title.lower().startswith(wanted.strip().lower())
        score += 2 * (wanted.strip() in choice.key.split())
        scored.append((score, choice))
    return [choice for score, choice in sorted(scored, key=lambda one: -one[0]) if score > 0]
