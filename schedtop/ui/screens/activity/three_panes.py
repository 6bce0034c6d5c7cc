"""The three panes of the activity screen: which has the focus, and whether it is alone."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen

from schedtop.activity.view import ActivityView
from schedtop.panes.activity.calls import CallsPane
from schedtop.panes.activity.table import ActivityPane
from schedtop.panes.activity.tcp import TcpPane
from schedtop.panes.pane import Pane
from schedtop.ui.keys.bindings import key
from schedtop.ui.layout.fitted import Fitted


class ThreePanes:
    """The table above; system calls and TCP connections below, beside each other."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("z", "zoom", "Zoom", "The focused pane alone, and back", shown=True),
        key("tab", "next_pane(1)", "Next pane", "To the next pane"),
        key("shift+tab", "next_pane(-1)", "Pane before", "To the pane before"),
        key("1", "focus_number(1)", "Table", "To the table", name="pane-1"),
        key("2", "focus_number(2)", "System calls", "To the system calls", name="pane-2"),
        key("3", "focus_number(3)", "TCP", "To the TCP connections", name="pane-3"),
    ]

    def __init__(self, screen: Screen[Any]) -> None:
        self.table = ActivityPane(id="table")
        self.calls = CallsPane(id="calls")
        self.tcp = TcpPane(id="tcp")
        self.below = Horizontal(self.calls, self.tcp, id="below")
        self.box = Vertical(self.table, self.below, id="activity")
        self._screen = screen
        self._fitted = Fitted(self.table)

    @property
    def every(self) -> tuple[Pane[ActivityView], ...]:
        """All of them, in the order of Tab."""
        return (self.table, self.calls, self.tcp)

    @property
    def focused(self) -> Pane[ActivityView]:
        """The one with the focus, or that had it last."""
        return next((pane for pane in self.every if pane.has_class("current")), self.table)

    @property
    def is_zoomed(self) -> bool:
        """Whether one is alone."""
        return self.box.has_class("zoomed")

    def show(self, view: ActivityView) -> None:
        """Shows another moment in all."""
        for pane in self.every:
            pane.show(view)
        self._fitted.fit(self.table.total_rows, alone=self.is_zoomed)

    def forget(self) -> None:
        """Shows nothing in all."""
        self.table.forget()
        self.calls.forget()
        self.tcp.forget()

    def focus(self, pane: Pane[ActivityView]) -> None:
        """Gives a pane the focus."""
        for other in self.every:
            other.set_class(other is pane, "current")
        self.below.set_class(pane is not self.table, "current")
        pane.focus(scroll_visible=False)

    def on_descendant_focus(self) -> None:
        """A click focuses, too."""
        for pane in self.every:
            if self._screen.focused is pane and pane is not self.focused:
                self.focus(pane)

    def on_filter_bar_closed(self) -> None:
        """The line was left."""
        self.focused.focus(scroll_visible=False)

    def action_zoom(self) -> None:
        """The pane with the focus alone, or all."""
        self.box.toggle_class("zoomed")
        self._fitted.fit(self.table.total_rows, alone=self.is_zoomed)
        self.focus(self.focused)

    def action_next_pane(self, step: int) -> None:
        """To another pane."""
        self.focus(self.every[(self.every.index(self.focused) + step) % len(self.every)])

    def action_focus_number(self, number: int) -> None:
        """To the pane with this number."""
        self.focus(self.every[number - 1])
