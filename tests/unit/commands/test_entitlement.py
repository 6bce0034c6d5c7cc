"""What the screen's task view adds to the TaskFrames: an answer now and then, and why there is none."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

import pytest

from schedtop.commands import entitlement
from schedtop.commands.entitlement import EVERY, EntitledTask
from schedtop.entitlement.report import EntitlementReport, report_on
from schedtop.entitlement.times import Times
from schedtop.sources.synthetic.scheduler import Scenario
from schedtop.sources.synthetic.task import SyntheticTaskSource, TaskScenario
from schedtop.task import TaskFrame
from tests.unit.entitlement.contenders import compete, contender
from tests.unit.ui.snapshot_files import frames_of

FRAMES = frames_of(Scenario(cpus=2, frames=30))
REPORT = report_on(compete(contender(4240, 5, used=0.246), contender(2, used=0.754)), {4240})


class Bare(SyntheticTaskSource):
    """As the live one: it knows no competitors."""

    def frames(self, stop: threading.Event) -> Iterator[TaskFrame]:
        """Without an entitlement."""
        for frame in super().frames(stop):
            yield replace(frame, entitlement=None, unavailable=MappingProxyType({"entitlement": "not here"}))


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the windows that answers were made of."""
    asked: list[int] = []

    def read(tgid: int, tid: int, times: Times) -> EntitlementReport | None:
        asked.append(times.interval_ns)
        if len(asked) > 2:
            raise ValueError("the weight cannot be read")
        return REPORT

    monkeypatch.setattr(entitlement, "read_entitlement", read)
    monkeypatch.setattr(entitlement, "LiveTaskSource", lambda *_, **__: Bare(TaskScenario(ends_after=2 * EVERY + 2)))
    return asked


def taken(source: EntitledTask) -> list[TaskFrame]:
    with source:
        source.take_host(FRAMES)
        return list(source.frames(threading.Event()))


def test_weights_are_read_now_and_then_and_of_the_latest_seconds(windows: list[int]) -> None:
    frames = taken(EntitledTask(4240, False, "auto"))
    assert len(windows) == 3
    assert max(windows) <= entitlement.WINDOW_NS
    assert max(windows) > entitlement.WINDOW_NS - FRAMES[-1].interval_ns
    assert [frame.entitlement is REPORT for frame in frames] == [True] * 2 * EVERY + [False] * 2
    assert [frame.unavailable.get("entitlement", "") for frame in frames[-3:]] == [
        "",
        *["the weight cannot be read"] * 2,
    ]
    total = frames[0] + frames[-1]
    assert total.entitlement is REPORT
    assert "entitlement" not in total.unavailable


def test_a_filtered_dashboard_cannot_tell(windows: list[int]) -> None:
    frames = taken(EntitledTask(4240, False, "auto", "--pid hides its competitors"))
    assert not windows
    assert {frame.unavailable["entitlement"] for frame in frames} == {"--pid hides its competitors"}
