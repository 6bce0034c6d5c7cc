"""The histogram of waits: logarithmic in time and in count, wakeup and fork upwards, preemption downwards."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from schedtop.base.histogram import HIGH_NS, LOW_NS, Histogram
from schedtop.base.units import format_count, format_round_ns
from schedtop.widgets.bars import bars
from schedtop.widgets.plot import ACROSS, area
from schedtop.widgets.strips import Span, Spans

MARGIN = 7
"""Cells left of the plot, for counts."""

DECADES_LEAST = 3

LABEL_CELLS = len("100 µs") + 1
"""Of a time under the axis, with a gap."""

LEAST_MIRRORED = 4
"""With fewer lines, two halves around an axis show nothing."""

NAMES = {"wakeup": ("wakeup",), "forks": ("wakeup", "+ fork"), "preemption": ("preempt",), "all": ("waits",)}
"""What stands beside each half, from the top; `forks`: the upper one has some."""

ALONE = {"forks": "wakeup+"}
"""The same where there is one line."""

LOGARITHMIC = "log"

_LOG_EDGES = np.log10(np.maximum(np.append(LOW_NS, HIGH_NS[-1]), 1).astype(float))
_LOG_EDGES[0] = _LOG_EDGES[1] - 0.1
_LOG_EDGES[-1] = _LOG_EDGES[-2] + 0.1


class LatencyPlot:
    """Draws the two halves; keeps the range of time while it still fits, so that the picture does not jump."""

    def __init__(self) -> None:
        self._range = (0, 0)
        self._key: object = None
        self._lines: list[Spans] = []

    def lines(
        self, up: Histogram, down: Histogram, width: int, height: int, threshold_ns: int, upper: str = "wakeup"
    ) -> list[Spans]:
        """The plot in at most `height` lines of `width` cells. The same data and size cost nothing again.

        `upper`: what the upper half is, of NAMES; `all`: it is all there is.
        """
        key = (up.counts.tobytes(), down.counts.tobytes(), width, height, threshold_ns, upper)
        if key != self._key:
            self._key = key
            self._lines = self._build(up, down, width, height, threshold_ns, upper)
        return self._lines

    def _build(
        self, up: Histogram, down: Histogram, width: int, height: int, threshold_ns: int, kind: str
    ) -> list[Spans]:
        alone = kind == "all"
        columns = width - MARGIN
        if columns < 10 or not (up.count or down.count):
            return [[("no waits in this window", "dim")]] if columns >= 10 else []
        self._range = decades(up.counts + down.counts, self._range)
        counts_up = per_column(up.counts, self._range, columns * ACROSS)
        counts_down = per_column(down.counts, self._range, columns * ACROSS)
        most = float(max(counts_up.max(), counts_down.max(), 1.0))
        if height < LEAST_MIRRORED:
            flat = self._flat(counts_up, counts_down, most, columns, threshold_ns, kind)
            return flat[: 2 if alone else height] if height > 1 else []
        upper = height - 2 if alone else (height - 1) // 2
        lower = height - 2 - upper
        drawn = area(_shares(counts_up, most), columns, upper, _shares(counts_down, most), lower)
        lines = _half(drawn[:upper], most, kind)
        lines.append(_axis(self._range, columns, threshold_ns))
        lines.append(_labels(self._range, columns, threshold_ns))
        lines.extend(_half(drawn[upper:], most, "preemption"))
        return lines

    def _flat(
        self,
        counts_up: npt.NDArray[np.float64],
        counts_down: npt.NDArray[np.float64],
        most: float,
        columns: int,
        threshold_ns: int,
        upper: str,
    ) -> list[Spans]:
        """For two or three lines: the times, and each kind as one line of bars."""
        lines: list[Spans] = [_labels(self._range, columns, threshold_ns)]
        for counts, kind in ((counts_up, upper), (counts_down, "preemption")):
            shares = np.array(_shares(counts.reshape(columns, ACROSS).max(axis=1), most))
            name = ALONE.get(kind, NAMES[kind][0])
            lines.append([(f"{name:>{MARGIN}}", "head"), (bars(shares), _style(kind))])
        return lines


def decades(counts: npt.NDArray[np.integer], before: tuple[int, int]) -> tuple[int, int]:
    """The powers of ten (of nanoseconds) that hold all counts; the range before is kept unless it is far too wide."""
    used = np.flatnonzero(counts)
    low = math.floor(_LOG_EDGES[used[0]] + 1e-9)
    high = max(math.ceil(_LOG_EDGES[used[-1] + 1] - 1e-9), low + DECADES_LEAST)
    if before[0] <= low and high <= before[1] and (before[1] - before[0]) - (high - low) <= 1:
        return before
    return low, high


def per_column(counts: npt.NDArray[np.integer], limits: tuple[int, int], columns: int) -> npt.NDArray[np.float64]:
    """Counts of the buckets shared out over columns of equal logarithmic width: no comb where they do not align."""
    edges = np.linspace(limits[0], limits[1], columns + 1)
    running = np.concatenate(([0.0], np.cumsum(counts, dtype=float)))
    return np.diff(np.interp(edges, _LOG_EDGES, running))


def _shares(counts: npt.NDArray[np.float64], most: float) -> list[float]:
    """Logarithmic heights (0..1): one long wait among thousands of short ones is what is looked for."""
    shares = np.log1p(counts) / math.log1p(most)
    # What is less than a twentieth of a wait in a column is only interpolation.
    shares[counts < 0.05] = 0
    values: list[float] = shares.tolist()
    return values


def _style(kind: str) -> str:
    return {"all": "text", "forks": "wakeup"}.get(kind, kind)


def _half(drawn: Sequence[str], most: float, kind: str) -> list[Spans]:
    """One kind's half, with its name beside the axis, and counts in the margin: the highest, and powers of ten."""
    height = len(drawn)
    # From the axis outwards, as the counts go.
    labels = [" " * MARGIN] * height
    names = NAMES[kind]
    if height < len(names) + 1:
        names = (ALONE.get(kind, names[0]),)
    upwards = kind != "preemption"
    for place, name in enumerate(reversed(names) if upwards else names):
        if place < height:
            labels[place] = f"{name:>{MARGIN}}"
    for count in (round(most), *(10**power for power in range(int(math.log10(max(most, 1))), -1, -1))):
        line = min(height, max(1, math.ceil(math.log1p(count) / math.log1p(most) * height - 1e-9))) - 1
        if height and labels[line].isspace():
            labels[line] = f"{format_count(count):>5} ┤"
    if upwards:
        labels.reverse()
    return [[(label, "head"), (line, _style(kind))] for label, line in zip(labels, drawn, strict=True)]


