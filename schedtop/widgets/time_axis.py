"""Time as columns of equal length that keep their places, and the line under them that says which time it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from schedtop.base.units import NS_PER_MS, NS_PER_S

STEPS_NS = tuple(
    seconds * NS_PER_S // 10
    for seconds in (1, 2, 5, 10, 20, 50, 100, 150, 300, 600, 1200, 1800, 3000, 6000, 12000, 18000, 36000)
)
"""Distances of two marks: from 0.1 s to an hour, as clocks are read."""

TICK = "╵"
NEWEST = "now"

LIKE_RATIO = 1.25
"""Intervals that differ by less than this are of one length."""

RECENT = 9
"""So many intervals say how long one is, and where columns begin: one that is late changes nothing."""

Span = tuple[int, int]
"""Beginning and end of an interval, nanoseconds of CLOCK_MONOTONIC."""


@dataclass(frozen=True, slots=True)
class TimeGrid:
    """Columns of `column_ns`, each of whole intervals of about `interval_ns`; column 0 ends at `anchor_ns`.

    `of` of them are `cells` columns wide together: several columns have the same content while the history is short,
    and one has several intervals when it is long.
    """

    anchor_ns: int
    interval_ns: int
    column_ns: int
    cells: int = 1
    of: int = 1

    def column(self, end_ns: int) -> int:
        """The last column in which an interval that ends then is shown. Up to half an interval early or late is the
        same."""
        return -((self.anchor_ns + self.interval_ns // 2 - end_ns) // self.column_ns) * self.cells // self.of

    def columns(self, span: Span) -> tuple[int, int]:
        """The first and the last column of an interval: several, if it is longer than one."""
        last = self.column(span[1])
        return min(last, self.column(span[0]) + 1), last

    def end_ns(self, column: int) -> int:
        """The end of a column."""
        return self.anchor_ns + column * self.column_ns * self.of // self.cells

    @property
    def shown_ns(self) -> int:
        """How much time a column shows."""
        return self.column_ns * self.of // self.cells


class GridKeeper:
    """Finds the grid of intervals, and keeps it as long as they still fit."""

    def __init__(self) -> None:
        self._grid: TimeGrid | None = None

    def grid(self, spans: Sequence[Span], per_column: int) -> TimeGrid:
        """The grid for intervals (oldest first, at least one), of which so many are one column."""
        recent = spans[-RECENT:]
        lengths = sorted(end - start for start, end in recent)
        usual = max(1, lengths[len(lengths) // 2])
        grid = self._grid
        if grid is None or not grid.interval_ns / LIKE_RATIO < usual < grid.interval_ns * LIKE_RATIO:
            rounded = round(usual, -7) if usual >= 100 * NS_PER_MS else usual
            grid = TimeGrid(recent[-1][1], rounded, rounded * per_column)
        elif grid.column_ns != grid.interval_ns * per_column:
            grid = TimeGrid(grid.anchor_ns, grid.interval_ns, grid.interval_ns * per_column)
        interval_ns = grid.interval_ns
        half = interval_ns // 2
        off = sorted(abs((end - grid.anchor_ns + half) % interval_ns - half) for _, end in recent)[len(recent) // 2]
        if off > interval_ns / 3:
            grid = TimeGrid(recent[-1][1], interval_ns, grid.column_ns)
        self._grid = grid
        return grid


class RightEdge:
    """The column at the right edge: the map moves on in jumps, so that most columns stay where they are."""

    def __init__(self) -> None:
        self._right: int | None = None
        self._key: object = None

    def column(self, grid: TimeGrid, newest: int, wanted: int, width: int) -> int:
        """The last column of `width`, so that `wanted` is seen; it follows `newest` where both are."""
        key = (grid.anchor_ns, grid.column_ns, grid.cells, grid.of, width)
        right = self._right
        jump = jump_of(width, -(-grid.cells // grid.of))
        live = -(-newest // jump) * jump
        if key != self._key or right is None or right > live:
            right = live
        if not right - width < wanted <= right:
            # At one third from the end, so that there is something to see on both sides.
            right = live if wanted > live - width else min(live, wanted + width // 3)
        if wanted == newest:
            right = live
        self._right, self._key = right, key
        return right


def jump_of(width: int, cells: int = 1) -> int:
    """How many columns the map moves on at once: several intervals, however wide they are."""
    return max(1, width // 12, 3 * cells if cells > 1 else 1)


def axis(
    grid: TimeGrid,
    first: int,
    width: int,
    zero_ns: int,
    text_of: Callable[[int], str],
    *,
    newest: str = "",
    reserved: tuple[int, int] | None = None,
    least_cells: int = 8,
) -> str:
    """Marks at round times, each at the column that ends then: `╵-30s`. Exactly `width` cells.

    `first`: the column at the left; times are told from `zero_ns` on, by `text_of`; `newest` stands at zero itself,
    and no mark after it. Cells that are `reserved` (first and last) stay empty.
    """
    cells = [" "] * width
    taken = [False] * (width + 1)
    kept = range(0) if reserved is None else range(max(reserved[0], 0), min(reserved[1], width - 1) + 1)

    def put(place: int, text: str) -> bool:
        """Writes a text that fits, with a blank before and after it; false if another one is in its place."""
        around = range(max(place - 1, 0), min(place + len(text), width) + 1)
        if not 0 <= place <= width - len(text) or any(cell in kept for cell in around):
            return True
        if any(taken[cell] for cell in around):
            return False
        cells[place : place + len(text)] = text
        taken[place : place + len(text)] = [True] * len(text)
        return True

    end = grid.end_ns(first + width - 1) - zero_ns
    zero = grid.column(zero_ns) - first
    if newest:
        fits = zero + len(newest) < width
        put(zero if fits else zero - len(newest), TICK + newest if fits else newest + TICK)
        end = -1
    least = least_cells * grid.column_ns * grid.of
    begin = grid.end_ns(first - 1) - zero_ns

    def place(offset: int) -> int:
        """From the newest on by the length of time: whole intervals would be a column more or less now and then."""
        if newest:
            return zero + round(offset * grid.cells / (grid.column_ns * grid.of))
        return grid.column(zero_ns + offset) - first

    empty, found = (cells, taken), None
    for step in STEPS_NS:
        if step * grid.cells < least or step < grid.interval_ns // LIKE_RATIO:
            continue
        cells, taken = empty[0].copy(), empty[1].copy()
        marks = range(-(-begin // step) * step, end + 1, step)
        fit = [put(place(offset), TICK + text_of(offset)) for offset in marks]
        found = cells if found is None or all(fit) else found
        if all(fit):
            # Those that would be left out make the others uneven.
            break
    return "".join(found or cells)


def back_text(offset_ns: int) -> str:
    """How long ago: `-30s`, `-2m`, `-0.5s`."""
    back = -offset_ns
    if back and back % (60 * NS_PER_S) == 0:
        return f"-{back // (60 * NS_PER_S)}m"
    return f"-{back / NS_PER_S:g}s"
