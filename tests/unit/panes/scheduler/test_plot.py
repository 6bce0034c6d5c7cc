"""The plots: where the data is, in the size asked for."""

from __future__ import annotations

import re

import numpy as np
import pytest

from schedtop.base.histogram import BUCKETS, Histogram, bucket_index
from schedtop.base.units import NS_PER_S
from schedtop.model.frame import merge
from schedtop.panes.scheduler.latency.pane import columns_for, sure_spans
from schedtop.panes.scheduler.latency.plot import MARGIN, LatencyPlot, decades, per_column
from schedtop.panes.scheduler.steal.capacity import SERIES, STEAL, Past, span_of
from schedtop.panes.scheduler.steal.pane import plot_lines
from schedtop.widgets.columns import GAP, place, row_lines
from schedtop.widgets.plot import area
from schedtop.widgets.strips import spans_width
from tests.unit.panes.conftest import MakeView


def test_area_heights() -> None:
    lines = area([0.0, 0.0, 0.01, 0.01, 0.5, 0.5, 1.0, 1.0], 4, 2)
    assert lines == ["   █", " ▄██"]


def test_area_hangs_down() -> None:
    assert area([1.0, 1.0], 1, 1, [0.5, 0.5], 2) == ["█", "█", " "]
    assert area([1.0, 1.0, 0.0, 0.0], 2, 2, [0.0, 0.0, 1.0, 1.0], 2) == ["█ ", "█ ", " █", " █"]
    assert area([0.1, 0.1], 1, 3, [0.1, 0.1], 3) == [" ", " ", "▄", "▀", " ", " "]


@pytest.mark.parametrize(("width", "height"), [(0, 3), (3, 0), (1, 1), (7, 3), (200, 40)])
def test_area_size(width: int, height: int) -> None:
    lines = area([0.5] * (2 * width), width, height)
    assert len(lines) == (height if width else 0)
    assert all(len(line) == width for line in lines)


def test_area_of_nothing_is_blank() -> None:
    assert area([0.0] * 8, 4, 2) == ["    ", "    "]


def test_per_column_keeps_the_sum() -> None:
    counts = np.zeros(BUCKETS, np.int64)
    counts[bucket_index([1_500, 20_000, 3_000_000])] = [5, 7, 11]
    limits = decades(counts, (0, 0))
    assert limits == (3, 7)
    for columns in (10, 61, 300):
        assert per_column(counts, limits, columns).sum() == pytest.approx(23)


def test_decades_stay_while_they_fit() -> None:
    counts = np.zeros(BUCKETS, np.int64)
    counts[bucket_index([2_000, 200_000])] = 1
    assert decades(counts, (3, 7)) == (3, 7), "one decade too wide is kept: the picture does not jump"
    assert decades(counts, (2, 9)) == (3, 6)


@pytest.mark.parametrize("height", range(0, 14))
@pytest.mark.parametrize("width", [5, 20, 80])
def test_latency_plot_fits(width: int, height: int) -> None:
    up, down = Histogram.of([1_000, 30_000, 30_000]), Histogram.of([4_000_000])
    lines = LatencyPlot().lines(up, down, width, height, 5_000_000)
    assert len(lines) <= height
    assert all(spans_width(line) == width for line in lines)


def margins(height: int, upper: str = "wakeup") -> list[str]:
    up, down = Histogram.of([20_000] * 800 + [300_000] * 9), Histogram.of([4_000_000] * 50)
    return [
        "".join(text for text, _ in line)[:7].strip() for line in LatencyPlot().lines(up, down, 60, height, 5, upper)
    ]


@pytest.mark.parametrize("height", range(2, 20))
def test_both_halves_of_the_plot_are_named_at_every_height(height: int) -> None:
    found = margins(height)
    assert "wakeup" in found
    assert "preempt" in found or height < 3
    assert not {"wakeup", "wakeup+"}.isdisjoint(margins(height, "forks")), "forks are in it, too"
    assert ("+ fork" in margins(height, "forks")) == (height >= 7)


def test_the_plot_says_that_its_counts_are_logarithmic_and_has_ticks() -> None:
    found = margins(20)
    ticks = [label.removesuffix(" ┤") for label in found if "┤" in label]
    middle = next(place for place, label in enumerate(found) if label.startswith("log"))
    assert ticks[0] == ticks[-1], "the highest count, the same for both halves"
    assert {"10", "100"} <= {label.removesuffix(" ┤") for label in found[:middle]}
    assert {"10", "100"} <= {label.removesuffix(" ┤") for label in found[middle:]}


