"""What the heat map of latency shows, computed: how many waits of which length there were in which column of time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from schedtop.base.histogram import BUCKETS, LOW_NS, VALUE_NS, Histogram
from schedtop.widgets.glyphs import SHADE_LEVELS

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

ROWS_PER_DECADE = (12, 10, 8, 6, 5, 4, 3, 2.5, 2, 1.5, 1, 0.5)
"""Powers of ten (or every other one) begin at the lower edge of a row, so that its label is exact."""

DECADES_LEAST = 2.0

BELOW_RATIO, BELOW_MOST = 0.005, 0.03
"""The share of the waits that may be shorter than the lowest row (they are shown in it), when the range is chosen, and
from which on it is chosen anew."""

HIGHEST_LEAST_NS = 100_000.0

SHORT_LOG = 3.0
"""A microsecond: shorter waits are told apart only if that makes no other row coarser."""

FEW_ROWS_LOG = 4.0
"""Ten microseconds: the same where rows would hold more than a power of ten."""

THRESHOLD_REACH = 100
"""A threshold is in the range if it is at most so many times the longest wait."""

SHRINK = 1.3
"""The range becomes smaller only if its rows become so many times finer: two of a power of ten in place of 1.5."""

FACTORS = (2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100)
"""By how much more waits make a cell one shade darker."""

_LOG_VALUES = np.log10(VALUE_NS)


@dataclass(frozen=True, slots=True)
class LogScale:
    """Rows of equal logarithmic height: row 0 begins at `10 ** low` ns, `per_decade` of them are a power of ten."""

    low: float
    per_decade: float
    rows: int
    bound: float | None = None
    """The logarithm of a duration at which a row begins exactly, the one that would begin nearest to it."""

    @property
    def high(self) -> float:
        """The logarithm of the upper edge."""
        return self.low + self.rows / self.per_decade

    def row(self, ns: float) -> int:
        """The row of a duration; what is outside belongs to the first or the last."""
        log = math.log10(ns) if ns > 0 else 0.0
        return int(self.rows_of(np.array([log]))[0])

    def rows_of(self, logs: Floats) -> npt.NDArray[np.int64]:
        """The same for many logarithms."""
        rows: npt.NDArray[np.int64] = np.floor((logs - self.low) * self.per_decade + 1e-9).astype(np.int64)
        rows = np.minimum(np.maximum(rows, 0), self.rows - 1)
        if self.bound is None:
            return rows
        at = min(max(round((self.bound - self.low) * self.per_decade), 1), self.rows - 1)
        return np.where(logs >= self.bound - 1e-9, np.maximum(rows, at), np.minimum(rows, at - 1))

    def decades(self) -> list[tuple[int, int]]:
        """Each power of ten (of nanoseconds) in the range with the row that begins there."""
        first, last = math.ceil(self.low - 1e-9), math.ceil(self.high - 1e-9)
        found = [(power, round((power - self.low) * self.per_decade, 6)) for power in range(first, last)]
        return [(power, int(row)) for power, row in found if row == int(row) < self.rows and self.row(10**power) == row]

    def within(self) -> list[tuple[int, int]]:
        """The other powers of ten in the range, each with the row that it is in."""
        exact = {power for power, _ in self.decades()}
        inside = range(math.ceil(self.low), math.ceil(self.high - 1e-9))
        return [(power, self.row(10**power)) for power in inside if power not in exact]


def log_scale(total: Counts, threshold_ns: int, rows: int, before: LogScale | None = None) -> LogScale:
    """The scale that holds these waits (shape (BUCKETS,)) and the threshold; the one before while it still does well.

    The few shortest waits may be below it, or those below a microsecond, never the longest. A row begins at the
    threshold, if that is in it.
    """
    scale = _scale(total, threshold_ns, rows, before)
    bound = math.log10(threshold_ns) if threshold_ns > 0 else scale.low
    return replace(scale, bound=bound if scale.low < bound < scale.high and scale.rows > 1 else None)


def _scale(total: Counts, threshold_ns: int, rows: int, before: LogScale | None) -> LogScale:
    rows = max(1, rows)
    used = np.flatnonzero(total)
    longest = float(VALUE_NS[used[-1]]) if len(used) else 0.0
    reached = threshold_ns if threshold_ns <= longest * THRESHOLD_REACH else 0
    high = math.log10(max(longest, reached, HIGHEST_LEAST_NS) * 1.01)
    running = np.cumsum(total)
    if len(used):
        low = math.log10(max(float(LOW_NS[int(np.searchsorted(running, max(1.0, running[-1] * BELOW_RATIO)))]), 100.0))
    else:
        low = 3.0
    low = min(low, high - DECADES_LEAST)
    wanted = _finest(low, high, rows)
    for short in (SHORT_LOG, FEW_ROWS_LOG) if wanted.per_decade < 1 else (SHORT_LOG,):
        finer = _finest(max(low, min(short, high - DECADES_LEAST)), high, rows)
        wanted = finer if finer.per_decade >= wanted.per_decade * SHRINK else wanted
    if before is None or before.rows != rows or high > before.high + 1e-9:
        return wanted
    below = int(total[before.low > _LOG_VALUES].sum())
    if below > BELOW_MOST * max(int(running[-1]), 1) or wanted.per_decade >= before.per_decade * SHRINK:
        return wanted
    return before


def _finest(low: float, high: float, rows: int) -> LogScale:
    for per_decade in ROWS_PER_DECADE:
        begin = math.floor(low * per_decade + 1e-9) / per_decade
        if begin + rows / per_decade >= high - 1e-9:
            return LogScale(begin, per_decade, rows)
    return LogScale(math.floor(low / 2) * 2.0, ROWS_PER_DECADE[-1], rows)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The waits of each column of time.

    `counts`: shape (columns, BUCKETS), of all intervals that are in a column; `share`: which part of these waits is
    counted in this column, shape (columns,), below 1 where an interval is longer; `max_ns` and `known`, whether there
    was any interval: shape (columns,).
    """

    counts: Counts
    share: Floats
    max_ns: Counts
    known: npt.NDArray[np.bool_]
    total: Counts
    """All of them together, shape (BUCKETS,)."""
    running: Counts
    """Sums over the buckets below, shape (columns, BUCKETS + 1)."""

    @classmethod
    def of(cls, width: int, placed: Iterable[tuple[int, int, Histogram]]) -> Columns:
        """Columns 0 to `width - 1`; each histogram with its first and its last column, which may be outside."""
        columns = cls(
            counts=np.zeros((width, BUCKETS), np.int64),
            share=np.ones(width),
            max_ns=np.zeros(width, np.int64),
            known=np.zeros(width, bool),
            total=np.zeros(BUCKETS, np.int64),
            running=np.zeros((width, BUCKETS + 1), np.int64),
        )
        columns.add(placed)
        return columns

    def add(self, placed: Iterable[tuple[int, int, Histogram]]) -> None:
        """Adds more histograms, newer ones."""
        counts, share, known = self.counts, self.share, self.known
        changed: set[int] = set()
        for first, last, waits in placed:
            part = 1 / (last - first + 1)
            for column in range(max(first, 0), min(last, len(known) - 1) + 1):
                if not known[column]:
                    counts[column], share[column] = waits.counts, part
                else:
                    if part != share[column]:
                        # One that is longer than its column, beside one that is not: in the map their waits add up.
                        before, count = int(counts[column].sum()), waits.count
                        share[column] = (share[column] * before + part * count) / max(before + count, 1)
                    counts[column] += waits.counts
                self.max_ns[column] = max(int(self.max_ns[column]), waits.max_ns)
                known[column] = True
                self.total[:] += waits.counts
                changed.add(column)
        for column in changed:
            np.cumsum(counts[column], out=self.running[column, 1:])

    def histogram(self, column: int) -> Histogram:
        """All waits of a column."""
        return Histogram(self.counts[column], 0, int(self.max_ns[column]))


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap:
    """Columns on a scale: `cells` are waits, shape (rows, columns), the shortest first, and `lines` the row of each
    percentile asked for in each column, shape (percentiles, columns), -1 where there was no wait."""

    cells: Floats
    lines: npt.NDArray[np.int64]


