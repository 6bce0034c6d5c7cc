"""Short-lived tasks on the screen: rates, who starts them, how they end, and what cannot be told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from schedtop.history.view import ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.short_lived import SHORT_LIVED_DTYPE, no_short_lived
from schedtop.panes.scheduler.short_lived.pane import ShortLivedPane
from tests.unit.panes.conftest import MakeView, without
from tests.unit.panes.screen import OnePane, assert_drawn_whole, assert_widths, lines, text

SIZES = [(80, 24), (120, 40), (160, 48), (200, 60), (40, 8), (24, 4)]


@pytest.mark.parametrize("size", SIZES)
async def test_short_lived_pane_fits_every_size(size: tuple[int, int], make_view: MakeView) -> None:
    app = OnePane(pane := ShortLivedPane())
    async with app.run_test(size=size) as pilot:
        pane.show(make_view())
        await pilot.pause()
        assert_widths(app)
        assert_drawn_whole(app)
        assert "sh" in text(app)


async def test_short_lived_line_has_rate_parents_and_exits(make_view: MakeView) -> None:
    app = OnePane(pane := ShortLivedPane())
    async with app.run_test(size=(140, 20)) as pilot:
        pane.show(make_view(frames=1))
        await pilot.pause()
        shown = lines(app)
        assert "124/s processes, 25/s threads" in shown[0]
        shell = next(line for line in shown if " sh " in line)
        for words in ("×62/s", "nginx (4248)", "2 failed"):
            assert words in shell
        assert "×25/s" in next(line for line in shown if "java (threads)" in line)
        assert " ok" in next(line for line in shown if "gzip" in line)


@pytest.mark.parametrize(("key", "first"), [("count", "sh"), ("run_ns", "curl"), ("failed", "sh")])
async def test_short_lived_pane_keeps_the_chosen_order(key: str, first: str, make_view: MakeView) -> None:
    app = OnePane(pane := ShortLivedPane())
    async with app.run_test(size=(120, 20)) as pilot:
        pane.show(make_view(settings=ViewSettings(short_lived_sort=key)))
        await pilot.pause()
        assert lines(app)[2].split()[1] == first


async def test_a_selected_command_stays_selected_in_another_order(make_view: MakeView) -> None:
    app = OnePane(pane := ShortLivedPane())
    async with app.run_test(size=(120, 20)) as pilot:
        pane.show(make_view())
        await pilot.pause()
        pane.select(1)
        assert pane.selected_row is not None
        name = pane.selected_row["comm"]
        pane.show(make_view(settings=ViewSettings(short_lived_sort="run_ns")))
        assert pane.selected_row is not None
        assert pane.selected_row["comm"] == name


async def test_short_lived_pane_without_tasks_says_so(make_view: MakeView) -> None:
    app = OnePane(pane := ShortLivedPane())
    async with app.run_test(size=(100, 12)) as pilot:
        for view, words in (
            (make_view(change=without("short_lived")), "not available: no short_lived here"),
            (make_view(change=lambda frame: replace(frame, short_lived=no_short_lived())), "no short-lived tasks"),
            (make_view(settings=ViewSettings(filter=Filter.parse("nobody"))), "passes the filter comm:nobody"),
        ):
            pane.show(view)
            await pilot.pause()
            assert words in text(app)


async def test_names_cannot_steer_the_terminal(make_view: MakeView) -> None:
    rows = np.zeros(1, SHORT_LIVED_DTYPE)
    rows["comm"], rows["parent"], rows["count"] = b"\x1b[31m\xe2\x80\xae", b"\x07[b]x[/]", 5
    app = OnePane(pane := ShortLivedPane())
    async with app.run_test(size=(100, 12)) as pilot:
        pane.show(make_view(change=lambda frame: replace(frame, short_lived=rows)))
        await pilot.pause()
        assert_widths(app)
        assert "\x1b" not in text(app)
        assert "[b]x[/]" in text(app)
