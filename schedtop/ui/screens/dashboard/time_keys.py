"""The keys that freeze what is shown, and step through the past."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Generic, Protocol

from textual.binding import BindingType
from textual.screen import Screen

from schedtop.panes.time_columns import TimeColumns
from schedtop.ui.keys.bindings import key
from schedtop.ui.screens.dashboard.timeline import Past, Seen, Settings, Timeline


class Moving(Protocol[Settings, Seen]):
    """What has a moment that can be moved: see Shown."""

    timeline: Timeline[Settings, Seen]

    @property
    def live(self) -> Past[Settings, Seen]:
        """What has been collected."""
        ...

    def set_timeline(self, timeline: Timeline[Settings, Seen]) -> None:
        """Shows another moment."""
        ...


class TimeKeys(Generic[Settings, Seen]):
    """Moves the moment that is shown; `changed` is called when it has been frozen or thawed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("space", "freeze", "Freeze", "Freezes and thaws the screen; collecting goes on", shown=True),
        key("left,h,comma", "step(-1)", "Back", "While frozen: one interval back", name="step-back"),
        key("right,l,full_stop", "step(1)", "On", "While frozen: one interval on", name="step-on"),
        key(
            "shift+left,H,less_than_sign",
            "step(-10)",
            "Back 10",
            "While frozen: ten intervals back",
            name="step-back-10",
        ),
        key(
            "shift+right,L,greater_than_sign",
            "step(10)",
            "On 10",
            "While frozen: ten intervals on, at last to now",
            name="step-on-10",
        ),
    ]

    def __init__(self, screen: Screen[Any], shown: Moving[Settings, Seen], changed: Callable[[], None]) -> None:
        self._screen = screen
        self._shown = shown
        self._changed = changed

    @property
    def stands_still(self) -> bool:
        """Whether what is shown does not follow what arrives."""
        return self._shown.timeline.is_frozen

    def freeze(self) -> None:
        """Stands still at now, if it does not yet."""
        if not self.stands_still:
            self.action_freeze()

    def action_freeze(self) -> None:
        """Freezes, or follows now again."""
        timeline = self._shown.timeline
        self._shown.set_timeline(timeline.thaw() if timeline.is_frozen else timeline.freeze(self._shown.live))
        self._changed()

    def action_step(self, steps: int) -> None:
        """Moves the frozen moment."""
        shown = self._shown
        if not self.stands_still:
            self._screen.notify("Space freezes the screen; then ← and → step through the past", timeout=4)
            return
        before = shown.timeline.end_ns
        shown.set_timeline(shown.timeline.step(shown.live, steps))
        if shown.timeline.end_ns == before:
            history = shown.timeline.frozen or shown.live
            words = f"the history begins here: {history.beginning}" if steps < 0 else "this is now"
            self._screen.notify(words, timeout=4)

    def on_time_columns_moment_chosen(self, event: TimeColumns.MomentChosen) -> None:
        """Stands still at the interval that was clicked."""
        self._shown.set_timeline(self._shown.timeline.at(self._shown.live, event.end_ns))
        self._changed()
