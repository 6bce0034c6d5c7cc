"""The pane Trends: which charts are seen, what keys do, and how often plotext draws."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

import pytest

from schedtop.charts.trends import TRENDS
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.panes.scheduler.trends import pane as module
from schedtop.panes.scheduler.trends.grid import grid_of
from schedtop.panes.scheduler.trends.pane import TrendsPane
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from tests.unit.panes.conftest import MakeView, without
from tests.unit.panes.screen import OnePane, assert_widths, lines, text

pytestmark = pytest.mark.asyncio

Clock = Callable[[float], None]


@pytest.fixture
def count_drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The titles of the charts that plotext has drawn."""
    drawn: list[str] = []
    draw = module.canvas

    def noting(chart: object, *arguments: object) -> object:
        drawn.append(chart.title)  # type: ignore[attr-defined]
        return draw(chart, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "canvas", noting)
    return drawn


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sets the time by which the pane draws anew."""
    now = [0.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])

    def set_to(seconds: float) -> None:
        now[0] = seconds

    return set_to


def titles(app: OnePane) -> list[str]:
    return [trend.title for trend in TRENDS if trend.title in text(app)]


async def test_all_charts_are_seen_where_there_is_room(make_view: MakeView) -> None:
    app = OnePane(TrendsPane())
    async with app.run_test(size=(120, 40)) as pilot:
        app.pane.show(make_view(frames=20))
        await pilot.pause()
        assert titles(app) == [trend.title for trend in TRENDS]


async def test_few_lines_show_two_charts_and_the_keys_reach_the_others(make_view: MakeView) -> None:
    app = OnePane(TrendsPane())
    async with app.run_test(size=(80, 17)) as pilot:
        app.pane.show(make_view(frames=20))
        await pilot.pause()
        assert len(titles(app)) == 2
        await pilot.press(*["down"] * 10)
        assert titles(app)[-1] == TRENDS[-1].title and f"▸ {TRENDS[-1].title}" in text(app)
        await pilot.press(*["up"] * 10)
        assert titles(app)[0] == TRENDS[0].title


async def test_two_marked_charts_are_side_by_side(make_view: MakeView) -> None:
    app = OnePane(TrendsPane())
    async with app.run_test(size=(120, 40)) as pilot:
        app.pane.show(make_view(frames=20))
        await pilot.press("enter", "down", "down", "down", "enter", "m")
        assert TRENDS[0].title in lines(app)[1] and TRENDS[3].title in lines(app)[1]
        assert len(titles(app)) == 2
        await pilot.press("m")
        assert len(titles(app)) == len(TRENDS)


async def test_each_cpu_has_its_line(make_view: MakeView) -> None:
    app = OnePane(TrendsPane())
    async with app.run_test(size=(120, 40)) as pilot:
        app.pane.show(make_view(frames=20, cpus=4))
        await pilot.press("C")
        assert all(f"cpu{cpu}" in text(app) for cpu in range(4))
        assert "by CPU" in lines(app)[0] and "some" in text(app)
        assert_widths(app)


async def test_what_the_source_lacks_says_why(make_view: MakeView) -> None:
    app = OnePane(TrendsPane())
    async with app.run_test(size=(120, 40)) as pilot:
        app.pane.show(make_view(frames=20, change=without("steal")))
        await pilot.pause()
        assert "not available" in text(app) and len(titles(app)) == len(TRENDS)


async def test_it_is_drawn_at_most_once_a_second_but_for_what_keys_ask(count_drawn: list[str], at: Clock) -> None:
    frames = list(SyntheticSource(Scenario(frames=30)).frames(threading.Event()))
    history = History(SyntheticSource().host, frames[:20])
    app = OnePane(TrendsPane())
    async with app.run_test(size=(120, 40)) as pilot:
        app.pane.show(history.view(ViewSettings()))
        await pilot.pause()
        count_drawn.clear()
        for number, seconds in ((20, 0.1), (21, 0.2), (22, 1.0)):
            history.append(frames[number])
            at(seconds)
            app.pane.show(history.view(ViewSettings()))
            assert len(count_drawn) == (len(TRENDS) if seconds >= 1 else 0)
        app.pane.show(history.view(ViewSettings()))
        assert len(count_drawn) == len(TRENDS), "the same data are drawn once"
        await pilot.press("C")
        assert len(count_drawn) == 2 * len(TRENDS)


async def test_only_charts_with_other_values_are_drawn_anew(count_drawn: list[str], at: Clock) -> None:
    frames = list(SyntheticSource(Scenario(frames=300, steal_ratio=0.0)).frames(threading.Event()))
    history = History(SyntheticSource().host, frames[:290])
    app = OnePane(TrendsPane())
    async with app.run_test(size=(120, 40)) as pilot:
        app.pane.show(history.view(ViewSettings()))
        await pilot.pause()
        count_drawn.clear()
        for number in range(290, 296):
            history.append(frames[number])
            at(number)
            app.pane.show(history.view(ViewSettings()))
        # A line that is flat changes only where it becomes longer: with a new column.
        assert count_drawn.count("Steal") < count_drawn.count("Context switches a second") == 6
        assert titles(app) == [trend.title for trend in TRENDS]


async def test_the_cursor_moves_without_drawing_and_names_the_values_there(count_drawn: list[str]) -> None:
    frames = list(SyntheticSource(Scenario(frames=20)).frames(threading.Event()))
    history = History(SyntheticSource().host, frames)
    app = OnePane(TrendsPane())
    async with app.run_test(size=(120, 40)) as pilot:
        app.pane.show(history.view(ViewSettings(), frames[10].end_ns))
        await pilot.pause()
        before, drawn = text(app), len(count_drawn)
        app.pane.show(history.view(ViewSettings(), frames[5].end_ns))
        await pilot.pause()
        assert "▲" in before and text(app) != before and len(count_drawn) == drawn


async def test_a_click_in_any_chart_asks_for_that_moment(make_view: MakeView) -> None:
    chosen: list[int] = []
    app = OnePane(TrendsPane())
    async with app.run_test(size=(120, 40)) as pilot:
        view = make_view(frames=20)
        app.pane.show(view)
        await pilot.pause()
        app.pane.time.go_to = chosen.append  # type: ignore[attr-defined]
        column = app.pane.time.placed.newest + 7 + 2  # type: ignore[attr-defined]
        await pilot.click(TrendsPane, offset=(column, 20))
        await pilot.click(TrendsPane, offset=(column + 58, 5))
        assert chosen == [view.series[-1].end_ns] * 2


async def test_hidden_it_keeps_nothing_and_draws_nothing(make_view: MakeView, count_drawn: list[str]) -> None:
    pane = TrendsPane()
    app = OnePane(pane)
    async with app.run_test(size=(120, 40)) as pilot:
        pane.show(make_view(frames=20))
        await pilot.pause()
        pane.display = False
        await pilot.pause()
        count_drawn.clear()
        pane.show(make_view(frames=20))
        assert not count_drawn and pane.time.placed is None


@pytest.mark.parametrize("width", range(10, 250, 20))
@pytest.mark.parametrize("charts", range(1, 7))
async def test_a_grid_fits(width: int, charts: int) -> None:
    for height in range(1, 70):
        grid = grid_of(charts, width, height)
        assert sum(grid.heights) <= max(1, height - 1) and grid.width * grid.across <= width
        assert (grid.down - 1) * grid.across < charts


@pytest.mark.parametrize("frames", [10, 20, 27, 34, 40, 60, 90, 200])
@pytest.mark.parametrize("width", [80, 120, 240])
async def test_charts_are_filled_however_short_the_history_is(width: int, frames: int, make_view: MakeView) -> None:
    app = OnePane(TrendsPane())
    async with app.run_test(size=(width, 40)) as pilot:
        app.pane.show(make_view(frames=frames))
        await pilot.pause()
        placed = app.pane.time.placed
        assert placed is not None
        columns = [column for begin, last, _ in placed.frames for column in range(max(begin, 0), last + 1)]
        assert len({*columns}) >= 0.65 * placed.width
        assert placed.frames[0][2] is app.pane.view.series[0], "all of it is seen"  # type: ignore[union-attr]


async def test_times_and_shares_have_a_blank_before_their_unit(make_view: MakeView) -> None:
    app = OnePane(TrendsPane())
    async with app.run_test(size=(120, 40)) as pilot:
        app.pane.show(make_view(frames=20))
        await pilot.pause()
        assert not re.search(r"\d(ms|µs|%)", text(app))
        assert re.search(r"\d ms┤", text(app)) and re.search(r"\d %┤", text(app))
