"""The two panes of the path screen: which has the focus, and whether it is alone."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import Screen

from schedtop.panes.pane import Pane
from schedtop.panes.path.episodes import ORDERS, EpisodesPane
from schedtop.panes.path.profile import ProfilePane
from schedtop.path.live import PathFrame
from schedtop.ui.keys.bindings import key
from schedtop.ui.layout.fitted import Fitted

PROFILE_MOST = 13
"""Lines of the profile: the episodes need more."""


class PathPanes:
    """The profile above, episodes below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("s", "order", "Order", "The worst episodes, or the latest", name="sort", shown=True),
        key("i", "idle", "Idle", "Shows or hides waits for work in the profile", shown=True),
        key("z", "zoom", "Zoom", "The focused pane alone, and back", shown=True),
        key("enter", "zoom", "Zoom", "The same", name="open"),
        key("tab", "next_pane", "Next pane", "Between the profile and the episodes"),
        key("shift+tab", "next_pane", "Pane before", "The same"),
        key("1", "focus_number(1)", "Profile", "To the profile", name="pane-1"),
        key("2", "focus_number(2)", "Episodes", "To the episodes", name="pane-2"),
    ]

    def __init__(self, screen: Screen[Any]) -> None:
        self.profile = ProfilePane(id="profile")
        self.episodes = EpisodesPane(id="episodes")
        self.box = Vertical(self.profile, self.episodes, id="path")
        self._fitted = Fitted(self.profile, PROFILE_MOST)
        self._screen = screen

    @property
    def both(self) -> tuple[Pane[PathFrame], Pane[PathFrame]]:
        """Both of them."""
        return (self.profile, self.episodes)

    @property
    def focused(self) -> Pane[PathFrame]:
        """The one with the focus, or that had it last."""
        return self.episodes if self.episodes.has_class("current") else self.profile

    @property
    def is_zoomed(self) -> bool:
        """Whether one is alone."""
        return self.box.has_class("zoomed")

    def show(self, frame: PathFrame) -> None:
        """Shows another moment in both."""
        for pane in self.both:
            pane.show(frame)
        self._fitted.fit(self.profile.total_rows, alone=self.is_zoomed)

    def forget(self) -> None:
        """Shows nothing in both."""
        self.profile.forget()
        self.episodes.forget()

    def focus(self, pane: Pane[PathFrame]) -> None:
        """Gives a pane the focus."""
        for other in self.both:
            other.set_class(other is pane, "current")
        pane.focus(scroll_visible=False)

    def on_descendant_focus(self) -> None:
        """A click focuses, too."""
        for pane in self.both:
            if self._screen.focused is pane and pane is not self.focused:
                self.focus(pane)

    def action_order(self) -> None:
        """The other order of the episodes."""
        self.episodes.order = ORDERS[1 - ORDERS.index(self.episodes.order)]
        self.episodes.top = 0
        if self.episodes.view is not None:
            self.episodes.show(self.episodes.view)

    def action_idle(self) -> None:
        """Shows or hides waits for work."""
        self.profile.shows_work = not self.profile.shows_work
        if self.profile.view is not None:
            self.profile.show(self.profile.view)

    def action_zoom(self) -> None:
        """The pane with the focus alone, or both."""
        self.box.toggle_class("zoomed")
        self._fitted.fit(self.profile.total_rows, alone=self.is_zoomed)
        self.focus(self.focused)

    def action_next_pane(self) -> None:
        """To the other pane."""
        self.focus(self.profile if self.focused is self.episodes else self.episodes)

    def action_focus_number(self, number: int) -> None:
        """To the pane with this number."""
        self.focus(self.profile if number == self.profile.NUMBER else self.episodes)
