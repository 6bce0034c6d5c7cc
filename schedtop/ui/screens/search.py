"""What all screens share: the search in what has the focus, and the list of all actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual import on
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.screen import Screen

from schedtop.ui.bars.search import SearchBar
from schedtop.ui.keys.bindings import KeyRow, key, key_rows, keymap_of
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.strips import rows_with


class SearchScreen(Screen[None]):
    """A screen of Canvases: the one with the focus is searched."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key(
            "slash,f3",
            "search",
            "Search",
            "Finds a text in the focused pane as one types it: rows by their names, else lines; Esc ends it",
            shown=True,
        ),
        key("n", "search_next(1)", "Next match", "The next row or line with the text, around the end"),
        key("N", "search_next(-1)", "Match before", "The one before, around the beginning"),
        key(
            "colon,ctrl+p,f2", "palette", "All keys", "Finds every action here by its name", name="palette", shown=True
        ),
    ]

    NO_USE: ClassVar[frozenset[str]] = frozenset()
    """Names of actions that have nothing to do on this screen."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.sought = ""
        """What is searched for; empty: nothing."""
        self._sought_in: Canvas | None = None
        self._search_from: tuple[int, Any] = (0, None)

    # The search.

    @property
    def search_target(self) -> Canvas | None:
        """What is searched: what has the focus."""
        return self.focused if isinstance(self.focused, Canvas) else None

    async def action_search(self) -> None:
        """Opens the line in which one types what is searched for."""
        target = self.search_target
        if target is None:
            return
        self.end_search()
        self._sought_in = target
        self._search_from = (target.search_row, target.place)
        if not self.query(SearchBar):
            await self.mount(SearchBar())
        self.query_one(SearchBar).open()

    @on(SearchBar.Changed)
    def _search_changed(self, event: SearchBar.Changed) -> None:
        target, bar = self._sought_in, self.query_one(SearchBar)
        if target is None:
            return
        self.sought = event.text
        target.mark(event.text)
        row, place = self._search_from
        found = rows_with(target.search_texts(), event.text) if event.text else []
        if not found:
            target.go_back_to(place)
            bar.say(f"no match among {len(target.search_texts())}" if event.text else bar.HINT, wrong=bool(event.text))
            return
        number = next((at for at, one in enumerate(found) if one >= row), 0)
        target.reveal_row(found[number])
        bar.say(f"{number + 1} of {len(found)}  {bar.HINT}")

    @on(SearchBar.Closed)
    def _search_closed(self, event: SearchBar.Closed) -> None:
        target = self._sought_in
        if target is None:
            return
        if not event.kept or not self.sought:
            self.end_search()
            if not event.kept:
                target.go_back_to(self._search_from[1])
        target.focus(scroll_visible=False)

    def action_search_next(self, step: int) -> None:
        """To the next row or line that has it, in what has the focus now."""
        target = self.search_target
        if target is None:
            return
        if not self.sought:
            self.notify("/ searches; then n and N go to the next match and to the one before", timeout=4)
            return
        if target is not self._sought_in:
            self._unmark()
            self._sought_in = target
        target.mark(self.sought)
        found = rows_with(target.search_texts(), self.sought)
        if not found:
            self.notify(f"nothing here has {self.sought}", timeout=3, markup=False)
            return
        at = target.search_row
        ahead = [row for row in found if (row > at if step > 0 else row < at)]
        if not ahead:
            words = "the only match" if len(found) == 1 else "on from the top" if step > 0 else "on from the end"
            self.notify(f"{self.sought}: {words}", timeout=2, markup=False)
        rows = ahead or found
        target.reveal_row(rows[0] if step > 0 else rows[-1])

    def end_search(self) -> bool:
        """Ends the search; false if there was none."""
        had, self.sought = bool(self.sought), ""
        self._unmark()
        return had

    def _unmark(self) -> None:
        if self._sought_in is not None and self._sought_in.is_attached:
            self._sought_in.mark("")

    # All actions.

    def rows_of(self, owner: type[DOMNode]) -> list[KeyRow]:
        """The keys of a class, as they are in force."""
        return key_rows(owner.__dict__.get("BINDINGS", ()), keymap_of(self.app))

    def actions(self) -> list[tuple[DOMNode, KeyRow]]:
        """Everything that a key does here, with what it does it to: the focused pane, the screen, the app."""
        found: dict[str, tuple[DOMNode, KeyRow]] = {}
        nodes: Sequence[DOMNode | None] = (self, self.search_target, self.app)
        for node in nodes:
            for owner in type(node).__mro__ if node is not None else ():
                if owner.__module__.startswith("schedtop") and issubclass(owner, DOMNode):
                    for row in self.rows_of(owner):
                        if row.name not in self.NO_USE and node is not None:
                            found.setdefault(row.name, (node, row))
        return list(found.values())

    def pane_rows(self, pane: Canvas) -> list[KeyRow]:
        """The keys that a pane has for itself."""
        owners = [owner for owner in type(pane).__mro__ if owner is not Canvas and issubclass(owner, Canvas)]
        return [row for owner in owners for row in self.rows_of(owner)]

    def action_palette(self) -> None:
        """Opens the list of all actions."""
        from schedtop.ui.screens.palette import Palette  # nobody needs it at the start

        self.app.push_screen(Palette([*self.actions(), *self.more_actions()]), self._run_chosen)

    def more_actions(self) -> list[tuple[DOMNode, KeyRow]]:
        """What has no key of its own, but is found by its name."""
        return []

    async def _run_chosen(self, chosen: tuple[DOMNode, KeyRow] | None) -> None:
        if chosen is not None:
            node, row = chosen
            await self.app.run_action(row.action, default_namespace=node)
