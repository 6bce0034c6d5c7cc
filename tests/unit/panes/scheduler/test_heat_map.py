"""The heat map of latency, computed: each wait in its cell, percentiles by the rule of the histogram, steady scales."""

from __future__ import annotations

import numpy as np
import pytest

from schedtop.base.histogram import Histogram
from schedtop.base.units import NS_PER_MS, NS_PER_US
from schedtop.panes.scheduler.latency.heat_map import (
    Columns,
    LogScale,
    factor_for,
    heat_map,
    log_scale,
    shade_limits,
    shades,
)
from schedtop.widgets.glyphs import SHADE_LEVELS, styled

SCALE = LogScale(low=3, per_decade=2, rows=10)


def of(*waits_ns: int) -> Histogram:
    return Histogram.of(waits_ns)


def waits(seed: int, median_ns: float = 50_000, count: int = 700) -> Histogram:
    return Histogram.of(np.random.default_rng(seed).lognormal(np.log(median_ns), 1.5, count).astype(np.int64))


def test_heat_map_puts_each_wait_in_the_cell_of_its_length() -> None:
    placed = [(0, 0, of(2_000, 2_000, 200_000)), (2, 2, of(20 * NS_PER_MS)), (2, 2, of(1_100))]
    drawn = heat_map(Columns.of(4, placed), SCALE, [])
    expected = np.zeros((10, 4))
    expected[0, 0], expected[4, 0] = 2, 1
    expected[8, 2], expected[0, 2] = 1, 1
    assert drawn.cells.tolist() == expected.tolist()


def test_heat_map_keeps_waits_beyond_the_scale_in_its_outer_rows() -> None:
    placed = [(0, 0, of(70, 90, 10**11)), (1, 1, waits(1))]
    drawn = heat_map(Columns.of(2, placed), SCALE, [])
    assert drawn.cells[0, 0] == 2
    assert drawn.cells[-1, 0] == 1
    assert drawn.cells.sum() == 703


def test_a_long_interval_is_spread_over_its_columns_and_keeps_its_percentiles() -> None:
    columns = Columns.of(4, [(0, 3, of(*[2_000] * 8))])
    assert heat_map(columns, SCALE, []).cells[0].tolist() == [2, 2, 2, 2]
    assert columns.histogram(1).count == 8
    outside = Columns.of(2, [(-2, 1, of(*[2_000] * 8))])
    assert heat_map(outside, SCALE, []).cells.sum() == 4


def test_a_long_interval_that_shares_a_column_with_a_short_one_takes_nothing_from_it() -> None:
    columns = Columns.of(2, [(0, 1, of(*[2_000] * 1000)), (1, 1, of(*[9_000] * 100))])
    assert heat_map(columns, SCALE, []).cells.sum(axis=0).tolist() == pytest.approx([500, 600])


@pytest.mark.parametrize("ratio", [0.5, 0.9, 0.99, 1.0])
def test_percentile_lines_are_those_of_the_histogram(ratio: float) -> None:
    each = [waits(seed, 10.0 ** (4 + seed % 4), 1 + seed * 37) for seed in range(30)]
    drawn = heat_map(Columns.of(30, [(n, n, one) for n, one in enumerate(each)]), SCALE, [ratio])
    expected = [SCALE.row(float(one.percentile_ns(ratio) or 0)) for one in each]
    assert drawn.lines[0].tolist() == expected


def test_columns_without_waits_have_no_percentiles() -> None:
    columns = Columns.of(3, [(0, 0, of(5_000)), (1, 1, Histogram.empty())])
    assert heat_map(columns, SCALE, [0.5]).lines.tolist() == [[1, -1, -1]]
    assert columns.known.tolist() == [True, True, False]


@pytest.mark.parametrize("rows", [3, 5, 8, 14, 30, 55])
def test_the_scale_holds_the_longest_wait_and_the_threshold(rows: int) -> None:
    total = waits(3).counts + of(80 * NS_PER_MS).counts
    scale = log_scale(total, 5 * NS_PER_MS, rows)
    assert scale.rows == rows
    assert 10**scale.high > 80 * NS_PER_MS
    assert 10**scale.high > 5 * NS_PER_MS
    assert all(abs(scale.row(10**power * 1.001) - row) == 0 for power, row in scale.decades())


@pytest.mark.parametrize("rows", range(3, 40))
def test_every_power_of_ten_has_its_row(rows: int) -> None:
    scale = log_scale(waits(3).counts + of(80 * NS_PER_MS).counts, 5 * NS_PER_MS, rows)
    powers = sorted(power for power, _ in (*scale.decades(), *scale.within()))
    assert powers == [power for power in range(20) if scale.low - 1e-9 <= power < scale.high - 1e-9]
    assert all(scale.row(10**power) == row for power, row in scale.within())


