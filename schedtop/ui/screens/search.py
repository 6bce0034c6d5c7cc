"""The search in what has the focus on a screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from schedtop.ui.bars.search import SearchBar
from schedtop.ui.keys.bindings import key
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.strips import rows_with


class Search:
    """The part of a screen of Canvases that searches one of them."""

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
    ]

    def __init__(self, screen: Screen[Any], otherwise: Callable[[], Canvas | None] | None = None) -> None:
        """What is searched is what has the focus, `otherwise` something else."""
        self._screen = screen
        self._otherwise = otherwise
        self.sought = ""
        """What is searched for; empty: nothing."""
        self._sought_in: Canvas | None = None
        self._search_from: tuple[int, Any] = (0, None)

    def target(self) -> Canvas | None:
        """What is searched."""
        focused = self._screen.focused
        if isinstance(focused, Canvas):
            return focused
        return self._otherwise() if self._otherwise is not None else None

    async def action_search(self) -> None:
        """Opens the line in which one types what is searched for."""
        target = self.target()
        if target is None:
            return
        self.end()
        self._sought_in = target
        self._search_from = (target.search_row, target.place)
        if not self._screen.query(SearchBar):
            await self._screen.mount(SearchBar())
        self._screen.query_one(SearchBar).open()

    def on_search_bar_changed(self, event: SearchBar.Changed) -> None:
        """Shows the first match from where it began."""
        target, bar = self._sought_in, self._screen.query_one(SearchBar)
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

    def on_search_bar_closed(self, event: SearchBar.Closed) -> None:
        """Keeps what was found, or goes back to where it began."""
        target = self._sought_in
        if target is None:
            return
        if not event.kept or not self.sought:
            self.end()
            if not event.kept:
                target.go_back_to(self._search_from[1])
        target.focus(scroll_visible=False)

    def action_search_next(self, step: int) -> None:
        """To the next row or line that has it, in what has the focus now."""
        target = self.target()
        if target is None:
            return
        if not self.sought:
            self._screen.notify("/ searches; then n and N go to the next match and to the one before", timeout=4)
            return
        if target is not self._sought_in:
            self._unmark()
            self._sought_in = target
        target.mark(self.sought)
        found = rows_with(target.search_texts(), self.sought)
        if not found:
            self._screen.notify(f"nothing here has {self.sought}", timeout=3, markup=False)
            return
        at = target.search_row
        ahead = [row for row in found if (row > at if step > 0 else row < at)]
        if not ahead:
            words = "the only match" if len(found) == 1 else "on from the top" if step > 0 else "on from the end"
            self._screen.notify(f"{self.sought}: {words}", timeout=2, markup=False)
        rows = ahead or found
        target.reveal_row(rows[0] if step > 0 else rows[-1])

    def end(self) -> bool:
        """Ends the search; false if there was none."""
        had, self.sought = bool(self.sought), ""
        self._unmark()
        return had

    def _unmark(self) -> None:
        if self._sought_in is not None and self._sought_in.is_attached:
            self._sought_in.mark("")
