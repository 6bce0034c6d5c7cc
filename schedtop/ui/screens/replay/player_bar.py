"""The line of a player: all of a recording over the width, with what happened in it, and where one is."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence

from textual import events
from textual.message import Message

from schedtop.base.units import format_clock, format_elapsed, format_ns
from schedtop.recording.lines import Entry, Event
from schedtop.widgets.bars import EIGHTHS
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.strips import Span, steady, whole_parts

LEAST_WITH_GAP = 3
"""An interval of so many cells has a gap behind it."""

TRIGGER, DAMAGE = "T", "×"
PLAYED, AHEAD, HERE = "━", "─", "┃"
DOUBLINGS = 8
"""A marker is one step higher for each doubling of the longest wait over the threshold: the highest is 128 times it."""

READING = (
    "The line under the header is the whole recording. ━ is played, ┃ is where you are, ─ is ahead. ▁ to █ marks slow "
    "waits: one step of height for each doubling of the longest wait over the threshold. T marks a trigger, × what is "
    "damaged. A click goes there."
)


class PlayerBar(Canvas, can_focus=False):
    """Two lines: the track between the times of its ends, and in words where one is and what is there."""

    DEFAULT_CSS = """
    PlayerBar { height: 2; padding: 0 1; background: $panel; }
    """

    class Sought(Message):
        """The user wants to be at an interval."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(
        self, entries: Sequence[Entry], happened: Sequence[Event], gaps: Sequence[int] = (), *, id: str | None = None
    ) -> None:
        """`gaps`: for each line that could not even be read as an interval, how many intervals are before it."""
        super().__init__(id=id)
        self.entries = entries
        self.happened = happened
        self._start_ns = entries[0].end_ns - entries[0].interval_ns
        self._ends = [entry.end_ns for entry in entries]
        self._position = 0
        self._speed = ""
        self._damaged: Collection[int] = ()
        self._gaps = gaps
        self._track: tuple[tuple[int, int], list[Span | None]] = ((0, 0), [])
        self._place = (0, 0)

    def show(self, position: int, speed: str, damaged: Collection[int]) -> None:
        """Shows where the player is; `damaged` intervals could not be read."""
        self._position, self._speed, self._damaged = position, speed, damaged
        self.draw()

    def draw(self) -> None:
        width = self.inner.width
        if not width or not self.display:
            return
        first, last = self.entries[0], self.entries[-1]
        start, end = (
            format_clock(first.start_time_ns),
            format_clock(last.start_time_ns + last.interval_ns),
        )
        room = max(1, width - len(start) - len(end) - 2)
        self._place = (len(start) + 1, room)
        track: list[Span] = [(f"{start} ", "dim"), *self._cells(room), (f" {end}", "dim")]
        self.put([track, whole_parts(self._words(), width, (" │ ", "dim"))])

    def _cells(self, room: int) -> list[Span]:
        """The track, neighbours of one style joined."""
        if self._track[0] != (room, len(self._damaged)):
            self._track = ((room, len(self._damaged)), self._markers(room))
        here = self._bar(self.entries[self._position], room)[-1]
        cells: list[Span] = []
        for cell, marker in enumerate(self._track[1]):
            span = marker or ((PLAYED, "busy") if cell < here else (AHEAD, "dim"))
            if cell == here:
                span = (marker[0], "cursor") if marker else (HERE, "key")
            if cells and cells[-1][1] == span[1]:
                cells[-1] = (cells[-1][0] + span[0], span[1])
            else:
                cells.append(span)
        return cells

    def _markers(self, room: int) -> list[Span | None]:
        """What happened in the part that each cell stands for: a trigger before damage before the longest wait."""
        heights = [0] * room
        for entry in self.entries:
            if entry.slow_waits:
                for cell in self._bar(entry, room):
                    heights[cell] = max(heights[cell], wait_height(entry))
        markers: list[Span | None] = [(EIGHTHS[height], "raised") if height else None for height in heights]
        for cell in self._damaged_cells(room):
            markers[cell] = (DAMAGE, "notice")
        for event in self.happened:
            if event.kind == "trigger":
                markers[self._cell(event.end_ns, room)] = (TRIGGER, "alarm")
        return markers

    def _bar(self, entry: Entry, room: int) -> range:
        """The cells of an interval: a short recording has several for each, the last of which is left free."""
        before, end = (self._cell(ns, room) for ns in (entry.end_ns - entry.interval_ns, entry.end_ns))
        return range(min(before + 1, end), end + (end - before < LEAST_WITH_GAP))

    def _damaged_cells(self, room: int) -> Iterator[int]:
        """Those of intervals that could not be read, and of the time that is missing where lines were left out."""
        yield from (self._cell(self._ends[number], room) for number in self._damaged)
        for before in set(self._gaps):
            begin_ns = self._ends[before - 1] if before else self._start_ns
            after = self.entries[before] if before < len(self.entries) else None
            end_ns = after.end_ns - after.interval_ns if after else begin_ns
            first = self._cell(begin_ns + 1, room)
            yield from range(first, max(first, self._cell(end_ns, room)) + 1)

    def _cell(self, end_ns: int, room: int) -> int:
        span = max(1, self._ends[-1] - self._start_ns)
        return min(max((end_ns - 1 - self._start_ns) * room // span, 0), room - 1)

    def _words(self) -> list[list[Span]]:
        entry = self.entries[self._position]
        whole_ns, at_ns = self._ends[-1] - self._start_ns, entry.end_ns - self._start_ns
        parts: list[list[Span]] = [
            [(format_elapsed(at_ns), "strong"), (f" of {format_elapsed(whole_ns)}", "text")],
            [("speed ", "dim"), (self._speed, "text")],
            [(f"interval {self._position + 1} of {len(self.entries)}", "text")],
        ]
        if entry.slow_waits:
            waits = f"{entry.slow_waits} slow wait{'s' * (entry.slow_waits != 1)}"
            parts.append([(waits, "raised"), (f", longest wait {format_ns(entry.max_wait_ns)}", "text")])
        parts += [
            [(f"{event.kind} ", "dim"), (steady(event.text), "notice")]
            for event in self.happened
            if event.end_ns == entry.end_ns
        ]
        if lost := len(self._damaged) + len(self._gaps):
            parts.insert(2, [(f"{lost} damaged, left out", "notice")])
        return parts

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        start, room = self._place
        if offset is None or not start <= offset.x < start + room:
            return
        span = self._ends[-1] - self._start_ns
        wanted_ns = self._start_ns + (offset.x - start) * span // room + 1
        self.post_message(self.Sought(min(bisect_left(self._ends, wanted_ns), len(self._ends) - 1)))


def wait_height(entry: Entry) -> int:
    """How high the marker of an interval with slow waits is, 1 to 8."""
    times = entry.max_wait_ns / max(entry.threshold_ns, 1)
    return min(max(1 + math.floor(math.log2(max(times, 1))), 1), DOUBLINGS)


def marked(entries: Sequence[Entry], happened: Sequence[Event]) -> list[int]:
    """The numbers of the intervals with a slow wait or a trigger, in order."""
    triggers = {event.end_ns for event in happened if event.kind == "trigger"}
    return [number for number, entry in enumerate(entries) if entry.slow_waits or entry.end_ns in triggers]
