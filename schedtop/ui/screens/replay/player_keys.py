"""The keys that play a recording and move through its time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from schedtop.panes.time_columns import TimeColumns
from schedtop.ui.keys.bindings import key
from schedtop.ui.screens.replay.player import Player, next_speed
from schedtop.ui.screens.replay.player_bar import PlayerBar, marked
from schedtop.ui.screens.replay.seek_bar import SeekBar


class PlayerKeys:
    """Moves a player; `changed` is called when it has moved."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("space", "freeze", "Play", "Plays and pauses; at the end: from the beginning", name="freeze"),
        key("left,h,comma", "step(-1)", "Back", "Pauses, one interval back", name="step-back"),
        key("right,l,full_stop", "step(1)", "On", "Pauses, one interval on", name="step-on"),
        key("shift+left,H,less_than_sign", "step(-10)", "Back 10", "Pauses, ten intervals back", name="step-back-10"),
        key("shift+right,L,greater_than_sign", "step(10)", "On 10", "Pauses, ten intervals on", name="step-on-10"),
        key("left_square_bracket", "marker(-1)", "Marker back", "To the slow wait or trigger before"),
        key("right_square_bracket", "marker(1)", "Marker on", "To the next slow wait or trigger"),
        key("left_curly_bracket", "speed(-1)", "Slower", "Plays half as fast"),
        key("right_curly_bracket", "speed(1)", "Faster", "Plays twice as fast"),
        key("J,ctrl+g", "seek", "Go to", "To a time: 90s or 2m from the beginning, 14:03:10, or a date", shown=True),
        key("0,shift+home", "go(0)", "Start", "To the beginning", name="go-to-start"),
        key("dollar_sign,shift+end", "go(-1)", "End", "To the end", name="go-to-end"),
    ]

    def __init__(self, screen: Screen[Any], player: Player, changed: Callable[[], None]) -> None:
        self._screen = screen
        self._player = player
        self._changed = changed
        self._ends = [entry.end_ns for entry in player.entries]
        self._markers = marked(player.entries, player.events)

    @property
    def stands_still(self) -> bool:
        """What is shown follows the player."""
        return False

    def action_freeze(self) -> None:
        """Plays or pauses."""
        if self._player.playing:
            self._player.pause()
        else:
            self._player.play()
        self._changed()

    def action_step(self, steps: int) -> None:
        """Pauses, and goes so many intervals further or back."""
        at = self._player.position
        self._player.step(steps)
        if self._player.position == at:
            self._screen.notify("this is the beginning" if steps < 0 else "this is the end", timeout=2)
        self._changed()

    def on_time_columns_moment_chosen(self, event: TimeColumns.MomentChosen) -> None:
        """Goes to the interval that was clicked."""
        self._go(min(bisect_left(self._ends, event.end_ns), len(self._ends) - 1))

    def action_marker(self, direction: int) -> None:
        """To the marker before or after this place."""
        at = self._player.position
        place = bisect_right(self._markers, at) if direction > 0 else bisect_left(self._markers, at) - 1
        if 0 <= place < len(self._markers):
            self._go(self._markers[place])
        else:
            words = "there is no slow wait or trigger " + ("after this" if direction > 0 else "before")
            self._screen.notify(words, timeout=2)

    def action_go(self, number: int) -> None:
        """To an interval; negative numbers count from the end."""
        self._go(number % len(self._ends))

    def _go(self, number: int) -> None:
        self._player.seek(number)
        self._changed()

    def action_speed(self, direction: int) -> None:
        """Plays twice or half as fast."""
        self._player.set_speed(next_speed(self._player.speed, direction))
        self._changed()

    def action_seek(self) -> None:
        """Opens the line in which a time is typed."""
        self._screen.query_one(SeekBar).open()

    def on_player_bar_sought(self, event: PlayerBar.Sought) -> None:
        """The track was clicked."""
        self._go(event.number)

    def on_seek_bar_sought(self, event: SeekBar.Sought) -> None:
        """A time was typed."""
        self._go(event.number)