def columns_in(style: str, waits: Histogram, threshold_ns: int = 5_000_000) -> list[str]:
    """Which columns of a row have the style."""
    placed = place(columns_for(60), 60)
    ((line),) = row_lines(placed, [("all", waits, "1")], 1)
    spans = sure_spans("".join(text for text, _ in line), placed, waits, "strong", threshold_ns)
    marked = "".join(text if name == style else "\0" * len(text) for text, name in spans)
    ends = np.cumsum([width + GAP for _, width in placed])
    return [column.header for (column, _), end in zip(placed, ends, strict=True) if marked[end - 2] != "\0"]


def test_percentiles_from_the_threshold_on_have_the_colour_of_their_level() -> None:
    waits = Histogram.of([1_000] * 1990 + [8_000_000] * 30 + [2_000_000_000])
    assert columns_in("raised", waits) == ["p99", "p99.9"]
    assert columns_in("grave", waits) == ["max"]
    assert columns_in("raised", waits, 10_000_000_000) == []


def test_percentiles_of_too_few_waits_are_dim() -> None:
    def dim(count: int) -> list[str]:
        return columns_in("dim", Histogram.of([1_000] * count))

    assert dim(1) == ["p50", "p90", "p99", "p99.9"]
    assert dim(9) == ["p90", "p99", "p99.9"]
    assert dim(99) == ["p99", "p99.9"] and dim(100) == ["p99.9"]
    assert dim(1000) == []


def test_latency_plot_of_extremes() -> None:
    up = Histogram.of([0, 1, 2**41])
    lines = LatencyPlot().lines(up, Histogram.empty(), 60, 8, 10**12)
    assert all(spans_width(line) == 60 for line in lines)
    (only,) = LatencyPlot().lines(Histogram.empty(), Histogram.empty(), 60, 8, 1000)
    assert only[0][0] == "no waits in this window"


def test_latency_plot_is_built_once_for_the_same_data() -> None:
    plot = LatencyPlot()
    waits = Histogram.of([1_000] * 5)
    first = plot.lines(waits, waits, 60, 9, 5_000_000)
    assert plot.lines(waits, waits, 60, 9, 5_000_000) is first
    assert plot.lines(waits, waits, 61, 9, 5_000_000) is not first


def test_four_things_over_the_same_five_minutes(make_view: MakeView) -> None:
    view = make_view(frames=300)
    past = Past()
    table = past.table(view.series, 150)
    assert table.shape == (len(SERIES), 150)
    assert not np.isnan(table).any()
    steal = table[SERIES.index(STEAL)]
    assert steal[-1] == pytest.approx(max(frame.ratio("steal_ns") or 0 for frame in view.series[-2:]), rel=0.5)
    young = past.table(view.series[-30:], 300)
    assert np.isnan(young[:, :269]).all()
    assert not np.isnan(young[:, -30:]).any()
    for series, values in zip(SERIES, past.table(view.series, 33), strict=True):
        lines = plot_lines(series, values, 8)
        assert len(lines) == 8
        assert all(spans_width(line) == 41 for line in lines)


def test_while_no_more_than_a_minute_is_known_a_minute_is_shown(make_view: MakeView) -> None:
    """After a start 95 % of the five minutes were dots."""
    series = make_view(frames=90).series
    assert [span_of(series[-count:]) // NS_PER_S for count in (1, 60, 61, 90)] == [60, 60, 300, 300]
    table = Past().table(series[-30:], 60, None, span_of(series[-30:]))
    assert np.isnan(table[:, :29]).all() and not np.isnan(table[:, 30:]).any()


def test_a_coarse_frame_fills_its_whole_time(make_view: MakeView) -> None:
    series = make_view(frames=60).series
    coarse = (merge(series[:30]), *series[30:])
    table = Past().table(coarse, 300)
    assert not np.isnan(table[:, -60:]).any()
    assert np.isnan(table[:, :-60]).all()


@pytest.mark.parametrize(("columns", "labels"), [(90, "all"), (40, "each second"), (22, "each third")])
def test_the_decades_that_are_labelled_have_one_distance(columns: int, labels: str) -> None:
    lines = LatencyPlot().lines(Histogram.of([30, 900_000_000]), Histogram.empty(), MARGIN + columns, 8, 0, "all")
    told = re.findall(r"\d+ [nµm]?s", "".join(text for text, _ in lines[-1]))
    every = [f"{number} {unit}" for unit in ("ns", "µs", "ms") for number in (1, 10, 100)] + ["1 s"]
    step = {"all": 1, "each second": 2, "each third": 3}[labels]
    assert told == [text for power, text in enumerate(every) if power % step == 0 and power]
