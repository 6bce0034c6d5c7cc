"""The pane of the run queues: what it says of known samples, at the sizes it gets."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from schedtop.model.frame import Frame
from schedtop.model.queue_lengths import QueueTable
from schedtop.panes.scheduler.queue.pane import QueuePane
from schedtop.panes.scheduler.queue.rows import mean_words
from tests.unit.panes.conftest import MakeView
from tests.unit.panes.screen import OnePane, assert_drawn_whole, lines_of, text

pytestmark = pytest.mark.asyncio


def known(*cpus: list[int], realtime: int = 0, expected: int = 100) -> Callable[[Frame], Frame]:
    """A change that gives a Frame these samples by CPU; `realtime` of the tasks are not of the fair class."""
    width = 1 + max(max(one) for one in cpus)
    kinds = [[np.array(one) for one in cpus], [np.maximum(np.array(one) - realtime, 0) for one in cpus]]
    table = QueueTable(
        99,
        np.array([[np.bincount(one, minlength=width) for one in kind] for kind in kinds]),
        np.array([[one.sum() for one in kind] for kind in kinds]),
        np.array([[one.max() for one in kind] for kind in kinds]),
        np.array([len(one) for one in cpus]),
        np.full(len(cpus), expected),
        np.zeros(len(cpus), np.int64),
    )
    return lambda frame: replace(frame, queue=table)


async def shown(view: object, size: tuple[int, int] = (78, 12)) -> list[str]:
    return await lines_of(QueuePane(), view, size)


async def test_known_samples_are_told(make_view: MakeView) -> None:
    screen = await shown(make_view(frames=1, change=known([0] * 50 + [2] * 50, [0] * 100, realtime=1)))
    whole = "\n".join(screen)
    assert "Run queue · 200 samples" in screen[0]
    assert "missed" not in screen[0]
    assert re.search(r"waiting 0\.50 a CPU .* p99 2 max 2 .* not empty 25", screen[1])
    assert re.search(r" 0 .* 75(\.0)? +75", whole)
    assert re.search(r" 2 .* 25(\.0)? +·", whole), "the fair class never had two"
    assert re.search(r" 0 +1\.00 +0\.50 +2 +2 +50", whole)
    assert re.search(r" 1 +0\.00 +0\.00 +0 +0 +0", whole)


async def test_missing_samples_are_said(make_view: MakeView) -> None:
    screen = await shown(make_view(frames=1, change=known([1] * 90, [0] * 80)))
    assert re.search(r"170 samples, 15(\.0)? % missed", screen[0])


async def test_the_worst_cpus_come_first_when_not_all_fit(make_view: MakeView) -> None:
    samples = [[0] * 10 for _ in range(128)]
    samples[100] = [7] * 10
    screen = await shown(make_view(frames=1, cpus=128, change=known(*samples, expected=10)))
    assert re.search(r" 100 +7\.00", screen[3])
    assert "of 128" in screen[-1]


async def test_long_queues_are_told_in_ranges(make_view: MakeView) -> None:
    screen = await shown(make_view(frames=1, change=known([0] * 50 + [300] * 50, [0] * 100)), (78, 16))
    assert any("256-511" in line for line in screen)


async def test_queue_pane_cuts_no_number_and_no_title(make_view: MakeView) -> None:
    table = known([300] * 100)(make_view(frames=1).frame).queue
    assert table is not None
    longest = replace(table, longest=np.full((2, 1), 1200), sums=np.full((2, 1), 120_050))
    screen = await shown(make_view(frames=1, change=lambda frame: replace(frame, queue=longest)))
    assert re.search(r" 0 +1200 +1200 +300 +1200 +100", "\n".join(screen))
    assert [mean_words(mean) for mean in (0.25, 99.994, 99.999, 120.45, 999.96)] == [
        "0.25",
        "99.99",
        "100.0",
        "120.5",
        "1000",
    ]
    narrow = await shown(make_view(frames=1, sampling=True), (20, 12))
    assert "Run queue" in narrow[0] and "…" not in narrow[0]


async def test_cpus_scroll(make_view: MakeView) -> None:
    pane = QueuePane()
    app = OnePane(pane)
    async with app.run_test(size=(78, 12)) as pilot:
        pane.show(make_view(frames=2, cpus=128, sampling=True))
        pane.focus()
        await pilot.press("end")
        await pilot.pause()
        assert "-128 of 128" in text(app)
        assert_drawn_whole(app)
        await pilot.press("home")
        assert pane.top == 0