def _axis(limits: tuple[int, int], columns: int, threshold_ns: int) -> list[Span]:
    line = ["─"] * columns
    for decade in range(limits[0] + 1, limits[1] + 1):
        line[_column(decade, limits, columns)] = "┼"
    mark = _threshold_column(limits, columns, threshold_ns)
    spans: list[Span] = [(f"{'0':>5} ┼", "head")]
    if mark is None:
        return [*spans, ("".join(line), "head")]
    return [*spans, ("".join(line[:mark]), "head"), ("┃", "notice"), ("".join(line[mark + 1 :]), "head")]


def _labels(limits: tuple[int, int], columns: int, threshold_ns: int) -> list[Span]:
    """Times under the axis, the threshold first: the decades give way to it."""
    cells = [*LOGARITHMIC.ljust(columns + MARGIN)]
    spans: list[Span] = []
    mark = _threshold_column(limits, columns, threshold_ns)
    taken = range(0, 0)
    if mark is not None:
        text = f"slow > {format_round_ns(threshold_ns)}"
        start = max(0, min(MARGIN + mark, len(cells) - len(text)))
        taken = range(start - 1, start + len(text) + 1)
        spans = [("", "head"), (text, "notice")]
    for decade in range(limits[0], limits[1] + 1):
        if decade % _step(limits, columns):
            continue
        text_at = _decade_text(decade)
        first = MARGIN + _column(decade, limits, columns) - len(text_at) // 2
        first = min(first, len(cells) - len(text_at))
        place = range(first, first + len(text_at))
        if not set(place) & set(taken) and all(cells[index] == " " for index in range(max(first - 1, 0), place.stop)):
            cells[place.start : place.stop] = list(text_at)
    if not spans:
        return [("".join(cells), "head")]
    before, after = "".join(cells[: taken.start + 1]), "".join(cells[taken.stop - 1 :])
    return [(before, "head"), spans[1], (after, "head")]


def _step(limits: tuple[int, int], columns: int) -> int:
    """Each decade is labelled, or each second or third where there is no room: not those that happen to fit."""
    return next((step for step in (1, 2) if step * columns >= LABEL_CELLS * (limits[1] - limits[0])), 3)


def _decade_text(decade: int) -> str:
    units: Sequence[str] = ("ns", "µs", "ms", "s")
    power, rest = divmod(decade, 3)
    if power >= len(units):
        power, rest = len(units) - 1, decade - 3 * (len(units) - 1)
    return f"{10**rest} {units[power]}"


def _column(log_ns: float, limits: tuple[int, int], columns: int) -> int:
    share = (log_ns - limits[0]) / (limits[1] - limits[0])
    return min(columns - 1, int(share * columns))


def _threshold_column(limits: tuple[int, int], columns: int, threshold_ns: int) -> int | None:
    if threshold_ns <= 0 or not limits[0] <= math.log10(threshold_ns) < limits[1]:
        return None
    return _column(math.log10(threshold_ns), limits, columns)