def heat_map(columns: Columns, scale: LogScale, ratios: Sequence[float]) -> HeatMap:
    """The map of these columns."""
    running = columns.running
    edges = np.searchsorted(scale.rows_of(_LOG_VALUES), np.arange(scale.rows + 1))
    cells = np.diff(running[:, edges], axis=1).T * columns.share
    lines = np.empty((len(ratios), len(columns.counts)), np.int64)
    total = running[:, -1]
    for index, ratio in enumerate(ratios):
        # The same rule as Histogram.percentile_ns, for all columns at once.
        rank = np.maximum(np.ceil(ratio * total - 1e-9), 1).astype(np.int64)
        values = np.floor(VALUE_NS[np.argmax(running[:, 1:] >= rank[:, None], axis=1)])
        values = np.where(columns.max_ns > 0, np.minimum(values, columns.max_ns), values)
        lines[index] = np.where(total > 0, scale.rows_of(np.log10(np.maximum(values, 1))), -1)
    return HeatMap(cells, lines)


def factor_for(most: float, before: int = 0) -> int:
    """By how much each shade differs from the one below, so that the darkest begins below the largest count.

    As near to it as they go: else one shade fills the map of a storm. The one before while it is at most a step from
    the right one.
    """
    least = next((factor for factor in FACTORS if factor**SHADE_LEVELS > most), FACTORS[-1])
    wanted = max([least, *(factor for factor in FACTORS if factor ** (SHADE_LEVELS - 1) <= most)])
    if before in FACTORS and before**SHADE_LEVELS > most and 0 <= FACTORS.index(before) - FACTORS.index(wanted) <= 1:
        return before
    return wanted


def shades(cells: Floats, factor: int) -> npt.NDArray[np.int64]:
    """The shade of each cell, 0 to SHADE_LEVELS: 1 for anything at all, then one more for each `factor` times more."""
    limits = [float(factor) ** step for step in range(1, SHADE_LEVELS)]
    levels: npt.NDArray[np.int64] = np.searchsorted(np.array(limits), cells + 1e-9, side="right") + (cells > 0)
    return levels


def shade_limits(factor: int) -> list[int]:
    """From how many waits on each shade is, from the lightest to the darkest."""
    return [factor**step for step in range(SHADE_LEVELS)]


def runs(flags: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Where flags are set, as (first, last) of each run."""
    bounds = np.flatnonzero(np.diff(np.concatenate(([0], flags.view(np.int8), [0]))))
    return [(first, end - 1) for first, end in list(pairwise(bounds.tolist()))[::2]]
