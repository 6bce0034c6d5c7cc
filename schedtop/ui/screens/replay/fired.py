"""What was watched for in a recording, and when it came true."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from schedtop.base.units import format_clock
from schedtop.ui.keys.bindings import key
from schedtop.ui.screens.replay.player import Player
from schedtop.ui.screens.text import TextScreen
from schedtop.widgets.prose import paragraph
from schedtop.widgets.strips import Spans, steady

MOST_LISTED = 1000
"""How many firings are listed."""


class FiredList:
    """Lists the conditions, and each time that one of them came true."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("T", "triggers", "Triggers", "What was watched for, and when it came true"),
    ]

    def __init__(self, screen: Screen[Any], player: Player, watched: Sequence[str]) -> None:
        """`watched`: the conditions, in words; their firings are among the events."""
        self._screen = screen
        self._player = player
        self._watched = watched
        self._ends = [entry.end_ns for entry in player.entries]

    def action_triggers(self) -> None:
        """The conditions, and the list of when they came true."""
        if self._watched or any(event.kind == "trigger" for event in self._player.events):
            self._screen.app.push_screen(TextScreen("Triggers", self._lines))
        else:
            self._screen.notify(
                "nothing was watched for: `schedtop replay --on CONDITION` looks for it", timeout=5, markup=False
            )

    def _lines(self, width: int) -> Iterable[Spans]:
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
