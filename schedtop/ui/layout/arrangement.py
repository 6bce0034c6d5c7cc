"""Arrangement: which panes of a preset are seen in so many cells, and where. Nothing is cut in half."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from textual.geometry import Region, Size

from schedtop.ui.layout.presets import NOT_IN_STRIP, WIDE_IN_STRIP, Plan, Preset, Row

STRIP_CELL = 26
"""Cells that the strip has at least for each pane that is not seen."""

STRIP_EDGES = 2
"""Cells beside the strip."""

STRIP_MOST = 3
STRIP_FREE_LINES = 30
"""From this many lines on the strip may have as many as it needs."""

SEVERAL_LEAST_LINES = 19
"""From this many lines on there is room for several panes."""

GUEST_LEAST_LINES = 24
"""From this many lines on also for a guest beside others."""

STRIP_LEAST_LINES = 12
"""Fewer lines than this are for the pane alone, without a strip."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The panes that are seen, and those of the strip, in the order of all panes."""

    plan: Plan
    strip: tuple[str, ...]
    strip_lines: int

    @property
    def seen(self) -> tuple[str, ...]:
        """The panes in the order of reading."""
        return tuple(pane for row in self.plan for pane in row.cells)


def arrange(
    preset: Preset,
    size: Size,
    least: Mapping[str, Size],
    guest: str | None = None,
    zoomed: str | None = None,
) -> Arrangement:
    """The first plan of the preset in which all panes get what they need at least (`least`: of every pane there is).

    `guest`: a pane that no plan of this size may have; it takes the place of the main pane then. `zoomed`: this one
    alone.
    """
    if zoomed is not None:
        return Arrangement((Row({zoomed: 1}),), (), 0)
    for plan in preset.plans if size.height >= (GUEST_LEAST_LINES if guest else SEVERAL_LEAST_LINES) else ():
        arranged = _beside_strip(_with_guest(plan, preset.main, guest), least, size)
        # A small guest must not bring other panes with it.
        if _fits(_beside_strip(plan, least, size), least, size) and _fits(arranged, least, size):
            return arranged
    alone = _beside_strip((Row({guest or preset.main: 1}),), least, size)
    return alone if size.height >= STRIP_LEAST_LINES else replace(alone, strip=(), strip_lines=0)


def regions(
    plan: Plan,
    size: Size,
    least: Mapping[str, Size],
    cpus: int | None = None,
    wanted: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, Region]:
    """Where each pane of the plan is, in so many cells without the strip; `cpus`: how many, if known.

    `wanted`: how many lines those panes can fill that cannot fill any number; where a whole row can do no more, the
    other rows get the rest.
    """
    heights = _heights(plan, size.height, least, cpus, wanted)
    placed: dict[str, Region] = {}
    y = 0
    for row, height in zip(plan, heights, strict=True):
        widths = _shares(size.width, [least[pane].width for pane in row.cells], list(row.cells.values()))
        x = 0
        for pane, width in zip(row.cells, widths, strict=True):
            placed[pane] = Region(x, y, width, height)
            x += width
        y += height
    return placed


def _heights(
    plan: Plan, height: int, least: Mapping[str, Size], cpus: int | None, wanted: Mapping[str, int]
) -> list[int]:
    """The lines of each row."""
    lowest, weights = [_row_height(row, least, wanted) for row in plan], [row.weight for row in plan]
    most = [row.most_lines(cpus) for row in plan]
    bounds = [
        max(low, min(limit, max(wanted.get(pane, limit) for pane in row.cells)))
        for row, low, limit in zip(plan, lowest, most, strict=True)
    ]
    heights = _bounded_shares(height, lowest, weights, bounds, most)
    filled = [max(low, row.filled_lines(lines, cpus)) for row, low, lines in zip(plan, lowest, heights, strict=True)]
    if filled == heights:
        return heights
    bounds = [one if one < lines else bound for bound, one, lines in zip(bounds, filled, heights, strict=True)]
    most = [one if one < lines else row.most for row, one, lines in zip(plan, filled, heights, strict=True)]
    return _bounded_shares(height, lowest, weights, bounds, most)


def strip_across(width: int) -> int:
    """How many cells a line of the strip has on a screen of that width."""
    return max(1, (width - STRIP_EDGES) // STRIP_CELL)


def strip_rows(panes: Sequence[str], width: int) -> list[list[tuple[str, int]]]:
    """The panes of each line of the strip with how many cells they take: each in the first line with room for it."""
    across = strip_across(width)
    rows: list[list[tuple[str, int]]] = []
    for pane in panes:
        cells = min(across, 2 if pane in WIDE_IN_STRIP else 1)
        row = next((row for row in rows if sum(taken for _, taken in row) + cells <= across), None)
        if row is None:
            row = []
            rows.append(row)
        row.append((pane, cells))
    return rows


def _with_guest(plan: Plan, main: str, guest: str | None) -> Plan:
    if guest is None or any(guest in row.cells for row in plan):
        return plan
    return tuple(
        replace(row, cells={guest if pane == main else pane: weight for pane, weight in row.cells.items()})
        for row in plan
    )


def _beside_strip(plan: Plan, least: Mapping[str, Size], size: Size) -> Arrangement:
    seen = {pane for row in plan for pane in row.cells}
    strip = tuple(pane for pane in least if pane not in seen and pane not in NOT_IN_STRIP)
    most = STRIP_MOST if size.height < STRIP_FREE_LINES else len(strip)
    return Arrangement(plan, strip, min(most, len(strip_rows(strip, size.width))))


def _fits(arrangement: Arrangement, least: Mapping[str, Size], size: Size) -> bool:
    lines = sum(_row_height(row, least) for row in arrangement.plan) + arrangement.strip_lines
    widest = max(sum(least[pane].width for pane in row.cells) for row in arrangement.plan)
    return lines <= size.height and widest <= size.width


def _row_height(row: Row, least: Mapping[str, Size], wanted: Mapping[str, int] = MappingProxyType({})) -> int:
    """The lines that a row has at least: what its panes need to be read, and its own least if they can fill it."""
    filled = min(row.least, max(wanted.get(pane, row.least) for pane in row.cells))
    return max(filled, *(least[pane].height for pane in row.cells))


def _bounded_shares(
    whole: int, least: Sequence[int], weights: Sequence[int], bounds: Sequence[int], most: Sequence[int]
) -> list[int]:
    """The same with bounds that hold as long as another part can have the rest."""
    parts = _shares(min(whole, sum(bounds)), least, weights, bounds)
    return _shares(whole, parts, weights, most)


def _shares(whole: int, least: Sequence[int], weights: Sequence[int], most: Sequence[int] = ()) -> list[int]:
    """A length in parts: each at least what it needs, the rest by weight, up to its most; all of it is given out.

    The parts of the rest follow the weights of all, so that a small part does not gain by what it needs.
    """
    parts = list(least)
    bounds = list(most) or [whole] * len(parts)
    while (spare := whole - sum(parts)) > 0:
        growing = [index for index in range(len(parts)) if parts[index] < bounds[index]]
        if not growing:
            parts[-1] += spare
            break
        # One cell at a time to the pane it is due most: lengths are those of a screen.
        parts[max(growing, key=lambda index: (weights[index] / (parts[index] + 1), -index))] += 1
    while sum(parts) > whole and max(parts) > 1:
        # Another line of the screen is in use for a moment: the largest gives way.
        parts[parts.index(max(parts))] -= 1
    return parts
