"""What panes over time share: columns that keep their places, the axis under them, the cursor, the time scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from schedtop.base.units import format_clock, format_round_ns
from schedtop.history.history import KEEP_NS
from schedtop.history.view import View
from schedtop.model.frame import Frame
from schedtop.panes.pane import Pane
from schedtop.widgets.strips import Span, Spans
from schedtop.widgets.time_axis import NEWEST, RECENT, TICK, GridKeeper, RightEdge, TimeGrid, axis, back_text, jump_of

PER_COLUMN = (1, 2, 5, 10, 30)
"""How many intervals a column may have."""

WIDENED = (32, 24, 16, 12, 8, 6, 4, 3, 2)
"""How many cells an interval may have while the history is short."""

CLOCK_CELLS = 12
"""Clock times on the axis are at least so far apart."""

SPAN_TEXT_LEAST = 12
"""From this many cells on the cursor's window tells its length."""


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Frames in the columns of a pane. `frames`: those that are seen, oldest first, each with its first and last
    column, counted from the left of the pane; `cursor`: the same of the window, if there is a cursor."""

    grid: TimeGrid
    first: int
    width: int
    frames: Sequence[tuple[int, int, Frame]]
    newest: int
    cursor: tuple[int, int] | None = None

    def nearest(self, column: int) -> Frame | None:
        """The Frame of this column, the newest if it has several; else the nearest one."""
        at = [frame for begin, last, frame in self.frames if begin <= column <= last]
        if at or not self.frames:
            return at[-1] if at else None
        return min(self.frames, key=lambda one: min(abs(one[0] - column), abs(one[1] - column)))[2]


def is_moment(view: View) -> bool:
    """Whether the View is a moment that one moves through time: frozen, or of a recording."""
    return view.frozen or bool(view.later) or bool(view.host.recorded_source)


class TimeColumns:
    """The part of a pane with time to the right; a click on a column asks for that moment."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "x", "time_scale(1)", "Time scale", show=False, id="time-scale", tooltip="Over time: more time a column"
        ),
        Binding(
            "X",
            "time_scale(-1)",
            "Time scale back",
            show=False,
            id="time-scale-back",
            tooltip="Over time: less time a column",
        ),
    ]

    class MomentChosen(Message):
        """The user wants to see the interval that ends then."""

        def __init__(self, end_ns: int) -> None:
            super().__init__()
            self.end_ns = end_ns

    def __init__(self, pane: Pane[View], *, widens: bool = False) -> None:
        """`widens`: intervals are several cells wide while the history is short."""
        self._pane = pane
        self._widens = widens
        self.per_column = PER_COLUMN[0]
        self.placed: Placed | None = None
        self._keeper = GridKeeper()
        self._edge = RightEdge()
        self._margin = self._pitch = 0

    def forget(self) -> None:
        """Drops what is kept of Frames."""
        self.placed = None

    def place(
        self, view: View, margin: int, width: int, pitch: int = 0, fitted: tuple[int, int] | None = None
    ) -> Placed:
        """The Frames of a View in `width` columns from the cell `margin` on, again after each `pitch` cells.

        `fitted`: how many columns so many intervals have together, in place of the pane's own width of an interval.
        """
        frames = (*view.series, *view.later)
        spans = [(frame.end_ns - frame.interval_ns, frame.end_ns) for frame in frames[-RECENT:]]
        grid = self._keeper.grid(spans, self.per_column)
        if fitted is not None:
            grid = replace(grid, cells=fitted[0], of=fitted[1])
        elif self._widens and self.per_column == 1:
            held = grid.column(frames[-1].end_ns) - grid.column(frames[0].end_ns - frames[0].interval_ns)
            grid = replace(grid, cells=cells_of(held, width))
        newest, now = grid.column(frames[-1].end_ns), view.frame.end_ns
        at = grid.column(now)
        right = self._edge.column(grid, newest, at, width)
        first = right - width + 1
        seen = self._seen(frames, grid, first, right)
        cursor = None
        if is_moment(view):
            begin = min(at, grid.column(view.begin_ns + grid.column_ns))
            cursor = (begin - first, at - first)
        self._margin, self._pitch = margin, pitch
        self.placed = Placed(grid, first, width, seen, newest - first, cursor)
        return self.placed

    def _seen(self, frames: tuple[Frame, ...], grid: TimeGrid, first: int, right: int) -> list[tuple[int, int, Frame]]:
        """The Frames from the column `first` to `right`, with their columns from there on. Those of the last time are
        taken over: mostly one has come."""
        before = self.placed
        known: dict[int, tuple[int, int, Frame]] = {}
        if before is not None and before.grid == grid and before.first == first:
            known = {id(one[2]): one for one in before.frames}
        seen: list[tuple[int, int, Frame]] = []
        for frame in reversed(frames):
            if (one := known.get(id(frame))) is not None:
                seen.append(one)
                continue
            begin, last = grid.columns((frame.end_ns - frame.interval_ns, frame.end_ns))
            if last < first:
                break
            if begin <= right:
                seen.append((begin - first, last - first, frame))
        return seen[::-1]

    def axis_spans(self, view: View, placed: Placed, margin: str) -> Spans:
        """The line under the columns: how long ago, or the clock beside the mark of the window that is shown."""
        grid, first, width = placed.grid, placed.first, placed.width
        if placed.cursor is None:
            text = axis(grid, first, width, view.frame.end_ns, back_text, newest=NEWEST)
            return [(margin, "head"), *self._with_commands(text, placed, 0)]
        begin, end = max(placed.cursor[0], 0), placed.cursor[1]
        epoch_ns = view.frame.end_ns - view.end_time_ns
        text = axis(grid, first, width, epoch_ns, format_clock, reserved=(begin, end), least_cells=CLOCK_CELLS)
        mark = "▲" if begin == end else ("├" if placed.cursor[0] >= 0 else "─") + "─" * (end - begin - 1) + "▲"
        if len(mark) >= SPAN_TEXT_LEAST:
            words = f" {format_round_ns(round(view.frame.interval_ns, -8) or view.frame.interval_ns)} "
            start = (len(mark) - len(words)) // 2
            mark = mark[:start] + words + mark[start + len(words) :]
        before = self._with_commands(text[:begin], placed, 0)
        return [(margin, "head"), *before, (mark, "key"), *self._with_commands(text[end + 1 :], placed, end + 1)]

    def _with_commands(self, text: str, placed: Placed, start: int) -> list[Span]:
        """A part of the axis, from the column `start` on, with the signs of commands in place of what is there."""
        cells, signs = list(text), {}
        for time_ns, sign in self._pane.commands:
            at = placed.grid.column(time_ns) - placed.first - start
            if 0 <= at < len(cells):
                signs[at] = sign
                if cells[at] not in (" ", TICK):
                    # Half a label would be another time.
                    begin, end = text.rfind(" ", 0, at) + 1, text.find(" ", at) % (len(text) + 1)
                    cells[begin:end] = " " * (end - begin)
        spans: list[Span] = []
        begin = 0
        for at, sign in sorted(signs.items()):
            spans += [("".join(cells[begin:at]), "head"), (sign, "live")]
            begin = at + 1
        return [*spans, ("".join(cells[begin:]), "head")]

    @property
    def scale_words(self) -> str:
        """How much time a column is, if it is not one interval."""
        if self.placed is None or self.placed.grid.shown_ns <= self.placed.grid.interval_ns:
            return ""
        return f"{format_round_ns(self.placed.grid.shown_ns)} a column"

    def action_time_scale(self, step: int) -> None:
        """More time in each column, or less; around the end."""
        view, placed = self._pane.view, self.placed
        if view is None:
            return
        interval_ns = max(placed.grid.interval_ns if placed else view.series[-1].interval_ns, 1)
        width = max(placed.width if placed else 1, 1)
        # One that would show all that can be kept is the last one that makes sense.
        useful = [
            1,
            *(many for less, many in pairwise(PER_COLUMN) if less * interval_ns * width < KEEP_NS),
        ]
        here = useful.index(self.per_column) if self.per_column in useful else 0
        self.per_column = useful[(here + step) % len(useful)]
        self._pane.draw()

    def go_to(self, end_ns: int) -> None:
        """Asks for the interval that ends then."""
        self._pane.post_message(self.MomentChosen(end_ns))

    def on_click(self, event: events.Click) -> None:
        """Asks for the interval that was clicked."""
        offset = event.get_content_offset(self._pane)
        if offset is None or self.placed is None:
            return
        column = (offset.x % self._pitch if self._pitch else offset.x) - self._margin
        if 0 <= column < self.placed.width and (frame := self.placed.nearest(column)) is not None:
            self.go_to(frame.end_ns)


def cells_of(intervals: int, width: int) -> int:
    """How many cells each of so many intervals has: all that leave room for the map to move on."""
    return next((cells for cells in WIDENED if intervals * cells + jump_of(width, cells) <= width), 1)


def with_cursor(spans: Sequence[Span], margin: int, cursor: int) -> list[Span]:
    """A line with one cell, `cursor` cells behind the margin, in the style of the cursor."""
    line: list[Span] = []
    place = -margin
    for text, style in spans:
        inside = cursor - place
        if 0 <= inside < len(text):
            parts = ((text[:inside], style), (text[inside], "cursor"), (text[inside + 1 :], style))
            line += [part for part in parts if part[0]]
        else:
            line.append((text, style))
        place += len(text)
    return line
