"""The two panes of the off-CPU screen: which has the focus, and whether the stacks are alone."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import Screen

from schedtop.panes.offcpu.stacks import StacksPane
from schedtop.panes.offcpu.threads import ThreadsPane
from schedtop.panes.pane import Pane
from schedtop.ui.keys.bindings import key
from schedtop.ui.layout.fitted import Fitted


class TwoPanes:
    """Threads above, stacks below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("z", "zoom", "Zoom", "The stacks alone and in their whole length, and back", shown=True),
        key("enter", "zoom", "Zoom", "The same", name="open"),
        key("tab", "next_pane", "Next pane", "Between threads and stacks"),
        key("shift+tab", "next_pane", "Pane before", "The same"),
        key("1", "focus_number(1)", "Threads", "To the threads", name="pane-1"),
        key("2", "focus_number(2)", "Stacks", "To the stacks", name="pane-2"),
    ]

    def __init__(self, screen: Screen[Any]) -> None:
        self.threads = ThreadsPane(id="threads")
        self.stacks = StacksPane(id="stacks")
        self.box = Vertical(self.threads, self.stacks, id="offcpu")
        self._fitted = Fitted(self.threads)
        self._screen = screen

    @property
    def both(self) -> tuple[Pane[Any], Pane[Any]]:
        """Both of them."""
        return (self.threads, self.stacks)

    @property
    def focused(self) -> Pane[Any]:
        """The one with the focus."""
        return self.threads if self._screen.focused is self.threads else self.stacks

    def fit(self) -> None:
        """The threads get no more room than they need."""
        self._fitted.fit(self.threads.total_rows)

    def focus_first(self) -> None:
        """Gives the focus to the threads, or to the stacks while they are alone."""
        (self.stacks if self.stacks.is_whole else self.threads).focus(scroll_visible=False)

    def on_filter_bar_closed(self) -> None:
        """The line was left."""
        self.focus_first()

    def action_zoom(self) -> None:
        """The stacks alone, or both."""
        self.stacks.is_whole = not self.stacks.is_whole
        self.box.set_class(self.stacks.is_whole, "zoomed")
        self.stacks.top = 0
        self.focus_first()
        self.stacks.draw()

    def action_next_pane(self) -> None:
        """To the other pane."""
        other = self.stacks if self._screen.focused is self.threads or self.stacks.is_whole else self.threads
        other.focus(scroll_visible=False)

    def action_focus_number(self, number: int) -> None:
        """To the pane with this number."""
        if number == self.threads.NUMBER and self.stacks.is_whole:
            self.action_zoom()
        (self.threads if number == self.threads.NUMBER else self.stacks).focus(scroll_visible=False)
