"""A recording as a Source: it plays, pauses, steps and seeks, and gives the past of wherever it goes."""

from __future__ import annotations

import math
import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

from schedtop.base.units import NS_PER_S
from schedtop.model.frame import Frame, frame_bytes
from schedtop.model.host import Host
from schedtop.model.source import SourceError
from schedtop.recording.lines import Entry, Event
from schedtop.sources.replay.recorded import Recording
from schedtop.sources.replay.settings import RecordedSettings

LEAD_NS, MOST_LEAD_NS = 60 * NS_PER_S, 120 * NS_PER_S
"""How much of the past is given with a place that is sought: the longest window at least, more if it is quick."""

LEAD_TIME_S = 0.15
"""How long reading more of the past than must be may take."""

PREVIEW_S = 0.25
"""What has been read of the past by then is shown at once; with 512 CPUs all of it takes a second."""

LATE_S = 0.25
"""What is late by less is caught up with when it plays."""

KEPT_BYTES = 136 << 20
"""Frames that were read are kept up to this size: a step back needs nearly all of those before. No more of the past is
given, either; a minute of 512 CPUs and 2,000 tasks takes 132 MiB."""


class ReplaySource(RecordedSettings):
    """An open Recording that is played: `entries` and `events` are all of it, the Frames come at `speed` times life.

    `play`, `pause`, `seek`, `step` and `set_speed` may be called by any thread. A seek gives the Frames before the
    place that is sought first, without waiting: those that end before `sought_ns` are on the way. Intervals that turn
    out to be damaged are left out, and are in `damaged`. At its end it pauses and stays.
    """

    def __init__(self, recording: Recording, *, speed: float = 1.0, first: int = 0, playing: bool = True) -> None:
        """`first`: the number of the interval that is shown first."""
        self.recording = recording
        self.entries: tuple[Entry, ...] = tuple(indexed.entry for indexed in recording.intervals)
        self.events: tuple[Event, ...] = tuple(recording.events)
        self.damaged: tuple[int, ...] = ()
        self.gaps: tuple[int, ...] = tuple(recording.gaps)
        self.damage = recording.damage
        self.host = recorded_host(recording)
        self._changed = threading.Condition()
        self._playing = playing
        self._speed = speed
        self._position = -1
        self._first = 0
        self._began_s = 0.0
        self._target: int | None = first
        self.sought_ns = self.entries[first].end_ns
        self._kept: OrderedDict[int, Frame] = OrderedDict()
        self._kept_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.recording.__exit__()

    # The player.

    @property
    def playing(self) -> bool:
        """Whether it goes on by itself."""
        return self._playing

    @property
    def speed(self) -> float:
        """How many times faster than life it plays."""
        return self._speed

    @property
    def position(self) -> int:
        """The number of the interval that was given last, or that is being sought."""
        target = self._target
        return max(self._position, 0) if target is None else target

    @property
    def seeking(self) -> bool:
        """Whether the place that is sought has not been given yet."""
        return self._target is not None and not self._playing

    def play(self) -> None:
        """Goes on; from the beginning, if it stands at the end."""
        with self._changed:
            if self.position == len(self.entries) - 1:
                self.seek(0)
            self._playing = True
            self._changed.notify()

    def pause(self) -> None:
        """Stands still."""
        with self._changed:
            self._playing = False
            self._changed.notify()

    def set_speed(self, speed: float) -> None:
        """Plays that many times faster than life from now on."""
        with self._changed:
            self._speed = speed
            self._changed.notify()

    def seek(self, number: int) -> None:
        """Goes to an interval, the first or the last one if there is none of that number, and plays on from there."""
        with self._changed:
            self._target = min(max(number, 0), len(self.entries) - 1)
            self.sought_ns = self.entries[self._target].end_ns
            self._changed.notify()

    def step(self, intervals: int) -> None:
        """Stands still, so many intervals further or back."""
        with self._changed:
            self._playing = False
            self.seek(self.position + intervals)

    # The Source.

    def frames(self, stop: threading.Event) -> Iterator[Frame]:
        """The Frames, until `stop` is set. Raises SourceError if not one of them can be read."""
        while not stop.is_set():
            target = self._wait(stop)
            if target is None:
                continue
            for number, frame, is_last in self._ways_to(target, stop):
                with self._changed:
                    if self._target != target:
                        break
                    self._position = number
                    if is_last:
                        self._arrive(target)
                yield frame
            else:
                with self._changed:
                    if self._target == target:
                        self._arrive(target)  # there is nothing to give: it is damaged
            if len(self.damaged) == len(self.entries):
                raise SourceError(f"{self.recording.path}: not one interval can be read")

    def _arrive(self, target: int) -> None:
        self._position, self._target = target, None
        if target == len(self.entries) - 1:
            self._playing = False

    def _wait(self, stop: threading.Event) -> int | None:
        """Which interval is to be given now; `None` if `stop` may have been set meanwhile."""
        with self._changed:
            while self._target is None and not stop.is_set():
                rest = self._rest_s() if self._playing else 0.1
                if rest <= 0:
                    self._target = self._position + 1
                    return self._target
                # A thread that waits here is not woken when `stop` is set.
                self._changed.wait(min(rest, 0.1))
                if not self._playing:
                    self._began_s = time.monotonic()
            if self._target is not None:
                self._began_s = time.monotonic()
            return self._target

    def _rest_s(self) -> float:
        """How long the next interval takes still; once it is over, it begins anew, without what was late."""
        length = self.entries[self._position + 1].interval_ns / NS_PER_S / self._speed
        rest = self._began_s + length - time.monotonic()
        if rest <= 0:
            self._began_s = max(self._began_s + length, time.monotonic() - LATE_S)
        return rest

    def _ways_to(self, target: int, stop: threading.Event) -> Iterator[tuple[int, Frame, bool]]:
        """The Frames that lead to an interval, and its own: those since the position if they do, else the past of it.

        With each its number, and whether it is the last. Where it takes long to read them, the newest of them come
        alone before. No more of them come if another place is sought meanwhile.
        """
        before = self._position
        lead = bisect_left(self.entries, self.entries[target].end_ns - LEAD_NS, key=lambda entry: entry.end_ns)
        goes_on = self._first <= lead <= before + 1 <= target
        started = time.monotonic()
        hurry, preview = started + LEAD_TIME_S, started + PREVIEW_S
        oldest_ns = self.entries[target].end_ns - MOST_LEAD_NS
        frames: list[tuple[int, Frame]] = []
        size = 0
        for number in range(target, before if goes_on else -1, -1):
            if stop.is_set() or self._target != target:
                return
            if size > KEPT_BYTES:
                goes_on = False
                break
            if number < lead and (time.monotonic() > hurry or self.entries[number].end_ns < oldest_ns):
                break
            if frame := self._frame(number):
                frames.append((number, frame))
                size += frame_bytes(frame)
            if frames and not goes_on and time.monotonic() > preview:
                preview = math.inf
                yield from ((*item, False) for item in self._in_order(frames, frames[-1][0]))
        if frames:
            first = self._first if goes_on else min(frames[-1][0], lead)
            yield from ((*item, item is frames[0]) for item in self._in_order(frames, first))

    def _in_order(self, frames: list[tuple[int, Frame]], first: int) -> Iterator[tuple[int, Frame]]:
        """Frames that were read backwards; with them all is there from the interval `first` on."""
        self._first = first
        # Should the place itself be damaged, the last one before it is what there is to see.
        self.sought_ns = min(self.sought_ns, frames[0][1].end_ns)
        return reversed(frames)

    def _frame(self, number: int) -> Frame | None:
        """An interval, `None` (and counted) if it is damaged."""
        if frame := self._kept.get(number):
            self._kept.move_to_end(number)
            return frame
        try:
            frame = self.recording.frame(number)
        except SourceError:
            if number not in self.damaged:
                self.damaged = tuple(sorted((*self.damaged, number)))
            return None
        self._kept[number] = frame
        self._kept_bytes += frame_bytes(frame)
        while self._kept_bytes > KEPT_BYTES and len(self._kept) > 1:
            self._kept_bytes -= frame_bytes(self._kept.popitem(last=False)[1])
        return frame


def recorded_host(recording: Recording) -> Host:
    """The host that was recorded, as that of a Source."""
    host = recording.header.host
    return replace(host, source="recording", recorded_source=host.source, notes=_notes(recording))


def _notes(recording: Recording) -> tuple[str, ...]:
    header = recording.header
    ended = recording.end.reason if recording.end else ""
    origin = f"recorded by schedtop {header.tool_version}"
    asked = (f"recorded with {header.asked}",) if header.asked else ()
    cut = (f"recorded until {ended}",) if ended.startswith("it ") else ()
    return (origin, *asked, *cut, *((recording.damage,) if recording.damage else ()), *header.host.notes)
