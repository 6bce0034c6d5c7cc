"""The dashboard on a recording: the same panes, a line of the player, and keys that move through the time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from textual import events
from textual.app import ComposeResult

from schedtop.history.view import ViewSettings
from schedtop.panes.header import HeaderPane
from schedtop.ui.bars.filter import FilterBar
from schedtop.ui.bars.keys import KeyBar
from schedtop.ui.keys.bindings import KeyRow, in_bar_order, together
from schedtop.ui.on_demand import NOTHING, OnDemand
from schedtop.ui.screens.dashboard.chosen import first_key, task_keys
from schedtop.ui.screens.dashboard.screen import Dashboard
from schedtop.ui.screens.replay.activity import ActivityOpener
from schedtop.ui.screens.replay.fired import FiredList
from schedtop.ui.screens.replay.not_recorded import NotRecorded
from schedtop.ui.screens.replay.player import Player, speed_words
from schedtop.ui.screens.replay.player_bar import READING, PlayerBar
from schedtop.ui.screens.replay.player_keys import PlayerKeys
from schedtop.ui.screens.replay.seek_bar import PlaceOf, SeekBar
from schedtop.ui.screens.replay.shown import RecordedShown
from schedtop.widgets.parts import keys_of, made_of
from schedtop.widgets.strips import Span

PAIRS = (
    ({"step-back": "←", "step-on": "→"}, "Step", "step(1)"),
    ({"marker-back": "[", "marker-on": "]"}, "Marker", "marker(1)"),
    ({"slower": "{", "faster": "}"}, "Speed", "speed(1)"),
)
"""What stands in the key bar for two keys each."""

NEEDED = 5
"""So many keys are always in the bar: play, step, help, the verdict, quit. The others give way to the tabs' words."""

LOOK_S = 0.25
"""How often the line of the player looks where the player is."""

PARTS = {
    "time_keys": PlayerKeys,
    "fired_list": FiredList,
    "not_recorded": NotRecorded,
    "activity_opener": ActivityOpener,
}


@made_of(PARTS)
class ReplayDashboard(Dashboard):
    """Owns the line of the player."""

    DEFAULT_CSS = """
    ReplayDashboard.-compact PlayerBar { height: 1; }
    ReplayDashboard.-tiny PlayerBar, ReplayDashboard.-tiny SeekBar { display: none; }
    """

    BINDINGS = keys_of(PARTS)
    NO_USE = frozenset(("record", "capture", "off-cpu", "overhead", "interrupts", "threshold-up", "threshold-down"))
    ALSO = (KeyRow("the track", "Track", READING, "", False, "track"),)

    def __init__(
        self,
        source: Player,
        settings: ViewSettings,
        export_dir: Path,
        own_pid: int | None,
        *,
        on_demand: OnDemand = NOTHING,
        place_of: PlaceOf,
        watched: Sequence[str] = (),
    ) -> None:
        """`watched`: the conditions, in words; their firings are among the events."""
        shown = RecordedShown(source, settings, self.show_view)
        time_keys = PlayerKeys(self, source, self.show_player)
        super().__init__(source, settings, export_dir, own_pid, on_demand=on_demand, shown=shown, time_keys=time_keys)
        self.fired_list = FiredList(self, source, watched)
        self.not_recorded = NotRecorded(self)
        self.activity_opener = ActivityOpener(self, shown, source, self.task_opener, time_keys, self._state)
        self._player = source
        self._bar = PlayerBar(source.entries, source.events, source.gaps, id="player")
        self._seek_bar = SeekBar(place_of, id="seek-bar")

    def compose(self) -> ComposeResult:
        for widget in super().compose():
            yield widget
            if isinstance(widget, HeaderPane):
                yield self._bar
            if isinstance(widget, FilterBar):
                yield self._seek_bar

    def on_mount(self, _event: events.Mount) -> None:
        self.set_interval(LOOK_S, self.show_player)
        if self._player.damage:
            self.notify(self._player.damage, title="The recording", severity="warning", timeout=10, markup=False)

    def other_lines(self) -> int:
        return super().other_lines() + (1 if self.has_class("-compact") else 2)

    def show_header(self) -> None:
        self.show_player()
        self.query_one(HeaderPane).show(self.shown.view, verdict=self.shown.verdict, player=self._state())

    def show_player(self) -> None:
        """Shows where the player is by now."""
        player = self._player
        self._bar.show(player.position, speed_words(player.speed), player.damaged)
        header = self.query_one(HeaderPane)
        if header.player != (state := self._state()):
            header.player = state
            header.draw()
            self.show_keys()

    def _state(self) -> Span:
        player = self._player
        if player.playing:
            return (f"● PLAY {speed_words(player.speed)}", "live")
        if player.seeking:
            return (" SEEK ", "frozen")
        return (" END " if player.position == len(player.entries) - 1 else " PAUSED ", "frozen")

    def show_keys(self) -> None:
        own = self.action_list.of_screen()
        self.query_one(HeaderPane).why_key = first_key(own, "verdict")
        of_task = task_keys(self.pane_layout.current, self.shown.view, own, ("open",))
        keys = [(row.first_key, row.word, row.action) for row in in_bar_order(own)]
        pairs = [(together(self.app, names), word, action) for names, word, action in PAIRS]
        play = (together(self.app, {"freeze": "Space"}), "Pause" if self._player.playing else "Play", "freeze")
        needed = (play, pairs[0], *keys[: NEEDED - 2])
        others = [key for key in keys[NEEDED - 2 :] if key not in of_task]
        shown = (*needed, *of_task, *pairs[1:], *others, *self.pane_keys.in_bar)
        self.query_one(KeyBar).show(shown, self.pane_keys.tabs, NEEDED)

    def on_seek_bar_closed(self) -> None:
        self.pane_layout.current.focus(scroll_visible=False)
