"""The dashboard on a recording: the same panes, a line of the player, and keys that move through the time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Protocol

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.dom import DOMNode

from schedtop.base.units import format_clock
from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings
from schedtop.model.frame import Frame
from schedtop.model.source import Source
from schedtop.panes.header import HeaderPane
from schedtop.recording.lines import Entry, Event
from schedtop.ui.bars.filter import FilterBar
from schedtop.ui.bars.keys import KeyBar
from schedtop.ui.keys.bindings import KeyRow, in_bar_order, key, together
from schedtop.ui.screens.dashboard.screen import Dashboard
from schedtop.ui.screens.replay.player_bar import READING, PlayerBar, marked
from schedtop.ui.screens.replay.seek_bar import PlaceOf, SeekBar
from schedtop.ui.screens.text import TextScreen
from schedtop.widgets.prose import paragraph
from schedtop.widgets.strips import Span, Spans, steady

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)

PAIRS = (
    ({"step-back": "←", "step-on": "→"}, "Step", "step(1)"),
    ({"marker-back": "[", "marker-on": "]"}, "Marker", "marker(1)"),
    ({"slower": "{", "faster": "}"}, "Speed", "speed(1)"),
)
"""What stands in the key bar for two keys each."""

MOST_LISTED = 1000
"""How many firings are listed."""

MOST_LATER = 200
"""How many intervals after a place that was sought are kept, for panes over time."""

LOOK_S = 0.25
"""How often the line of the player looks where the player is."""


class Player(Source, Protocol):
    """A Source that plays a recording: see `sources.replay.ReplaySource`."""

    entries: tuple[Entry, ...]
    events: tuple[Event, ...]
    damaged: tuple[int, ...]
    gaps: tuple[int, ...]
    damage: str
    sought_ns: int

    @property
    def playing(self) -> bool: ...
    @property
    def seeking(self) -> bool: ...
    @property
    def speed(self) -> float: ...
    @property
    def position(self) -> int: ...
    def play(self) -> None: ...
    def pause(self) -> None: ...
    def seek(self, number: int) -> None: ...
    def step(self, intervals: int) -> None: ...
    def set_speed(self, speed: float) -> None: ...


class ReplayDashboard(Dashboard):
    """Owns the line of the player; the History begins anew wherever the player goes."""

    DEFAULT_CSS = """
    ReplayDashboard.-compact PlayerBar { height: 1; }
    ReplayDashboard.-tiny PlayerBar, ReplayDashboard.-tiny SeekBar { display: none; }
    """

    NO_USE = frozenset(("record", "capture", "off-cpu", "overhead", "threshold-up", "threshold-down"))

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
        key("T", "triggers", "Triggers", "What was watched for, and when it came true"),
    ]

    def __init__(
        self,
        source: Player,
        settings: ViewSettings,
        export_dir: Path,
        own_pid: int | None,
        *,
        place_of: PlaceOf,
        watched: Sequence[str] = (),
    ) -> None:
        """`watched`: the conditions, in words, whose firings are among the events."""
        super().__init__(source, settings, export_dir, own_pid)
        self._player = source
        self._ends = [entry.end_ns for entry in source.entries]
        self._markers = marked(source.entries, source.events)
        self._watched = watched
        self._number = -1
        self._later: tuple[Frame, ...] = ()
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

    @property
    def fixed_lines(self) -> int:
        return super().fixed_lines + (1 if self.has_class("-compact") else 2)

    # What arrives.

    def add(self, frame: Frame) -> None:
        """Takes a Frame: the next one, or one of the past of a place that was sought."""
        number = bisect_left(self._ends, frame.end_ns)
        if not self._follows(number):
            self._remember(self._player.sought_ns)
            self.live = History(self.live.host)
        self._number = number
        self.live.append(frame)
        if frame.end_ns >= self._player.sought_ns:
            self._request_draw()

    def _remember(self, after_ns: int) -> None:
        """Keeps what was shown of the time after a place that is sought: panes over time go on showing it."""
        # Not those that were merged with what comes before: that will be given anew.
        known = {
            frame.end_ns: frame
            for frame in (*self._later, *self.live.frames)
            if frame.end_ns - frame.interval_ns // 2 > after_ns
        }
        self._later = tuple(known[end_ns] for end_ns in sorted(known)[:MOST_LATER])

    def make_view(self) -> View | None:
        """The View, with what is known already of the time after it, as far as nothing is missing between."""
        view = super().make_view()
        number, latest_ns = self._number, self.live.latest_ns
        if view is None or latest_ns < self._player.sought_ns:
            # The past of a place that is sought is on its way.
            return view
        later: list[Frame] = []
        for frame in self._later:
            if frame.end_ns <= latest_ns:
                continue
            place = bisect_left(self._ends, frame.end_ns)
            if not self._is_next(place, number):
                break
            later.append(frame)
            number = place
        self._later = tuple(later)
        return replace(view, later=self._later)

    def _follows(self, number: int) -> bool:
        """Whether nothing is missing between the Frame before and this one, except what cannot be read."""
        return self._is_next(number, self._number)

    def _is_next(self, number: int, before: int) -> bool:
        between = range(before + 1, number)
        return number > before and all(missing in self._player.damaged for missing in between)

    # What is shown.

    def _show_header(self) -> None:
        self.show_player()
        self.query_one(HeaderPane).show(self.view, verdict=self.verdict, player=self._state())

    def show_player(self) -> None:
        """Shows where the player is by now."""
        player = self._player
        self._bar.show(player.position, speed_words(player.speed), player.damaged)
        header = self.query_one(HeaderPane)
        if header.player != (state := self._state()):
            header.player = state
            header.draw()
            self._show_keys()

    def _state(self) -> Span:
        player = self._player
        if player.playing:
            return (f"● PLAY {speed_words(player.speed)}", "live")
        if player.seeking:
            return (" SEEK ", "frozen")
        return (" END " if player.position == len(self._ends) - 1 else " PAUSED ", "frozen")

    def _show_keys(self) -> None:
        keys = [(row.first_key, row.word, row.action) for row in in_bar_order(self.own_keys())]
        pairs = [(together(self.app, names), word, action) for names, word, action in PAIRS]
        play = (together(self.app, {"freeze": "Space"}), "Pause" if self._player.playing else "Play", "freeze")
        self.query_one(KeyBar).show((play, *pairs, *keys, *self.pane_keys))

    def actions(self) -> list[tuple[DOMNode, KeyRow]]:
        """As everywhere, and how the track is to be read."""
        return [*super().actions(), (self, KeyRow("the track", "Track", READING, "", False, "track"))]

    # Time.

    def action_freeze(self) -> None:
        """Plays or pauses."""
        if self._player.playing:
            self._player.pause()
        else:
            self._player.play()
        self.show_player()

    def action_step(self, steps: int) -> None:
        """Pauses, and goes so many intervals further or back."""
        at = self._player.position
        self._player.step(steps)
        if self._player.position == at:
            self.notify("this is the beginning" if steps < 0 else "this is the end", timeout=2)
        self.show_player()

    def go_to(self, end_ns: int) -> None:
        """Goes to the interval that ends then."""
        self._go(min(bisect_left(self._ends, end_ns), len(self._ends) - 1))

    def action_marker(self, direction: int) -> None:
        """To the marker before or after this place."""
        at = self._player.position
        place = bisect_right(self._markers, at) if direction > 0 else bisect_left(self._markers, at) - 1
        if 0 <= place < len(self._markers):
            self._go(self._markers[place])
        else:
            self.notify("there is no slow wait or trigger " + ("after this" if direction > 0 else "before"), timeout=2)

    def action_go(self, number: int) -> None:
        """To an interval; negative numbers count from the end."""
        self._go(number % len(self._ends))

    def _go(self, number: int) -> None:
        self._player.seek(number)
        self.show_player()

    def action_speed(self, direction: int) -> None:
        """Plays twice or half as fast."""
        self._player.set_speed(next_speed(self._player.speed, direction))
        self.show_player()

    def action_seek(self) -> None:
        """Opens the line in which a time is typed."""
        self._seek_bar.open()

    @on(PlayerBar.Sought)
    def _track_clicked(self, event: PlayerBar.Sought) -> None:
        self._go(event.number)

    @on(SeekBar.Sought)
    def _time_typed(self, event: SeekBar.Sought) -> None:
        self._go(event.number)

    @on(SeekBar.Closed)
    def _seek_closed(self) -> None:
        self.current.focus(scroll_visible=False)

    # What has fired.

    def action_triggers(self) -> None:
        """The conditions, and the list of when they came true."""
        if self._watched or any(event.kind == "trigger" for event in self._player.events):
            self.app.push_screen(TextScreen("Triggers", self._trigger_lines))
        else:
            self.notify(
                "nothing was watched for: `schedtop replay --on CONDITION` looks for it", timeout=5, markup=False
            )

    def _trigger_lines(self, width: int) -> Iterable[Spans]:
        fired = [event for event in self._player.events if event.kind == "trigger"]
        yield [("Watched for", "key")]
        for condition in self._watched:
            yield from paragraph(steady(condition), width)
        yield []
        yield [(f"Fired: {len(fired)} time{'s' * (len(fired) != 1)}, in order; [ and ] go there", "key")]
        for event in fired[:MOST_LISTED]:
            entry = self._player.entries[min(bisect_left(self._ends, event.end_ns), len(self._ends) - 1)]
            clock = format_clock(entry.start_time_ns + entry.interval_ns)
            yield from paragraph(steady(f"{clock}  {event.text}"), width)
        if len(fired) > MOST_LISTED:
            yield [(f"and {len(fired) - MOST_LISTED} more", "dim")]

    # What makes no sense here.

    def action_threshold(self, direction: int) -> None:
        """Says why not."""
        self.notify("the threshold is the one it was recorded with: shorter waits are not in the file", timeout=4)

    def action_measure(self) -> None:
        """Says why not."""
        self.notify("a recording runs no kernel programs: there is nothing to time", timeout=4)

    def action_record(self) -> None:
        """Says why not."""
        self.notify("this is a recording already; e exports what is shown", timeout=4)


def speed_words(speed: float) -> str:
    """A speed, as it is typed: `4x`, `0.25x`."""
    return f"{speed:g}x"


def next_speed(speed: float, direction: int) -> float:
    """The next of SPEEDS in a direction; the last one there is, stays."""
    faster: Sequence[float] = [other for other in SPEEDS if (other > speed if direction > 0 else other < speed)]
    return speed if not faster else faster[0] if direction > 0 else faster[-1]
