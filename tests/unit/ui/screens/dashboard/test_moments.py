"""Moments: a column of a pane over time that is clicked, or stepped to, is what every pane shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from schedtop.base.units import NS_PER_S
from schedtop.panes.scheduler.cpus.strips import CpuStripsPane
from schedtop.panes.scheduler.latency.over_time import OverTimePane
from schedtop.ui.app import SchedtopApp
from schedtop.ui.screens.dashboard.screen import Dashboard
from tests.unit.panes.screen import assert_drawn_whole, assert_widths, text
from tests.unit.ui.drive import GivenSource, collected, to_pane
from tests.unit.ui.screens.replay.test_screen import FRAMES, recorded, replaying, shown

pytestmark = pytest.mark.asyncio


def column_of(pane: OverTimePane | CpuStripsPane, end_ns: int) -> int:
    """The cell of a pane in which an interval is."""
    assert pane.time.placed is not None
    return next(last for _, last, frame in pane.time.placed.frames if frame.end_ns == end_ns) + 2 + pane.time._margin


def moments(dashboard: Dashboard) -> set[int]:
    """What the panes that are seen show."""
    return {pane.view.frame.end_ns for pane in dashboard.pane_layout.panes if pane.view is not None}


async def clicked(pilot: Pilot[int], pane: OverTimePane | CpuStripsPane, end_ns: int) -> None:
    await pilot.click(pane, offset=(column_of(pane, end_ns), 4))
    await pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (160, 50)])
async def test_a_click_freezes_at_that_interval_in_every_pane(size: tuple[int, int], tmp_path: Path) -> None:
    source = GivenSource()
    app = SchedtopApp(source, export_dir=tmp_path)
    async with app.run_test(size=size) as pilot:
        dashboard = await collected(pilot, source, 30)
        pane = dashboard.query_one(OverTimePane)
        await clicked(pilot, pane, 20 * NS_PER_S)
        assert dashboard.timeline.is_frozen
        assert moments(dashboard) == {20 * NS_PER_S}
        assert "▲" in text(app)
        before = column_of(pane, 25 * NS_PER_S)
        await pilot.press("left", "left", "left")
        assert moments(dashboard) == {17 * NS_PER_S}
        assert column_of(pane, 25 * NS_PER_S) == before
        await clicked(pilot, pane, 25 * NS_PER_S)
        assert moments(dashboard) == {25 * NS_PER_S}
        assert_widths(app)
        assert_drawn_whole(app)
        await pilot.press("space")
        await pilot.pause()
        assert not dashboard.timeline.is_frozen
        assert moments(dashboard) == {30 * NS_PER_S}


async def test_home_and_end_go_to_both_ends_of_what_is_kept(tmp_path: Path) -> None:
    source = GivenSource()
    app = SchedtopApp(source, export_dir=tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        dashboard = await collected(pilot, source, 20)
        await to_pane(pilot, "over-time")
        await pilot.press("home")
        await pilot.pause()
        assert not dashboard.timeline.is_frozen
        await pilot.press("space", "home")
        await pilot.pause()
        assert moments(dashboard) == {NS_PER_S}
        await pilot.press("end")
        await pilot.pause()
        assert moments(dashboard) == {20 * NS_PER_S}


async def test_a_click_in_the_strips_is_the_same(tmp_path: Path) -> None:
    source = GivenSource()
    app = SchedtopApp(source, export_dir=tmp_path)
    async with app.run_test(size=(160, 50)) as pilot:
        dashboard = await collected(pilot, source, 30)
        await pilot.press("4")
        await pilot.pause()
        pane = dashboard.pane_layout.pane_named("cpu-strips")
        assert isinstance(pane, CpuStripsPane)
        await clicked(pilot, pane, 12 * NS_PER_S)
        assert moments(dashboard) == {12 * NS_PER_S}


async def test_a_click_in_a_replay_goes_there_and_the_map_stays(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.rec", FRAMES)
    async with replaying(path, first=40) as (pilot, _source, dashboard):
        pane = dashboard.query_one(OverTimePane)
        before = column_of(pane, 30 * NS_PER_S)
        await clicked(pilot, pane, 30 * NS_PER_S)
        await shown(pilot, 29)
        assert moments(dashboard) == {30 * NS_PER_S}
        assert column_of(pane, 30 * NS_PER_S) == before
        assert dashboard.view is not None
        assert [frame.end_ns for frame in dashboard.view.later] == [n * NS_PER_S for n in range(31, 42)]
        await clicked(pilot, pane, 35 * NS_PER_S)
        await shown(pilot, 34)
        assert len(dashboard.view.later) == 6
        await pilot.press("left")
        await shown(pilot, 33)
        assert len(dashboard.view.later) == 7
        await pilot.press("0")
        await shown(pilot, 0)
        assert len(dashboard.view.later) == 40