def test_waits_below_a_microsecond_cost_no_rows_of_the_others() -> None:
    short = of(*([200] * 50), *([20_000] * 50), 70 * NS_PER_MS).counts
    low, high = log_scale(short, 5 * NS_PER_MS, 8), log_scale(short, 5 * NS_PER_MS, 70)
    assert low.per_decade == 1.5, "else one row a decade, two of them above the longest wait"
    assert high.low < low.low < 3, "where there is room they are told apart"


def test_rows_hold_one_power_of_ten_rather_than_waits_below_ten_microseconds() -> None:
    """With one wait of seconds the axis went to 17 min, four of its six rows above all others."""
    mixed = of(*([200] * 50), *([20_000] * 50), *([9_000_000] * 5), 2 * 10**9).counts
    scale = log_scale(mixed, 3 * NS_PER_MS, 6)
    assert (scale.per_decade, scale.low, scale.high) == (1, 4, 10)
    assert log_scale(mixed, 3 * NS_PER_MS, 5).per_decade == 0.5


def test_the_scale_stays_while_it_does() -> None:
    total = np.asarray(waits(3).counts)
    first = log_scale(total, 5 * NS_PER_MS, 12)
    for seed in range(4, 40):
        total = total + waits(seed).counts
        if 10**first.high > 40 * NS_PER_MS:
            assert log_scale(total, 5 * NS_PER_MS, 12, first) == first
    longer = log_scale(total + of(9 * 10**9).counts, 5 * NS_PER_MS, 12, first)
    assert longer.high > 9.9
    assert log_scale(total, 5 * NS_PER_MS, 12, longer) != longer
    assert log_scale(total, 5 * NS_PER_MS, 20, first).rows == 20


@pytest.mark.parametrize("threshold_ns", [1 * NS_PER_MS, 2_300_000, 5 * NS_PER_MS, 10 * NS_PER_MS, 12_000_000])
@pytest.mark.parametrize("rows", [3, 5, 9, 14, 40])
def test_a_row_begins_at_the_threshold(rows: int, threshold_ns: int) -> None:
    total = waits(3).counts + of(80 * NS_PER_MS).counts
    scale = log_scale(total, threshold_ns, rows)
    at = scale.row(threshold_ns)
    assert scale.row(threshold_ns * 0.99) == at - 1, "what is shorter is below"
    assert scale.row(threshold_ns * 1.01) == at
    assert all(scale.row(10**power) == row for power, row in scale.decades())
    many = [scale.row(float(ns)) for ns in np.geomspace(1_000, 10**9, 200)]
    assert many == sorted(many)


def test_a_threshold_far_above_all_waits_is_left_out() -> None:
    scale = log_scale(of(*[3 * NS_PER_US] * 100).counts, 10**10, 10)
    assert 10**scale.high < 10**9


def test_shades_are_steps_of_one_factor_and_steady() -> None:
    assert shade_limits(5) == [1, 5, 25, 125, 625]
    assert shades(np.array([0, 0.2, 1, 4, 5, 24, 25, 625, 10**6]), 5).tolist() == [0, 1, 1, 1, 2, 2, 3, 5, 5]
    for most in (0, 1, 31, 32, 700, 10**5, 10**12):
        factor = factor_for(most)
        assert factor**SHADE_LEVELS > most or factor == 100
        assert factor_for(most, factor) == factor
    assert factor_for(1000, 5) == 5
    assert factor_for(100, 5) == 3
    # In a storm all cells had the darkest shade, which began at 256.
    assert (factor_for(900), factor_for(900, 4), factor_for(600, 5)) == (5, 5, 5)
    assert factor_for(4000, 5) == 6


def test_spans_join_neighbours_of_one_style() -> None:
    glyphs = np.array([list("ab░c"), list("wxyz")])
    styles = np.array([[0, 0, 1, 0], [1, 1, 1, 1]])
    assert styled(glyphs, styles, ("p", "q")) == [[("ab", "p"), ("░", "q"), ("c", "p")], [("wxyz", "q")]]


def test_of_eight_rows_two_are_a_power_of_ten_without_the_shortest_waits() -> None:
    """1.5 of them were: their labels had other distances each time."""
    short, usual = [300] * 40, [20_000] * 400
    total = of(*short, *usual, 2 * NS_PER_MS).counts
    scale = log_scale(total, 3 * NS_PER_MS, 8)
    assert (scale.low, scale.per_decade) == (3.0, 2)
    before = log_scale(of(*short, *usual, 90 * NS_PER_MS).counts, 3 * NS_PER_MS, 8)
    assert before.per_decade == 1.5
    assert log_scale(total, 3 * NS_PER_MS, 8, before) == scale
