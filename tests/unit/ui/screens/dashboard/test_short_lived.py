"""Pane 8 in the dashboard: where it is, and that keys and clicks order it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from textual.pilot import Pilot

from schedtop.model.short_lived import FOLDED, SHORT_LIVED_DTYPE, SORTS, by_command
from schedtop.panes.scheduler.short_lived.pane import ShortLivedPane
from schedtop.panes.scheduler.short_lived.text import command_lines, rows_of
from tests.unit.panes.screen import assert_drawn_whole, assert_widths, text
from tests.unit.ui.drive import to_pane, until
from tests.unit.ui.screens.dashboard.test_dashboard import running


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 40), (160, 50), (200, 60)])
async def test_short_lived_pane_is_seen_at_every_size(size: tuple[int, int]) -> None:
    async with running(size) as (pilot, _source, dashboard):
        short_lived = dashboard.query_one(ShortLivedPane)
        await to_pane(pilot, "short-lived")
        assert dashboard.focused is short_lived
        assert short_lived.display
        assert "curl" in text(pilot.app)
        assert_widths(pilot.app)
        assert_drawn_whole(pilot.app)


async def test_s_and_the_header_order_it() -> None:
    async with running((120, 40)) as (pilot, _source, dashboard):
        await to_pane(pilot, "short-lived")
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


@pytest.mark.parametrize("opening", ["i", "enter"])
async def test_every_parent_of_a_command_can_be_found(opening: str) -> None:
    rows = np.zeros(5, SHORT_LIVED_DTYPE)
    rows["comm"], rows["parent"] = b"true", (b"sh", b"sh", b"bash", b"[red]", b"make")
    rows["parent_tgid"], rows["count"] = (1165, 1165, 77, 5, 6), (700, 109, 450, 8, 2)
    rows["exit_code"], rows["run_ns"], rows["cgroup_id"] = (0, 3 << 8, 9, 0, 0), 10**8, 2102
    async with running((120, 40)) as (pilot, source, dashboard):
        source.put(replace(dashboard.live.frames[-1], short_lived=rows, end_ns=dashboard.live.latest_ns + 10**9))
        await until(pilot, lambda: dashboard.view is not None and len(dashboard.view.short_lived) == 5)
        await to_pane(pilot, "short-lived")
        await until(pilot, lambda: "sh (1165) +3" in text(pilot.app))
        if opening == "enter":
            await pilot.press("down")
        await pilot.press(opening)
        await pilot.pause()
        shown = text(pilot.app)
        assert_widths(pilot.app)
        assert "true: ×1,269/s short-lived processes" in shown
        for words in ("sh (1165)", "×809/s", "63.8 %", "bash (77)", "×450/s", "[red] (5)", "make (6)"):
            assert words in shown
        for words in ("exit 0", "exit 3", "SIGKILL", "500 ms together", "nginx"):
            assert words in shown, words
        await pilot.press("escape")
        assert pilot.app.screen is dashboard


async def test_enter_without_a_selection_zooms_as_everywhere() -> None:
    async with running((120, 40)) as (pilot, _source, dashboard):
        await to_pane(pilot, "short-lived")
        await pilot.press("enter")
        assert dashboard.pane_layout.is_zoomed


async def test_short_lived_pane_says_when_commands_were_too_many() -> None:
    rows = np.zeros(1, SHORT_LIVED_DTYPE)
    rows["exit_code"], rows["count"] = FOLDED, 30
    command = by_command(rows)[0]
    lines = list(command_lines(command, rows_of(command, rows), 10**9, {}, 60))
    assert any("Too many commands" in words for line in lines for words, _ in line)


async def _click_header(pilot: Pilot[int], pane: ShortLivedPane, header: str) -> None:
    start = 0
    for column, width in pane.placed:
        if column.header == header:
            await pilot.click(pane, offset=(2 + start + width // 2, 1))
            return
        start += width + 1
    raise AssertionError(f"no column {header}")
