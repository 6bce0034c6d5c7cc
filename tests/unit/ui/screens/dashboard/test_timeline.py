"""Freezing, stepping and the steps of window and threshold, without a screen."""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import replace

import pytest

from schedtop.base.units import NS_PER_MS, NS_PER_S, NS_PER_US
from schedtop.history.history import History
from schedtop.history.sorting import TASK_SORTS
from schedtop.history.view import ViewSettings
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from schedtop.ui.screens.dashboard.shown import Shown
from schedtop.ui.screens.dashboard.timeline import THRESHOLDS_NS, Timeline, cycled, next_threshold, next_window


def history(frames: int) -> History:
    source = SyntheticSource(Scenario(frames=frames, tasks=2))
    return History(source.host, source.frames(threading.Event()))


def test_live_without_frames_shows_nothing_and_cannot_freeze() -> None:
    empty = History(SyntheticSource().host)
    assert Timeline(ViewSettings()).view(empty) is None
    assert not Timeline(ViewSettings()).freeze(empty).is_frozen


def test_freezing_keeps_a_copy() -> None:
    live = history(5)
    frozen = Timeline(ViewSettings()).freeze(live)
    for frame in list(history(7).frames)[5:]:
        live.append(frame)
    view = frozen.view(live)
    assert view is not None
    assert view.frozen
    assert (view.frame.end_ns, view.age_ns) == (5 * NS_PER_S, 2 * NS_PER_S)
    assert frozen.thaw().view(live).frame.end_ns == 7 * NS_PER_S  # type: ignore[union-attr]


def test_steps_stay_within_bounds() -> None:
    live = history(5)
    frozen = Timeline(ViewSettings()).freeze(live)
    assert frozen.step(live, -100).end_ns == 1 * NS_PER_S
    assert frozen.step(live, 100).end_ns == 5 * NS_PER_S
    assert frozen.step(live, -2).step(live, 1).end_ns == 4 * NS_PER_S
    assert not Timeline(ViewSettings()).step(live, -1).is_frozen


def test_thresholds_are_1_2_5_steps() -> None:
    assert (THRESHOLDS_NS[0], THRESHOLDS_NS[-1]) == (100 * NS_PER_US, 10 * NS_PER_S)
    assert next_threshold(5 * NS_PER_MS, 1) == 10 * NS_PER_MS
    assert next_threshold(3 * NS_PER_MS, 1) == 5 * NS_PER_MS
    assert next_threshold(3 * NS_PER_MS, -1) == 2 * NS_PER_MS
    assert next_threshold(100 * NS_PER_US, -1) == 100 * NS_PER_US
    assert next_threshold(60 * NS_PER_S, 1) == 10 * NS_PER_S


def test_windows_and_sorts_go_round() -> None:
    assert [next_window(ns * NS_PER_S) // NS_PER_S for ns in (1, 10, 60, 3)] == [10, 60, 1, 10]
    keys = [*TASK_SORTS]
    assert cycled(keys, keys[-1], 1) == keys[0]
    assert cycled(keys, keys[0], -1) == keys[-1]


def test_what_comes_faster_than_one_reads_is_kept_and_drawn_now_and_then() -> None:
    """And when there is a second of data, because the verdict begins then."""
    for interval_ns, drawn in (
        (NS_PER_S // 5, [1, 4, 5, 8]),
        (NS_PER_S // 4, [1, 3, 4, 6, 8]),
        (NS_PER_S // 2, [1, 2, 3, 4, 5, 6, 7, 8]),
        (NS_PER_S, [1, 2, 3, 4, 5, 6, 7, 8]),
    ):
        source = SyntheticSource(Scenario(frames=8, tasks=2, interval_ns=interval_ns))
        shown = Shown(source.host, ViewSettings(), lambda: None)
        asked = [shown.add(frame) for frame in source.frames(threading.Event())]
        assert [number for number, yes in enumerate(asked, 1) if yes] == drawn
        assert len(shown.live.frames) == 8


@pytest.mark.parametrize(
    ("window_s", "work_ms", "drawn"),
    [(60, 1, [1, 2, 3, 4, 5, 6, 7, 8]), (60, 20, [1, 4, 7]), (60, 500, [1, 5]), (10, 500, [1, 2, 3, 4, 5, 6, 7, 8])],
)
def test_a_view_that_costs_much_stays_for_longer(
    monkeypatch: pytest.MonkeyPatch, window_s: int, work_ms: int, drawn: list[int]
) -> None:
    """A minute of a storm takes a tenth of a CPU if it is added up each second."""
    source = SyntheticSource(Scenario(frames=8, tasks=2))
    shown = Shown(source.host, ViewSettings(window_ns=window_s * NS_PER_S), lambda: None)
    used = itertools.count(step=work_ms * 1_000_000)
    monkeypatch.setattr(time, "thread_time_ns", lambda: next(used))
    asked = []
    for frame in source.frames(threading.Event()):
        asked.append(shown.add(frame))
        if asked[-1]:
            shown.make()
    assert [number for number, yes in enumerate(asked, 1) if yes] == drawn
    shown.timeline = shown.timeline.freeze(shown.live)
    assert shown.add(replace(frame, end_ns=frame.end_ns + NS_PER_S)), "how old it is goes on"
