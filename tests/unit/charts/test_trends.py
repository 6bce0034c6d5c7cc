"""Values of trends: of Frames and of rows of a report the same, and None where a source has nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from schedtop.charts.trends import TRENDS, values_by_cpu, values_of, values_of_row
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame, merge
from schedtop.outputs.report.points import merge_points, point_of, series_row
from schedtop.sources.synthetic.scheduler import Scenario, make_frame

FRAMES = [make_frame(Scenario(cpus=4), number, np.random.default_rng(number)) for number in range(3)]
FIELDS = {field for trend in TRENDS for field, _, _ in trend.lines}


def test_values_are_those_of_the_frames_put_together() -> None:
    values, whole = values_of(FRAMES), merge(FRAMES)
    assert set(values) == FIELDS
    assert values["p99_ns"] == whole.latency.histogram().percentile_ns(0.99)
    assert values["max_ns"] == whole.latency.histogram().max_ns
    assert values["switches"] == pytest.approx(whole.total("switches") / whole.duration_s)
    assert values["steal"] == whole.ratio("steal_ns")
    assert values["queued"] == max(int(frame.cpus.queue_length.sum()) for frame in FRAMES)


def test_a_report_draws_what_the_screen_draws() -> None:
    point = merge_points([point_of(frame, Filter(), 0) for frame in FRAMES])
    row, values = values_of_row(series_row(point)), values_of(FRAMES)
    for field in FIELDS - {"full"}:
        assert row[field] == pytest.approx(values[field], rel=1e-4, abs=1e-6), field


def test_values_of_chosen_cpus() -> None:
    values = values_of(FRAMES[:1], (1, 2))
    assert values["switches"] == pytest.approx(FRAMES[0].cpus.column("switches")[1:3].sum() / FRAMES[0].duration_s)


@pytest.mark.parametrize("trend", TRENDS, ids=lambda trend: trend.key)
def test_what_a_source_lacks_is_not_drawn(trend: Any) -> None:
    frame = replace(FRAMES[0], unavailable={trend.part: "not here"}, kernel_switches=None)
    assert trend.chart([values_of([FRAMES[0]])]).lines
    assert not trend.chart([values_of([frame]), None]).lines


def test_switches_of_the_host_are_the_kernels_where_cpus_are_not_counted() -> None:
    frame = replace(FRAMES[0], unavailable={"switches": "not here"}, kernel_switches=500, interval_ns=10**9)
    assert values_of([frame])["switches"] == 500
    assert values_of([frame], (0,))["switches"] is None


@pytest.mark.parametrize("field", [trend.by_cpu for trend in TRENDS if trend.by_cpu])
def test_a_cpu_that_is_offline_has_no_value(field: str) -> None:
    frame = offline(FRAMES[0], 2)
    values = values_by_cpu(field, [frame], 6)
    assert np.isnan(values[[2, 4, 5]]).all()
    assert not np.isnan(values[[0, 1, 3]]).all()


def offline(frame: Frame, cpu: int) -> Frame:
    online = frame.cpus.online.copy()
    online[cpu] = False
    return replace(frame, cpus=replace(frame.cpus, online=online))
