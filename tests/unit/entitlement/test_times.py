"""Times of a window: Frames added up, with the small tasks of a flood counted without their names."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest

from schedtop.entitlement import times
from schedtop.entitlement.times import Times, TimesSince
from schedtop.model.frame import Frame
from schedtop.model.rows import TASK_DTYPE
from schedtop.sources.synthetic.scheduler import Scenario
from tests.unit.ui.snapshot_files import frames_of


def frame_of(run_ns: dict[int, int]) -> Frame:
    rows = np.zeros(len(run_ns), TASK_DTYPE)
    rows["tid"], rows["run_ns"], rows["last_cpu"] = [*run_ns], [*run_ns.values()], 1
    (frame,) = frames_of(Scenario(cpus=2, frames=1))
    return replace(frame, tasks=rows, unavailable=MappingProxyType({}))


def test_frames_add_up() -> None:
    window = Times()
    for _ in range(3):
        window.add(frame_of({7: 100, 8: 50}))
    assert dict(zip(window.rows["tid"].tolist(), window.rows["run_ns"].tolist(), strict=True)) == {7: 300, 8: 150}
    assert window.interval_ns == 3 * frame_of({}).interval_ns
    assert window.cpus == (0, 1)


def test_a_flood_loses_names_and_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(times, "MOST_TASKS", 2)
    window = Times()
    window.add(frame_of({1: 10, 2: 30, 3: 20}))
    window.add(frame_of({4: 5}))
    assert window.rows["tid"].tolist() == [2, 3]
    assert window.small_ns == {1: 15}


def test_what_the_source_lacks_is_said() -> None:
    window = Times()
    window.add(replace(frame_of({}), unavailable=MappingProxyType({"run_delay": "no such luck"})))
    assert window.unavailable == "no such luck"


def test_what_was_before_the_beginning_counts_only_if_there_is_nothing_else() -> None:
    window = TimesSince()
    first = frame_of({7: 100})
    window.add(first)
    window.begin(first.start_time_ns + 1)
    window.add(first)
    assert window.best.rows["run_ns"].tolist() == [200]
    window.add(replace(first, start_time_ns=first.start_time_ns + 1))
    assert window.best.rows["run_ns"].tolist() == [100]
