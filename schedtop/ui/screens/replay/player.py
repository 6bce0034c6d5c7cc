"""What the screen wants of a source that plays a recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from schedtop.model.source import Source
from schedtop.recording.lines import Entry, Event

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)


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


def speed_words(speed: float) -> str:
    """A speed, as it is typed: `4x`, `0.25x`."""
    return f"{speed:g}x"


def next_speed(speed: float, direction: int) -> float:
    """The next of SPEEDS in a direction; the last one there is, stays."""
    faster: Sequence[float] = [other for other in SPEEDS if (other > speed if direction > 0 else other < speed)]
    return speed if not faster else faster[0] if direction > 0 else faster[-1]
