"""Pane 8 in the dashboard: where it is, and that keys and clicks order it."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from schedtop.panes.short_lived import ShortLivedPane
from schedtop.panes.tasks import TasksPane
from schedtop.short_lived import SORTS

from ..panes.screen import assert_drawn_whole, assert_widths, text
from .test_dashboard import running


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 40), (160, 50), (200, 60)])
async def test_it_takes_the_place_of_the_tasks(size: tuple[int, int]) -> None:
    async with running(size) as (pilot, _source, dashboard):
        tasks, short_lived = dashboard.query_one(TasksPane), dashboard.query_one(ShortLivedPane)
        before = tasks.region
        await pilot.press("8")
        assert dashboard.focused is short_lived
        assert short_lived.region == before
        assert not tasks.display
        assert "5 Tasks" in text(pilot.app)
        assert "nginx" in text(pilot.app)
        assert_widths(pilot.app)
        assert_drawn_whole(pilot.app)
        await pilot.press("5")
        assert tasks.display
        assert not short_lived.display


async def test_s_and_the_header_order_it() -> None:
    async with running((120, 40)) as (pilot, _source, dashboard):
        await pilot.press("8")
        seen = []
        for _ in SORTS:
            seen.append(dashboard.timeline.settings.short_lived_sort)
            await pilot.press("s")
        assert seen == list(SORTS)
        assert dashboard.timeline.settings.short_lived_sort == seen[0]
        await pilot.press("S")
        assert dashboard.timeline.settings.short_lived_sort == seen[-1]
        assert dashboard.timeline.settings.task_sort == "run_delay_ns", "the tasks keep theirs"
        pane = dashboard.query_one(ShortLivedPane)
        await _click_header(pilot, pane, "run %")
        assert dashboard.timeline.settings.short_lived_sort == "run_ns"


async def _click_header(pilot: Pilot[int], pane: ShortLivedPane, header: str) -> None:
    start = 0
    for column, width in pane.placed:
        if column.header == header:
            await pilot.click(pane, offset=(2 + start + width // 2, 1))
            return
        start += width + 1
    raise AssertionError(f"no column {header}")
