"""The panes over time: the heat map and the strips of the CPUs, with and without a cursor, at many sizes."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from schedtop.base.ascii import to_ascii
from schedtop.base.units import format_brief_ns, format_clock
from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame, merge
from schedtop.model.latency import HISTOGRAMS
from schedtop.model.waits import Beginning, Cause, Evidence
from schedtop.panes.levels import THROTTLED_MARK
from schedtop.panes.scheduler.cpus.strips import CpuStripsPane
from schedtop.panes.scheduler.cpus.trend import MEASURES
from schedtop.panes.scheduler.latency.over_time import (
    BOTH,
    MARGIN,
    PERCENTILES,
    THRESHOLD_LINE,
    OverTimePane,
)
from schedtop.panes.scheduler.latency.pane import LatencyPane
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from schedtop.widgets.glyphs import SHADES
from tests.unit.panes.conftest import MakeView, without
from tests.unit.panes.screen import OnePane, assert_drawn_whole, assert_widths, lines, lines_of, text

pytestmark = pytest.mark.asyncio

NARROW = (100, 16)
"""A minute of intervals has a column each."""

SIZES = [(80, 24), (40, 8), (240, 70), (20, 5), (61, 9), (12, 4), (160, 6)]


def history(count: int = 60, **scenario: int) -> History:
    source = SyntheticSource(Scenario(frames=count, tasks=3, **scenario))
    return History(source.host, source.frames(threading.Event()))


async def shown(
    pane: OverTimePane | CpuStripsPane | LatencyPane, view: View, size: tuple[int, int] = (100, 16)
) -> list[str]:
    return await lines_of(pane, view, size)


async def test_the_line_of_the_threshold_ends_with_the_newest_interval() -> None:
    past = history(60, cpus=3)
    pane = OverTimePane()
    app = OnePane(pane)
    async with app.run_test(size=(100, 16)) as pilot:
        for count in (12, 13):  # the second one has the map move on, with room for more
            pane.show(History(past.host, past.frames[:count]).view(ViewSettings()))
            await pilot.pause()
        assert pane.time.placed is not None
        newest, width = pane.time.placed.newest, pane.time.placed.width
        assert newest < width - 1, "else there is nothing behind it"
        (row,) = (line for line in lines(app) if "5 ms▶" in line)
        cells = row[row.index("▶") + 1 :]
        assert cells[0] == THRESHOLD_LINE, "it begins at its label"
        assert not cells[newest + 1 : width].strip()


@pytest.mark.parametrize("make", [OverTimePane, CpuStripsPane])
async def test_every_size_live_and_frozen(make: type[OverTimePane | CpuStripsPane]) -> None:
    past = history(40, cpus=3)
    pane = make()
    app = OnePane(pane)
    async with app.run_test(size=SIZES[0]) as pilot:
        for size in SIZES:
            await pilot.resize_terminal(*size)
            for window_s, end in ((1, None), (1, 20), (10, 30), (60, 5)):
                settings = ViewSettings(window_ns=window_s * 10**9)
                pane.show(past.view(settings, None if end is None else past.frames[end].end_ns))
                await pilot.pause()
                assert_widths(app)
                assert_drawn_whole(app)


async def test_the_map_tells_all_that_is_needed_to_read_it() -> None:
    view = history().view(ViewSettings())
    screen = "\n".join(await shown(OverTimePane(), view))
    for word in (
        "━ p50",
        "═ p99",
        "max",
        "3440 waits",
        "▶ slow > 5 ms",
        "5 ms▶",
        "10 µs┤",
        "╵-30s",
        "now",
        "+ waits a cell",
    ):
        assert word in screen, word
    newest = view.series[-1].latency.histogram()
    assert format_brief_ns(newest.percentile_ns(0.99)) in "\n".join(await shown(OverTimePane(), view, (40, 9)))


async def test_heat_map_cells_differ_without_colors_and_in_ascii() -> None:
    marks = [*SHADES[1:], THRESHOLD_LINE, BOTH, THROTTLED_MARK, *(mark for mark, _, _ in PERCENTILES)]
    assert len(set(marks)) == len({to_ascii(mark) for mark in marks}) == 10


async def test_a_column_keeps_its_place_while_time_goes_on() -> None:
    past = history(100)
    pane = OverTimePane()
    app = OnePane(pane)
    async with app.run_test(size=(100, 16)) as pilot:
        jumps, before = 0, None
        for count in range(60, 90):
            pane.show(History(past.host, past.frames[:count]).view(ViewSettings()))
            await pilot.pause()
            assert pane.time.placed is not None
            place = {frame.end_ns: column for column, _, frame in pane.time.placed.frames}
            if before is not None:
                moved = {before[end] - place[end] for end in before.keys() & place.keys()}
                assert len(moved) == 1
                jumps += moved != {0}
            before = place
        assert 3 <= jumps <= 6


async def test_a_filter_by_cpu_holds_and_one_by_task_says_that_it_does_not() -> None:
    past = history(20)
    by_cpu = await shown(OverTimePane(), past.view(ViewSettings(filter=Filter.parse("cpu:1"))))
    assert "Latency over time · CPU 1" in by_cpu[0]
    assert "1720 waits" in by_cpu[1]
    chosen = await shown(OverTimePane(), past.view(ViewSettings(selected_cpus=(0,))))
    assert "Latency over time · CPU 0" in chosen[0]
    assert "1720 waits" in chosen[1]
    by_task = await shown(OverTimePane(), past.view(ViewSettings(filter=Filter.parse("nginx"))))
    assert "all tasks" in by_task[0]


async def test_the_cursor_marks_the_window_and_tells_its_newest_interval() -> None:
    past = history(60)
    at = past.frames[40]
    pane = OverTimePane()
    screen = await shown(pane, past.view(ViewSettings(window_ns=10 * 10**9), at.end_ns), NARROW)
    assert f"▲ {format_clock(at.start_time_ns + at.interval_ns)}" in screen[1]
    axis = screen[-2]
    assert axis.index("▲") - axis.index("├") == 9
    assert pane.time.placed is not None
    assert pane.time.placed.cursor is not None
    assert axis.index("▲") == 2 + MARGIN + pane.time.placed.cursor[1]
    single = await shown(OverTimePane(), past.view(ViewSettings(), at.end_ns), NARROW)
    assert "├" not in single[-2]
    assert single[-2].index("▲") == axis.index("▲")


async def test_heat_map_marks_gaps_and_time_before_the_first_interval() -> None:
    past = history(60)
    screen = "\n".join(await shown(OverTimePane(), past.view(ViewSettings()), (130, 16)))
    assert f"no data before {format_clock(past.frames[0].start_time_ns)}" in screen
    holes = History(past.host, [frame for number, frame in enumerate(past.frames) if not 30 <= number < 34])
    lowest = (await shown(OverTimePane(), holes.view(ViewSettings()), NARROW))[-3]
    assert "????" in lowest
    assert "?????" not in lowest


async def test_merged_frames_are_as_wide_as_they_are_long() -> None:
    past = history(30)
    long = merge(past.frames[10:16])
    merged = History(past.host, [*past.frames[:10], long, *past.frames[16:]])
    pane = OverTimePane()
    await shown(pane, merged.view(ViewSettings()), (50, 16))
    assert pane.time.placed is not None
    widths = {frame.interval_ns: last - first + 1 for first, last, frame in pane.time.placed.frames}
    assert widths == {10**9: 1, 6 * 10**9: 6}


@pytest.mark.parametrize(("frames", "cells"), [(1, 32), (3, 24), (4, 16), (10, 8), (20, 6), (40, 3), (60, 2), (100, 1)])
async def test_intervals_are_wide_while_the_history_is_short(frames: int, cells: int) -> None:
    pane = OverTimePane()
    screen = await shown(pane, history(frames).view(ViewSettings()), (160, 16))
    placed = pane.time.placed
    assert placed is not None
    assert {last - first + 1 for first, last, _ in placed.frames} == {cells}
    assert placed.frames[0][0] >= 0, "all are seen"
    assert placed.width - 1 - placed.frames[-1][1] <= max(placed.width // 12, 3 * cells)
    filled = sum(glyph in "·░▒▓█━═≡" for glyph in screen[-3])
    assert filled == frames * cells or not filled
    assert "now╵" in screen[-2] or "╵now" in screen[-2]


def with_quota_wait(frame: Frame) -> Frame:
    """One more slow wait, for a quota, longer than all others."""
    rows = frame.slow_waits[:1].copy()
    rows["cause"], rows["kind"], rows["wait_ns"] = Cause.THROTTLED, Beginning.THROTTLED, 67_900_000
    return replace(frame, slow_waits=np.concatenate((frame.slow_waits, rows)))


async def test_waits_for_a_quota_have_a_mark_and_a_word_of_their_own() -> None:
    past = history(60)
    frames = [*past.frames[:-3], *map(with_quota_wait, past.frames[-3:])]
    view = History(past.host, frames).view(ViewSettings())
    pane = OverTimePane()
    screen = await shown(pane, view, NARROW)
    assert "throttled to 67.9 ms" in screen[1]
    assert sum(line.count(THROTTLED_MARK) for line in screen[2:]) == 3
    assert "".join(text for text, _ in pane.view_glance(view)).endswith(f"{THROTTLED_MARK}68 ms")
    elsewhere = History(past.host, frames).view(ViewSettings(filter=Filter.parse("cpu:1")))
    cpus = {int(frame.slow_waits[-1]["cpu"]) for frame in frames[-3:]}
    assert (THROTTLED_MARK in "".join(await shown(OverTimePane(), elsewhere, NARROW))) == (1 in cpus)


async def test_real_time_task_at_its_limit_has_words_of_its_own() -> None:
    past = history(60)
    frames = [*past.frames[:-3], *map(with_quota_wait, past.frames[-3:])]
    for frame in frames[-3:]:
        frame.slow_waits["evidence"][-1] = Evidence.RT_RUNTIME
    view = History(past.host, frames).view(ViewSettings())
    assert "RT limit 67.9 ms" in (await shown(OverTimePane(), view, NARROW))[1]
    assert "RT limit 67.9 ms" in (await shown(LatencyPane(), view, NARROW))[-1]
    frames[-1].slow_waits["evidence"][-1] = Evidence.NONE
    assert "throttled to 67.9 ms" in (await shown(LatencyPane(), view, NARROW))[-1]


async def test_density_is_seen_under_the_lines_of_the_percentiles() -> None:
    pane = OverTimePane()
    app = OnePane(pane)
    async with app.run_test(size=NARROW) as pilot:
        pane.show(history(60).view(ViewSettings()))
        await pilot.pause()
        under = {style for line in pane._lines for text, style in line if set(text) & set("━═≡") and text != "═ "}
    assert any(style.startswith("heat-") for style in under)


async def test_x_shows_more_time_in_each_column() -> None:
    pane = OverTimePane()
    app = OnePane(pane)
    async with app.run_test(size=(60, 16)) as pilot:
        pane.show(history(300).view(ViewSettings()))
        pane.focus()
        await pilot.press("x", "x")
        assert "5 s a column" in text(app)
        assert "last 5 s" in text(app)
        assert_widths(app)
        assert pane.time.placed is not None
        assert len(pane.time.placed.frames) > 200
        await pilot.press("X", "X")
        assert "a column" not in lines(app)[0]


async def test_cache_of_frames_is_bounded() -> None:
    past = history(80)
    strips = CpuStripsPane()
    app = OnePane(strips)
    async with app.run_test(size=(80, 16)) as pilot:
        for start in range(0, 60):
            strips.show(History(past.host, past.frames[start : start + 20]).view(ViewSettings()))
            await pilot.pause()
    assert len(strips._values) <= 20


async def test_cache_of_sums_for_selected_cpus_is_bounded() -> None:
    past = history(5, cpus=16)
    pane = OverTimePane()
    app = OnePane(pane)
    async with app.run_test(size=(120, 16)) as pilot:
        for cpu in past.frames[-1].cpus.ids:
            view = past.view(ViewSettings(selected_cpus=(cpu,)))
            pane.show(view)
            await pilot.pause()
            assert f"{view.frame.latency.histogram(None, cpu).count} waits" in text(app)
    assert all(0 < HISTOGRAMS.count(frame.latency) <= 8 for frame in past.frames)


async def test_a_pane_that_is_not_seen_keeps_no_frames() -> None:
    past = history(20)
    pane = CpuStripsPane()
    app = OnePane(pane)
    async with app.run_test(size=(80, 16)) as pilot:
        pane.show(past.view(ViewSettings()))
        assert pane._values
        pane.display = False
        await pilot.pause()
        pane.show(past.view(ViewSettings()))
        assert not pane._values
        assert pane.time.placed is None


async def test_a_window_with_a_gap_begins_where_its_oldest_interval_does() -> None:
    past = history(60)
    hole_ns = 7 * 10**9
    # Somebody suspended the machine, or lines of a recording are missing.
    holes = History(past.host, [frame for number, frame in enumerate(past.frames) if not 30 <= number < 37])
    view = holes.view(ViewSettings(window_ns=10 * 10**9), past.frames[40].end_ns)
    assert view.end_time_ns == view.frame.start_time_ns + view.frame.interval_ns + hole_ns
    pane = OverTimePane()
    screen = await shown(pane, view, NARROW)
    assert f"▲ {format_clock(view.end_time_ns)}" in screen[1]
    assert screen[-2].index("▲") - screen[-2].index("├") == 9 + 7
    assert pane.time.placed is not None
    marks = [(place, screen[-2][place + 1 : place + 9]) for place, cell in enumerate(screen[-2]) if cell == "╵"]
    ends = {format_clock(frame.start_time_ns + frame.interval_ns): last for _, last, frame in pane.time.placed.frames}
    known = [(place, clock) for place, clock in marks if clock in ends]
    assert known
    assert all(place == 2 + MARGIN + ends[clock] for place, clock in known)


async def test_heat_map_without_latency_says_why(make_view: MakeView) -> None:
    assert "no latency here" in "\n".join(await shown(OverTimePane(), make_view(change=without("latency"))))


async def test_an_interval_without_any_wait_is_an_empty_column() -> None:
    def still(frame: Frame) -> Frame:
        return replace(frame, latency=type(frame.latency).empty(2))

    past = History(history(1).host, [still(frame) for frame in history(20).frames])
    screen = await shown(OverTimePane(), past.view(ViewSettings()))
    assert "━ p50 -" in screen[1]
    assert "0 waits" in screen[1]
    assert not any(glyph in line for glyph in "░▒▓█?" for line in screen[2:-1])


# The strips.


def loaded(busy: list[list[float]]) -> History:
    """Frames with these busy shares of each CPU."""
    frames = []
    for frame, shares in zip(history(len(busy), cpus=len(busy[0])).frames, busy, strict=True):
        frame.cpus.column("busy_ns")[:] = (np.array(shares) * 10**9).astype(np.int64)
        frames.append(frame)
    return History(history(1).host, frames)


async def test_a_strip_is_as_dark_as_its_cpu_was_busy() -> None:
    busy = [[step / 10, 0.0, 1.0] for step in range(11)]
    screen = await shown(CpuStripsPane(), loaded(busy).view(ViewSettings()), (43, 6))
    assert "busy %, full 100 %" in screen[0]
    rows = [line.strip("│┃ ") for line in screen[1:4]]
    assert " ··░░▒▒▓▓██" in rows[0]
    assert "█" * 11 in rows[2]
    assert [row.split()[-1] for row in rows] == ["100", "0", "100"]


async def test_measures_go_round_with_a_scale_in_the_title() -> None:
    pane = CpuStripsPane()
    app = OnePane(pane)
    async with app.run_test(size=(70, 12)) as pilot:
        pane.show(history(30).view(ViewSettings()))
        pane.focus()
        titles = []
        for _ in MEASURES:
            titles.append(lines(app)[0])
            await pilot.press("m")
            await pilot.pause()
        assert lines(app)[0] == titles[0]
    for word in ("busy %", "switches/s · full =", "involuntary/s", "involuntary % · full = 100 %", "queue", "steal %"):
        assert any(word in title for title in titles), word


async def test_many_cpus_are_ordered_by_load_and_scroll() -> None:
    busy = [[0.1 if cpu != 70 else 0.9 for cpu in range(100)]] * 12
    pane = CpuStripsPane()
    app = OnePane(pane)
    async with app.run_test(size=(60, 12)) as pilot:
        pane.show(loaded(busy).view(ViewSettings(selected_cpus=(0,))))
        pane.focus()
        await pilot.pause()
        assert lines(app)[1].split()[1] == "70"
        assert "▸0" in lines(app)[2]
        assert "most first · 1-9 of 100" in lines(app)[-1]
        await pilot.press("end")
        assert "92-100 of 100" in lines(app)[-1]


async def test_the_cursor_is_in_the_same_column_of_both_panes() -> None:
    past = history(60)
    view = past.view(ViewSettings(), past.frames[45].end_ns)
    panes = (OverTimePane(), CpuStripsPane())
    for pane in panes:
        await shown(pane, view, (100, 16))
    ends = []
    for pane in panes:
        placed = pane.time.placed
        assert placed is not None
        assert placed.cursor is not None
        frame = placed.nearest(placed.cursor[1])
        assert frame is not None
        ends.append(frame.end_ns)
    assert ends == [past.frames[45].end_ns] * 2


async def test_commands_are_marked_on_the_axis() -> None:
    past = history(30)
    pane = OverTimePane()
    app = OnePane(pane)
    async with app.run_test(size=NARROW) as pilot:

        async def axis(*commands: tuple[int, str]) -> str:
            pane.commands = commands
            pane.show(past.view(ViewSettings()))
            await pilot.pause()
            return lines(app)[-2]

        plain = await axis()
        assert "-20s" in plain
        tick = plain.index("╵-20s")
        assert pane.time.placed is not None
        typed, undone = (past.frames[at].end_ns for at in (12, 20))
        at, end = (2 + MARGIN + pane.time.placed.grid.column(each) - pane.time.placed.first for each in (typed, undone))
        marked = await axis((typed, "✓"), (undone, "×"), (past.frames[0].end_ns - 10**12, "✓"))
        assert (marked.count("✓"), marked.count("×"), marked[at], marked[end]) == (1, 1, "✓", "×")
        assert len(marked) == len(plain)
        on_label = await axis((past.frames[-19].end_ns, "✓"))
        assert on_label[tick : tick + 5].strip() == "✓", "no half of a label is left"
        on_tick = past.frames[-21].end_ns
        assert (await axis((on_tick, "✓")))[tick : tick + 5] == "✓-20s", "the label stays"
