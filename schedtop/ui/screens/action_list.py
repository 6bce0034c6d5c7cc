"""Everything that keys do on a screen: for its key bar, its help, and the list in which actions are found by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.dom import DOMNode
from textual.screen import Screen

from schedtop.ui.keys.bindings import KeyRow, key, key_rows
from schedtop.ui.screens.palette import Found, Palette
from schedtop.ui.terminal.textual_private import keymap_of
from schedtop.widgets.canvas import Canvas


def nothing_more() -> Sequence[KeyRow]:
    """No actions without keys."""
    return ()


class ActionList:
    """The actions of a screen, of what has the focus on it, and of the app."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key(
            "colon,ctrl+p,f2", "palette", "All keys", "Finds every action here by its name", name="palette", shown=True
        ),
    ]

    def __init__(
        self,
        screen: Screen[Any],
        focused: Callable[[], Canvas | None],
        *,
        no_use: frozenset[str] = frozenset(),
        more: Callable[[], Sequence[KeyRow]] = nothing_more,
        also: Sequence[KeyRow] = (),
    ) -> None:
        """`no_use`: names of actions that have nothing to do here; `more`: what has no key, but is found by its name;
        `also`: rows for the help."""
        self._screen = screen
        self._focused = focused
        self._no_use = no_use
        self._more = more
        self._also = also

    def rows_of(self, owner: type[DOMNode]) -> list[KeyRow]:
        """The keys of a class, as they are in force."""
        return key_rows(owner.__dict__.get("BINDINGS", ()), keymap_of(self._screen.app))

    def every(self) -> list[Found]:
        """Everything that a key does here, with what it does it to: the focused pane, the screen, the app."""
        found: dict[str, Found] = {}
        nodes: Sequence[DOMNode | None] = (self._screen, self._focused(), self._screen.app)
        for node in nodes:
            for owner in type(node).__mro__ if node is not None else ():
                if owner.__module__.startswith("schedtop") and issubclass(owner, DOMNode):
                    for row in self.rows_of(owner):
                        if row.name not in self._no_use and node is not None:
                            found.setdefault(row.name, (node, row))
        return [*found.values(), *((self._screen, row) for row in self._also)]

    def of_screen(self) -> list[KeyRow]:
        """The keys of the screen itself."""
        return [row for node, row in self.every() if node is self._screen]

    def for_help(self) -> list[KeyRow]:
        """The keys of everything but the focused pane, and those that all panes have."""
        focused = self._focused()
        return [*(row for node, row in self.every() if node is not focused), *self.rows_of(Canvas)]

    def of_pane(self, pane: Canvas) -> list[KeyRow]:
        """The keys that a pane has for itself."""
        owners = [owner for owner in type(pane).__mro__ if owner is not Canvas and issubclass(owner, Canvas)]
        return [row for owner in owners for row in self.rows_of(owner)]

    def action_palette(self) -> None:
        """Opens the list of all actions."""
        named = [(self._screen, row) for row in self._more()]
        self._screen.app.push_screen(Palette([*self.every(), *named]), self._run_chosen)

    async def _run_chosen(self, chosen: Found | None) -> None:
        if chosen is not None:
            node, row = chosen
            await self._screen.app.run_action(row.action, default_namespace=node)
