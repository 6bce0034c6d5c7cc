"""Charts for text outputs: plain text of at most 80 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import ceil, floor, log10
from typing import Any

from schedtop.base.units import format_clock, format_round_ns
from schedtop.charts.chart import MARGIN, Chart, Line, names, scale_of
from schedtop.charts.drawing import canvas, plain
from schedtop.charts.trends import TRENDS, Values

WIDTH, GUTTER = 80, 2
HALF = (WIDTH - GUTTER) // 2
"""Two charts stand beside each other."""

NAMES, ROWS = 6, 7
"""Cells for the name of a line, and lines of a chart without its title and the time."""

COLUMNS = HALF - MARGIN - NAMES
PLACES = 2 * COLUMNS
"""How many values a line has: two dots of a cell."""

DISTRIBUTION_ROWS, DISTRIBUTION_COLUMNS = 9, WIDTH - MARGIN - 8
LEAST_SHARE = 1e-6
SHORTEST_NS, LONGEST_NS = 64.0, 2.0**40

Histogram = Mapping[str, Any]
"""One of `runqueue_latency` of a snapshot or a report."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of time, as it is drawn."""

    offset_ns: int
    interval_ns: int
    values: Values


def trends_text(pieces: Sequence[Piece], begin_ns: int) -> str:
    """The trends that have anything to show over these pieces of time, two beside each other; empty if there is none.

    `begin_ns`: when they begin, by wall clock. Where a dot stands for several pieces, the largest value counts.
    """
    if len(pieces) < 2:
        return ""
    span_ns = max(piece.offset_ns + piece.interval_ns for piece in pieces)
    charts = [trend.chart(_places(pieces, span_ns)) for trend in TRENDS]
    begin, end = format_clock(begin_ns), format_clock(begin_ns + span_ns)
    time = f"{' ' * MARGIN}{begin}{end:>{COLUMNS - len(begin)}}"
    blocks = [[chart.title, *_rows(chart, COLUMNS, ROWS), time] for chart in charts if any(chart.known)]
    blocks += [[]] * (len(blocks) % 2)
    pairs = zip(blocks[::2], blocks[1::2], strict=True)
    return "\n\n".join("\n".join(_beside(left, right)) for left, right in pairs)


def _beside(left: Sequence[str], right: Sequence[str]) -> list[str]:
    return [f"{one:<{HALF + GUTTER}}{other}".rstrip() for one, other in zip_longest(left, right, fillvalue="")]


def _rows(chart: Chart, columns: int, rows: int) -> list[str]:
    scale = scale_of(chart)
    labels = names(chart, scale, rows, cells=NAMES, values=False)
    lines = plain(canvas(chart, scale, columns, rows))
    return [line + label for line, (label, _) in zip(lines, labels, strict=True)]


def _places(pieces: Sequence[Piece], span_ns: int) -> list[Values | None]:
    """PLACES equal parts of the time, each with the largest values of its pieces."""
    places: list[dict[str, float | None] | None] = [None] * PLACES
    for piece in pieces:
        first = piece.offset_ns * PLACES // span_ns
        last = max(first, (piece.offset_ns + piece.interval_ns) * PLACES // span_ns - 1)
        for at in range(first, min(last, PLACES - 1) + 1):
            before = places[at] or {}
            places[at] = {name: _most(value, before.get(name)) for name, value in piece.values.items()}
    return [*places]


def _most(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else max(one, other)


def distributions_text(title: str, before: Histogram | None, after: Histogram | None) -> str:
    """Two distributions over each other: the first one as an area, the second one as a line; empty without both.

    Both axes are logarithmic; the height is the share of all waits of that side.
    """
    if not before or not after or not before["count"] or not after["count"]:
        return ""
    buckets = [bucket for side in (before, after) for bucket in side["buckets"] if bucket["count"]]
    low = floor(log10(max(SHORTEST_NS, min(bucket["low_ns"] for bucket in buckets))))
    high = max(low + 1, ceil(log10(min(LONGEST_NS, max(_high_ns(bucket) for bucket in buckets)))))
    lines = (
        Line("before", "dim", _shares(before, low, high), filled=True),
        Line("after", "strong", _shares(after, low, high)),
    )
    chart = Chart("", lines, _percent, logarithmic=True)
    drawn = plain(canvas(chart, scale_of(chart), DISTRIBUTION_COLUMNS, DISTRIBUTION_ROWS))
    axis = [" "] * (DISTRIBUTION_COLUMNS + 8)
    for power in range(low, high + 1):
        words = f"╵{format_round_ns(10**power)}"
        at = round((power - low) / (high - low) * (DISTRIBUTION_COLUMNS - 1))
        axis[at : at + len(words)] = words
    return "\n".join(
        [f"{title}: ░ before, ⠤ after", *(line.rstrip() for line in drawn), " " * MARGIN + "".join(axis).rstrip()]
    )


def _shares(side: Histogram, low: int, high: int) -> list[float | None]:
    """The share of the waits in each column; a bucket is spread over the columns that it covers."""
    shares = [0.0] * DISTRIBUTION_COLUMNS
    scale = DISTRIBUTION_COLUMNS / (high - low)
    for bucket in side["buckets"]:
        begin = (log10(max(bucket["low_ns"], SHORTEST_NS)) - low) * scale
        end = max((log10(_high_ns(bucket)) - low) * scale, begin + 1e-9)
        for column in range(max(0, floor(begin)), min(DISTRIBUTION_COLUMNS - 1, floor(end)) + 1):
            inside = max(0.0, min(end, column + 1) - max(begin, column))
            shares[column] += bucket["count"] / side["count"] * inside / (end - begin)
    return [share if share >= LEAST_SHARE else None for share in shares]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share * 100:.6g} %"


def _high_ns(bucket: Mapping[str, Any]) -> float:
    return float(min(bucket["high_ns"] or bucket["low_ns"] * 2, LONGEST_NS))
