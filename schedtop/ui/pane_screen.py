"""The arrangement of the panes on the screen: which are seen at which size, which has the focus, which is zoomed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.screen import Screen
from textual.widgets import Static

from schedtop.panes.header import HeaderPane
from schedtop.panes.pane import Pane
from schedtop.ui.bindings import key
from schedtop.ui.filter_bar import FilterBar
from schedtop.ui.key_bar import KeyBar
from schedtop.ui.layout import CLASSES, layout_classes
from schedtop.ui.terminal import LEAST_COLUMNS, LEAST_LINES


class PaneScreen(Screen[None]):
    """Header, panes, filter line and key bar.

    The pane with the class `current` is the one that is seen where there is no room for all (`slot`s share a place
    in the small layout); `zoomed` is alone at any size. Panes of one `place` share it at every size: all but the one
    that had the focus last are `aside`. What is not seen is not drawn, and is named in the border of what is.
    """

    AUTO_FOCUS = None
    ESCAPE_TO_MINIMIZE = False

    BINDINGS: ClassVar[list[BindingType]] = [
        key("z", "zoom", "Zoom", "The focused pane alone, and back", shown=True),
        key("1", "focus_number(1)", "CPUs", "To the CPUs"),
        key("2", "focus_number(2)", "Latency", "To the runqueue latency"),
        key("3", "focus_number(3)", "Steal", "To steal"),
        key("4", "focus_number(4)", "Slow waits", "To the slow waits"),
        key("5", "focus_number(5)", "Tasks", "To the tasks"),
        key("6", "focus_number(6)", "Blame", "To who preempts whom"),
        key("7", "focus_number(7)", "Run queue", "To the run queue's length"),
        key("8", "focus_number(8)", "Short-lived", "To the tasks that came and went"),
        key("tab", "focus_pane(1)", "Next pane", "To the next pane"),
        key("shift+tab", "focus_pane(-1)", "Pane before", "To the pane before"),
    ]

    def __init__(self, panes: Sequence[Pane]) -> None:
        super().__init__()
        self.panes = tuple(panes)
        for pane in panes:
            pane.add_class(f"place-{pane.place}")
            pane.set_class(pane.place != pane.NUMBER, "aside")
        self._grid = Container(*panes, id="panes")
        self._too_small = Static(id="too-small", markup=False)

    def compose(self) -> ComposeResult:
        yield HeaderPane(id="header")
        yield self._grid
        yield FilterBar(id="filter-bar")
        yield KeyBar(id="key-bar")
        yield self._too_small

    @property
    def current(self) -> Pane:
        """The pane that had the focus last, or takes the place of the others."""
        return next(pane for pane in self.panes if pane.has_class("current"))

    @property
    def is_zoomed(self) -> bool:
        """Whether one pane is alone on the screen."""
        return self._grid.has_class("zoomed")

    @property
    def pane_keys(self) -> tuple[str, str, str]:
        """What stands in the key bar for the keys of all panes."""
        return (f"Tab 1-{max(pane.NUMBER for pane in self.panes)}", "Pane", "focus_pane(1)")

    def on_mount(self, _event: events.Mount) -> None:
        self.focus_pane(self._first_in_slot())

    def on_resize(self, event: events.Resize) -> None:
        wanted = layout_classes(event.size.width, event.size.height)
        for name in CLASSES:
            self.set_class(name in wanted, name)
        size = f"{event.size.width}x{event.size.height}"
        self._too_small.update(f"the terminal is too small: {size}\nschedtop needs {LEAST_COLUMNS}x{LEAST_LINES}")
        self.call_after_refresh(self._arranged)

    def focus_pane(self, pane: Pane) -> None:
        """Gives a pane the focus; one that is hidden takes its place on the screen, or the zoom."""
        for other in self.panes:
            other.set_class(other is pane, "current")
            other.set_class(self.is_zoomed and other is pane, "zoomed")
            if other.place == pane.place:
                other.set_class(other is not pane, "aside")
        # In the small layout CPUs and latency have a place of their own: the place below keeps what it shows.
        for other in self.panes:
            other.set_class(other is (pane if pane.has_class("slot") else self._in_slot()), "in-slot")
        pane.focus(scroll_visible=False)
        self.call_after_refresh(self._arranged)

    def _in_slot(self) -> Pane:
        return next((pane for pane in self.panes if pane.has_class("in-slot")), self._first_in_slot())

    def _first_in_slot(self) -> Pane:
        """The last of those that have a place of their own."""
        return next(pane for pane in reversed(self.panes) if pane.place == pane.NUMBER)

    def action_focus_number(self, number: int) -> None:
        """To the pane with this number, if there is one."""
        for pane in self.panes:
            if number == pane.NUMBER:
                self.focus_pane(pane)

    def action_focus_pane(self, step: int) -> None:
        """To the pane after (or before) the current one."""
        self.focus_pane(self.panes[(self.panes.index(self.current) + step) % len(self.panes)])

    def action_zoom(self) -> None:
        """Shows the current pane alone, or all again."""
        self._grid.toggle_class("zoomed")
        self.focus_pane(self.current)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        # A click focuses too. Another key may have moved the focus on since.
        if isinstance(event.widget, Pane) and event.widget is self.focused and event.widget is not self.current:
            self.focus_pane(event.widget)

    def panes_arranged(self) -> None:
        """Other panes may be seen now than before."""

    def _arranged(self) -> None:
        """Names hidden panes in the border of the one in their place, and gives the focus back that hiding took."""
        hidden = sorted((pane for pane in self.panes if not pane.display), key=lambda pane: pane.NUMBER)
        seen_places = {pane.place for pane in self.panes if pane.display}
        all_places = all(pane.place in seen_places for pane in hidden)
        for pane in self.panes:
            if all_places:
                named = [other for other in hidden if other.place == pane.place]
            else:
                stands_for_others = pane is self.current or (pane.has_class("in-slot") and not self.is_zoomed)
                named = hidden if stands_for_others else []
            pane.hint = " ".join(f"{other.NUMBER} {other.SHORT or other.TITLE}" for other in named)
            pane.draw()
        self.panes_arranged()
        if self.focused is None:
            self.current.focus(scroll_visible=False)
