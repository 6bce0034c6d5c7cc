"""The dashboard as a whole: sizes, time, and every key's effect."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from textual.app import App
from textual.pilot import Pilot

from schedtop.base.time_slice import LONG_NS
from schedtop.base.units import NS_PER_S
from schedtop.history.view import ViewSettings
from schedtop.model.counts import Loss
from schedtop.model.ext_scheduler import ExtScheduler
from schedtop.model.filters import Filter
from schedtop.panes.pane import Pane
from schedtop.panes.scheduler.cpus.pane import CpusPane
from schedtop.panes.scheduler.tasks.pane import TasksPane
from schedtop.panes.task.past import Subject
from schedtop.sources.synthetic.scheduler import make_frame
from schedtop.ui.app import SchedtopApp
from schedtop.ui.bars.filter import FilterBar
from schedtop.ui.layout.arrangement import STRIP_MOST
from schedtop.ui.layout.presets import INTERRUPTS, NOT_IN_STRIP, PRESETS
from schedtop.ui.screens.dashboard.chosen import chosen_subject
from schedtop.ui.screens.dashboard.screen import Dashboard
from schedtop.ui.screens.help.screen import HelpScreen
from schedtop.ui.screens.text import TextScreen
from schedtop.verdict.verdict import Verdict
from tests.unit.panes.screen import assert_drawn_whole, assert_widths, lines, text
from tests.unit.ui.drive import GivenSource, collected, state_line, to_pane, until


@asynccontextmanager
async def running(
    size: tuple[int, int] = (120, 40), frames: int = 3, export_dir: Path = Path("."), **scenario: Any
) -> AsyncIterator[tuple[Pilot[int], GivenSource, Dashboard]]:
    """The app with some Frames collected."""
    source = GivenSource(**scenario)
    app = SchedtopApp(source, export_dir=export_dir)
    async with app.run_test(size=size, notifications=True) as pilot:
        yield pilot, source, await collected(pilot, source, frames)
    assert app.wait_for_source(), "the source's thread ends with the app"


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (160, 48), (200, 60), (60, 15), (200, 24), (70, 60)])
@pytest.mark.parametrize("cpus", [2, 128])
async def test_sizes(size: tuple[int, int], cpus: int) -> None:
    async with running(size, cpus=cpus) as (pilot, source, dashboard):
        await collected(pilot, source, 2)
        assert_widths(pilot.app)
        assert_drawn_whole(pilot.app)
        screen = text(pilot.app)
        assert "LIVE" in screen
        assert "Space Freeze" in screen or size[0] < 100
        assert "? Help" in screen and "v Why" in screen and "q Quit" in screen
        if size[1] >= 20:
            assert_every_pane_has_a_place(pilot.app, dashboard)


def assert_every_pane_has_a_place(app: App[Any], dashboard: Dashboard) -> None:
    """Each pane has its title in the border at its place, or its cell in the strip.

    Where the strip is full, what is measured only when it is asked for has none.
    """
    full = dashboard.pane_layout.arrangement.strip_lines == STRIP_MOST
    strip = dashboard.pane_layout.strip.region
    told = "\n".join(lines(app)[strip.y : strip.bottom])
    for pane in dashboard.pane_layout.panes:
        if pane.display:
            title = lines(app)[pane.region.y][pane.region.x : pane.region.right]
            assert any(name in title for name in (pane.TITLE, pane.SHORT) if name), title
        else:
            may_lack = NOT_IN_STRIP | ({INTERRUPTS} if full else set())
            assert f"{pane.strip_name} " in told or pane.id in may_lack, pane.id


async def test_a_pane_without_a_place_is_noticed() -> None:
    async with running((80, 24)) as (pilot, _source, dashboard):
        assert_every_pane_has_a_place(pilot.app, dashboard)
        queue = dashboard.pane_layout.pane_named("queue")
        assert not queue.SHORT
        strip = dashboard.pane_layout.strip
        strip.show([pane for pane in dashboard.pane_layout.panes if not pane.display and pane is not queue], 3)
        await pilot.pause()
        with pytest.raises(AssertionError, match="queue"):
            assert_every_pane_has_a_place(pilot.app, dashboard)


async def test_a_pane_that_is_not_seen_takes_the_place_of_the_main_one() -> None:
    async with running((120, 40)) as (pilot, source, dashboard):
        usual = dashboard.pane_layout.arrangement.seen
        assert usual == ("over-time", "latency", "cpus", "steal", "slow-waits", "blame", "tasks")
        for pane in dashboard.pane_layout.panes:
            await to_pane(pilot, pane.id or "")
            assert dashboard.focused is pane
            assert pane.display
            assert len(seen(dashboard)) >= 4, "a wide guest takes more than the place of the main pane"
            assert pane.id not in usual or all(name in seen(dashboard) for name in usual if name != "over-time")
        await to_pane(pilot, "queue")
        await to_pane(pilot, "cpus")
        assert "Short-lived " in lines(pilot.app)[-2] + lines(pilot.app)[-3], "told in the strip"
        assert "queue" in seen(dashboard), "it stays"
        await pilot.resize_terminal(80, 24)
        await to_pane(pilot, "queue")
        await pilot.press("z")
        await pilot.pause()
        assert seen(dashboard) == ["queue"]
        await pilot.press("z")
        await to_pane(pilot, "cpus")
        assert seen(dashboard) == ["cpus"]
        await collected(pilot, source)
        assert_drawn_whole(pilot.app)


async def test_presets_by_their_keys() -> None:
    async with running((120, 40)) as (pilot, _source, dashboard):
        for preset in PRESETS:
            await pilot.press(str(preset.number))
            await pilot.pause()
            assert dashboard.pane_layout.current.id == (preset.focus or preset.main)
            assert dashboard.focused is dashboard.pane_layout.current
        await pilot.press("z", "1")
        assert not dashboard.pane_layout.is_zoomed


async def test_a_click_in_the_strip_takes_to_the_pane() -> None:
    async with running((80, 24)) as (pilot, _source, dashboard):
        strip = lines(pilot.app)[20]
        await pilot.click("#strip", offset=(strip.index("CPUs"), 0))
        await pilot.pause()
        assert dashboard.pane_layout.current.id == "cpus"


def seen(dashboard: Dashboard) -> list[str | None]:
    return [pane.id for pane in dashboard.pane_layout.panes if pane.display]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_every_percentile_at_ordinary_sizes(size: tuple[int, int]) -> None:
    async with running(size) as (pilot, _source, _dashboard):
        await pilot.press("2")
        await pilot.pause()
        assert re.search(r"wait +p50 +p90 +p99 +p99\.9 +max", text(pilot.app))
        await pilot.press("4")
        await pilot.pause()
        words = ("CPU", "switch/s", "invol/s", "inv %", "busy %", "steal %", "queue")
        assert re.search(" +".join(words), text(pilot.app))


@pytest.mark.parametrize("words", ["", "nginx", "comm:a-longer-name cpu:0,1"])
@pytest.mark.parametrize(
    "lost",
    [Loss(switches_unseen=3), Loss(1, 28_123, 3, 4, 5, 249, 7), Loss(1, 28_123, tasks_forgotten=38_100)],
)
async def test_a_narrow_header_says_that_something_was_lost(words: str, lost: Loss) -> None:
    async with running((80, 24)) as (pilot, source, dashboard):
        source.put(replace(make_frame(source.scenario, 3, np.random.default_rng(1)), loss=lost))
        dashboard.shown.set_settings(ViewSettings(window_ns=60 * NS_PER_S, filter=Filter.parse(words)))
        source.made += 1
        await collected(pilot, source, 1)
        line = state_line(pilot.app)
        # Switches that were not seen are counted all the same.
        assert re.search("lost: " if lost.ring_dropped else "3 (switches )?unseen", line)
        assert ("lost" in line) == bool(lost.ring_dropped)
        assert not lost.ring_dropped or re.search(r"lost: 28\.1k slow waits(, \+\d| not kept)", line), "of a kind"
        assert "self " in line or words


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_the_header_names_a_sched_ext_scheduler(size: tuple[int, int]) -> None:
    async with running(size) as (pilot, source, dashboard):
        assert "sched_ext" not in state_line(pilot.app)
        made = make_frame(source.scenario, 3, np.random.default_rng(1))
        source.put(replace(made, sched_ext=ExtScheduler("rusty")))
        dashboard.shown.set_settings(ViewSettings(window_ns=60 * NS_PER_S))
        source.made += 1
        await collected(pilot, source, 1)
        assert "sched_ext rusty (disabled)" in state_line(pilot.app), "it was there, and is not in the last Frame"


@pytest.mark.parametrize("words", ["", "comm:a-longer-name cpu:0,1"])
async def test_old_rows_that_were_forgotten_are_no_loss(words: str) -> None:
    loss = Loss(tasks_forgotten=38_000, slow_waits_forgotten=100)
    async with running((80, 24)) as (pilot, source, dashboard):
        source.put(replace(make_frame(source.scenario, 3, np.random.default_rng(1)), loss=loss))
        dashboard.shown.set_settings(ViewSettings(window_ns=60 * NS_PER_S, filter=Filter.parse(words)))
        source.made += 1
        await collected(pilot, source, 1)
        line = state_line(pilot.app)
        assert "lost" not in line
        assert "38.1k old rows" in line or words, "if there is room"


async def test_waiting_for_the_first_interval() -> None:
    async with running((160, 48), frames=0) as (pilot, _source, _dashboard):
        await pilot.press("space", "left", "w", "s", "plus", "f", "escape", "z", "z")
        assert text(pilot.app).count("waiting for the first interval") == 10


async def test_resizing_down_and_up_again() -> None:
    async with running() as (pilot, source, dashboard):
        for size in ((20, 5), (1, 1), (60, 15), (59, 40), (120, 14), (300, 90), (120, 40)):
            await pilot.resize_terminal(*size)
            await collected(pilot, source)
            assert_widths(pilot.app)
            if size[0] < 60 or size[1] < 15:
                assert "too small" in text(pilot.app) or size[0] < 24
        assert dashboard.focused is dashboard.pane_layout.current
        await to_pane(pilot, "cpus")
        assert dashboard.focused is dashboard.query_one(CpusPane)


async def test_freezing_goes_on_collecting() -> None:
    async with running() as (pilot, source, dashboard):
        await pilot.press("space")
        before = text(pilot.app)
        assert "FROZEN" in before
        assert "behind" not in state_line(pilot.app)
        assert "Thaw" in before
        await collected(pilot, source, 4)
        after = text(pilot.app)
        assert "FROZEN 4 s behind" in after
        # All but the line of state, which is the fourth.
        assert before.splitlines()[:3] == after.splitlines()[:3]
        assert before.splitlines()[4:] == after.splitlines()[4:]
        assert len(dashboard.live) == 7
        await pilot.press("space")
        assert "LIVE" in text(pilot.app)
        assert dashboard.view is not None
        assert dashboard.view.frame.end_ns == 7 * NS_PER_S


async def test_run_queues_are_sampled_only_while_they_are_looked_at_or_recorded(tmp_path: Path) -> None:
    async with running((120, 40), export_dir=tmp_path) as (pilot, source, _dashboard):
        await pilot.pause()
        assert source.samplings == []
        await to_pane(pilot, "queue")
        await until(pilot, lambda: source.samplings == [True])
        await collected(pilot, source)
        assert re.search(r"waiting \d\.\d\d a CPU", text(pilot.app))
        await to_pane(pilot, "cpus")
        await pilot.pause()
        assert source.samplings == [True], "still on the screen"
        await pilot.press("r", "3")
        await pilot.pause()
        assert source.samplings == [True], "it is recorded"
        await pilot.press("r")
        await until(pilot, lambda: source.samplings == [True, False])
        await to_pane(pilot, "queue")
        await until(pilot, lambda: source.samplings == [True, False, True])
        await to_pane(pilot, "latency")
        await pilot.press("z")
        # Another pane has the whole screen.
        await until(pilot, lambda: source.samplings == [True, False, True, False])


async def test_a_key_has_interrupts_timed_and_no_longer() -> None:
    async with running((120, 40)) as (pilot, source, dashboard):
        await to_pane(pilot, "interrupts")
        await collected(pilot, source)
        assert "are not timed" in text(pilot.app)
        await pilot.press("I")
        assert "Interrupts are timed from now on" in text(pilot.app)
        await collected(pilot, source)
        assert source.interrupts == [True]
        assert re.search(r"interrupts \d+\.\d % of the CPUs", text(pilot.app))
        assert "NET_RX" in text(pilot.app)
        await pilot.press("I", "I", "I")
        assert source.interrupts == [True, False, True, False], "each press is another wish, whatever has arrived"
        unavailable = {"interrupts": "the kernel's BTF is needed to time interrupts"}
        last = dashboard.live.frames[-1]
        source.put(replace(last, end_ns=last.end_ns + NS_PER_S, interrupts=None, unavailable=unavailable))
        await until(pilot, lambda: bool(dashboard.live.frames[-1].unavailable))
        await pilot.press("I")
        assert "The kernel's BTF is needed" in text(pilot.app)
        assert len(source.interrupts) == 4


async def test_stepping_back_five_minutes_and_on_to_now() -> None:
    async with running(frames=330, tasks=4) as (pilot, source, dashboard):
        await pilot.press("left")
        assert dashboard.view is not None
        assert not dashboard.view.frozen, "live: no step"
        await pilot.press("space", "left")
        assert dashboard.view.frame.end_ns == 329 * NS_PER_S
        await pilot.press("shift+left", "<", "comma", "full_stop")
        assert dashboard.view.frame.end_ns == 309 * NS_PER_S
        for _ in range(28):
            dashboard.action_step(-10)
        assert dashboard.view.frame.end_ns == 29 * NS_PER_S
        await pilot.pause()
        assert "FROZEN 301 s behind" in text(pilot.app)
        await collected(pilot, source, 3)
        for _ in range(30):
            dashboard.action_step(10)
        await pilot.press(">", "right")
        assert dashboard.view.frame.end_ns == 333 * NS_PER_S, "on into what was collected while frozen"
        assert "FROZEN │" in " ".join(text(pilot.app).split())
        for _ in range(35):
            dashboard.action_step(-10)
        await pilot.pause()
        assert dashboard.view.frame.end_ns == 1 * NS_PER_S
        assert "the history begins here: schedtop began to collect here" in text(pilot.app)


async def test_window() -> None:
    async with running(frames=70, tasks=4) as (pilot, _source, dashboard):
        seen = []
        for _ in range(3):
            await pilot.press("w")
            assert dashboard.view is not None
            seen.append(dashboard.view.frame.interval_ns // NS_PER_S)
        assert seen == [10, 60, 1]
        assert "window 1 s" in text(pilot.app)


async def test_sort_of_the_focused_table() -> None:
    async with running() as (pilot, _source, dashboard):
        await pilot.press("s")
        assert dashboard.timeline.settings.task_sort == "max_wait_ns"
        assert "▼longest" in text(pilot.app)
        assert "by longest wait" in text(pilot.app)
        waits = dashboard.view.tasks["max_wait_ns"] if dashboard.view else np.empty(0)
        assert (np.diff(waits) <= 0).all()
        await pilot.press("S", "S")
        assert dashboard.timeline.settings.task_sort == "migrations"
        await to_pane(pilot, "slow-waits")
        await pilot.press("s")
        assert dashboard.timeline.settings.slow_wait_sort == "time_ns"
        assert "newest first" in text(pilot.app)
        assert "time▼" in text(pilot.app)


async def test_click_on_a_header_sorts_and_on_a_row_selects() -> None:
    async with running() as (pilot, _source, dashboard):
        tasks = dashboard.query_one(TasksPane)
        header = lines(pilot.app)[tasks.region.y + 1]
        await pilot.click("#tasks", offset=(header.index("run %") + 2, 1))
        assert dashboard.timeline.settings.task_sort == "run_ns"
        await pilot.click("#tasks", offset=(5, 3))
        assert tasks.selected_key is not None


async def test_filter() -> None:
    async with running() as (pilot, _source, dashboard):
        await pilot.press("f", *"nginx")
        assert dashboard.timeline.settings.filter == Filter(comms=("nginx",))
        assert dashboard.view is not None
        assert set(dashboard.view.tasks["comm"]) == {b"nginx"}
        await pilot.press("enter")
        assert not dashboard.query_one(FilterBar).is_open
        assert "filter comm:nginx" in text(pilot.app)
        assert "4 of 40" in text(pilot.app)
        assert dashboard.focused is dashboard.pane_layout.current
        await pilot.press("f", "escape")
        assert not dashboard.timeline.settings.filter


async def test_a_filter_drops_a_selection_that_it_hides() -> None:
    """`P` opened the path of a task that the filter hid; the only one that passes is meant without a selection."""
    async with running(size=(120, 40)) as (pilot, source, dashboard):
        await to_pane(pilot, "tasks")
        pane = dashboard.pane_layout.current
        assert isinstance(pane, TasksPane) and pane.rows is not None
        first, last = (int(pane.rows["tid"][place]) for place in (0, -1))
        pane.select(0)
        await pilot.pause()
        assert isinstance(chosen_subject(pane, dashboard.view), Subject)
        dashboard.shown.set_settings(replace(dashboard.shown.settings, filter=Filter.parse(f"tid:{first}")))
        await collected(pilot, source)
        assert pane.selected_key is not None, "it passes"
        dashboard.shown.set_settings(replace(dashboard.shown.settings, filter=Filter.parse(f"tid:{last}")))
        await collected(pilot, source)
        assert pane.selected_key is None and dashboard.shown.settings.selected_task is None
        subject = chosen_subject(pane, dashboard.view)
        assert isinstance(subject, Subject) and subject.tid == last
        dashboard.shown.set_settings(replace(dashboard.shown.settings, filter=Filter()))
        await collected(pilot, source)
        assert chosen_subject(pane, dashboard.view) is None


async def test_filter_that_is_wrong_says_so_in_place() -> None:
    async with running() as (pilot, _source, dashboard):
        await pilot.press("f", *"cpu:x", "enter")
        assert dashboard.query_one(FilterBar).is_open
        assert "cpu:x is not a number" in text(pilot.app)
        await pilot.press("backspace", "1", "enter")
        assert dashboard.timeline.settings.filter == Filter(cpus=(1,))
        await pilot.press("escape")
        assert not dashboard.timeline.settings.filter


async def test_threshold_goes_through_the_source() -> None:
    async with running() as (pilot, source, dashboard):
        await pilot.press("plus", "equals_sign", "minus", "underscore", "underscore")
        assert source.thresholds == [10_000_000, 20_000_000, 10_000_000, 5_000_000, 2_000_000]
        assert "slow > 5 ms → 2 ms" in text(pilot.app)
        await collected(pilot, source)
        assert "slow > 2 ms │" in text(pilot.app)
        for direction, last in ((-1, 100_000), (1, 10 * NS_PER_S)):
            for _ in range(20):
                dashboard.action_threshold(direction)
            assert source.thresholds[-1] == last


async def test_zoom_and_back() -> None:
    async with running() as (pilot, source, dashboard):
        await to_pane(pilot, "latency")
        await pilot.press("z")
        assert [pane.id for pane in dashboard.pane_layout.panes if pane.display] == ["latency"]
        await collected(pilot, source)
        assert_drawn_whole(pilot.app)
        await pilot.press("tab")
        assert [pane.id for pane in dashboard.pane_layout.panes if pane.display] == ["cpus"]
        await pilot.press("escape")
        assert sum(pane.display for pane in dashboard.pane_layout.panes) == 7
        await pilot.press("enter")
        assert [pane.id for pane in dashboard.pane_layout.panes if pane.display] == ["cpus"]


async def test_focus_by_tab() -> None:
    async with running((80, 24)) as (pilot, _source, dashboard):
        order = []
        for _ in range(len(dashboard.pane_layout.panes) + 1):
            await pilot.press("tab")
            assert dashboard.focused is dashboard.pane_layout.current
            name = dashboard.pane_layout.current.id
            assert seen(dashboard) == [name, *(["slow-waits"] if name == "over-time" else [])]
            order.append(dashboard.pane_layout.current.id)
        ids = [pane.id for pane in dashboard.pane_layout.panes]
        assert order == [*ids[1:], *ids[:2]]
        await pilot.press("shift+tab")
        assert dashboard.pane_layout.current.id == "over-time"


async def test_selection_and_scrolling() -> None:
    async with running(tasks=300) as (pilot, source, dashboard):
        tasks = dashboard.query_one(TasksPane)
        await pilot.press("end")
        assert "of 300" in text(pilot.app)
        assert tasks.top + tasks.page_rows == 300
        await collected(pilot, source, 2)
        assert tasks.selected_row is not None
        await pilot.press("home")
        assert tasks.top == 0
        await pilot.press("pagedown", "escape")
        assert tasks.selected_key is None
        assert_drawn_whole(pilot.app)


async def test_measure_of_the_cpu_history() -> None:
    async with running((160, 48)) as (pilot, _source, _dashboard):
        await to_pane(pilot, "cpus")
        await pilot.press("z")
        await pilot.press("m")
        assert "switches/s 3 s" in text(pilot.app) or "switches/s, last 3 s" in text(pilot.app)


async def test_help_lists_every_key_and_how_to_read_each_pane() -> None:
    async with running((110, 120)) as (pilot, source, dashboard):
        await pilot.press("question_mark")
        assert isinstance(pilot.app.screen, HelpScreen)
        await collected(pilot, source)
        pages = []
        for _ in pilot.app.screen._content.topics:
            pages.append(text(pilot.app))
            await pilot.press("right")
        screen = "\n".join(pages)
        for pane in dashboard.pane_layout.panes:
            assert any(" ".join(pane.READING.split()[:3]) in page for page in pages), pane.TITLE
            assert len(pane.SIGNS) >= 3, pane.TITLE
            first = " ".join(pane.READING.split()[:3])
            page = next(page for page in pages if first in page and re.search("You see +It means +Do", page))
            for see, means, do in pane.SIGNS:
                assert see.split()[0] in page and means.split()[0] in page and do.split()[0] in page
            for row in dashboard.action_list.of_pane(pane):
                assert row.keys.split()[0] in screen
        for _, row in dashboard.action_list.every():
            assert row.keys.split()[0] in screen
            assert row.meaning.split()[0] in screen
        for word in ("wakeup wait", "preemption wait", "involuntary", "steal", "run delay", "previous", "preemptor"):
            assert word in screen
        assert "a note from the source" in screen
        await pilot.press("escape")
        assert pilot.app.screen is dashboard


async def test_every_binding_has_an_id_a_word_and_a_meaning() -> None:
    async with running(frames=1) as (_pilot, _source, dashboard):
        bindings = [binding for owner in (Dashboard, SchedtopApp) for binding in owner.BINDINGS]
        ids = [binding.id for binding in bindings]  # type: ignore[union-attr]
        assert all(ids)
        assert len(set(ids)) == len(ids)
        assert all(row.word and row.meaning for _, row in dashboard.action_list.every())


async def test_themes() -> None:
    async with running() as (pilot, _source, _dashboard):
        dark = pilot.app.screen.styles.background
        await pilot.press("t")
        await pilot.pause()
        assert pilot.app.screen.styles.background != dark
        assert_drawn_whole(pilot.app)


async def test_loss_is_counted_and_named() -> None:
    async with running() as (pilot, source, _dashboard):
        frame = make_frame(source.scenario, source.made, np.random.default_rng(1))
        source.made += 1
        source.put(replace(frame, loss=Loss(ring_dropped=12, late_ticks=1)))
        await collected(pilot, source, 0)
        assert "lost: 12 events dropped, 1 late tick" in text(pilot.app)
        assert "nothing lost" not in text(pilot.app)


async def test_own_cost_is_shown() -> None:
    async with running() as (pilot, _source, _dashboard):
        assert "self 1.1 % CPU 140 MiB" in text(pilot.app)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (160, "self 1.1 % CPU 140 MiB nice -10, session -12, slice 100 ms · delayed others ≤ 1.30 ms"),
        (120, "self 1.1 % 140 MiB nice -10 · delayed others ≤ 1.30 ms"),
        (100, "self 1.1 % 140 MiB others ≤ 1.30 ms"),
        (84, "self 1.1 % 140 MiB"),
        (70, "self 1.1 % 140 MiB"),
    ],
)
async def test_what_we_do_to_others_is_rounded_up_and_shortened(columns: int, words: str) -> None:
    async with running((columns, 40), frames=2) as (pilot, source, _dashboard):
        frame = make_frame(source.scenario, source.made, np.random.default_rng(1))
        overhead = replace(
            frame.overhead, nice=-10, session_nice=-12, slice_ns=LONG_NS, longest_caused_wait_ns=1_200_001
        )
        source.put(replace(frame, overhead=overhead))
        await until(pilot, lambda: words in text(pilot.app))
        assert ("others ≤" in text(pilot.app)) == ("others ≤" in words)


@pytest.mark.parametrize(
    ("most_ns", "certain_ns", "words"),
    [
        (65_700_000, 310_001, "delayed others ≥ 300 µs"),
        (65_700_000, 20_000, "delayed others ≥ 20.0 µs"),
        (65_700_000, 0, "delayed others: none seen"),
        (1_900_000, 0, "delayed others ≤ 1.90 ms"),
        (65_700_000, 30_000_000, "delayed others ≥ 30.0 ms"),
        (1_900_000, 20_000, "delayed others ≤ 1.90 ms"),
        (65_700_000, None, "delayed others ≤ 65.7 ms"),
    ],
)
async def test_a_bound_that_tells_nothing_of_us_is_not_shown(most_ns: int, certain_ns: int | None, words: str) -> None:
    async with running((160, 40), frames=2) as (pilot, source, _dashboard):
        frame = make_frame(source.scenario, source.made, np.random.default_rng(1))
        bounds = {"longest_caused_wait_ns": most_ns, "certain_caused_wait_ns": certain_ns}
        source.put(replace(frame, overhead=replace(frame.overhead, **bounds)))
        await until(pilot, lambda: words in text(pilot.app))


@pytest.mark.parametrize(
    ("columns", "certain_ns", "words"),
    [
        (120, 7_200_000, "self 1.1 % CPU 140 MiB · delayed others ≥ 7.20 ms │"),
        (80, 7_200_000, "│ self 1.1 % others ≥ 7.20 ms │"),
        (80, 4_900_000, "│ self 1.1 % 140 MiB │"),
    ],
)
async def test_that_others_waited_for_us_as_long_as_is_slow_is_told_at_any_width(
    columns: int, certain_ns: int, words: str
) -> None:
    """It was missing at 80 columns, where one looks at a host on fire."""
    async with running((columns, 24), frames=2) as (pilot, source, _dashboard):
        frame = make_frame(source.scenario, source.made, np.random.default_rng(1))
        assert frame.threshold_ns == 5_000_000
        bounds = {"longest_caused_wait_ns": 65_700_000, "certain_caused_wait_ns": certain_ns}
        source.put(replace(frame, overhead=replace(frame.overhead, **bounds)))
        await until(pilot, lambda: words in text(pilot.app))


async def test_what_we_do_to_others_is_that_of_the_last_seconds() -> None:
    """Each second had another number, and now and then the other sign."""
    async with running((160, 40), frames=2) as (pilot, source, _dashboard):

        async def told_after(most_ns: int, certain_ns: int, count: int, words: str) -> None:
            bounds = {"longest_caused_wait_ns": most_ns, "certain_caused_wait_ns": certain_ns}
            for _ in range(count):
                frame = make_frame(source.scenario, source.made, np.random.default_rng(1))
                source.made += 1
                source.put(replace(frame, overhead=replace(frame.overhead, **bounds)))
            await until(pilot, lambda: words in text(pilot.app))

        await told_after(65_700_000, 310_000, 1, "delayed others ≥ 300 µs")
        await told_after(900_000, 10_000, 9, "delayed others ≥ 300 µs")
        await told_after(900_000, 10_000, 1, "delayed others ≤ 900 µs")


@pytest.mark.parametrize(
    ("columns", "lost", "words"),
    [
        (200, Loss(waits_unseen=4, lives_unseen=2), "│ 4 waits unseen, 2 short-lived tasks unseen │"),
        (100, Loss(waits_unseen=4, lives_unseen=2), "│ 6 unseen │"),
        (100, Loss(waits_unseen=4), "│ 4 waits unseen │"),
        (80, Loss(waits_unseen=4, lives_unseen=2), "│ 6 unseen"),
    ],
)
async def test_what_was_not_seen_is_named_where_there_is_room(columns: int, lost: Loss, words: str) -> None:
    async with running((columns, 40), frames=0) as (pilot, source, _dashboard):
        source.put(replace(make_frame(source.scenario, source.made, np.random.default_rng(1)), loss=lost))
        await until(pilot, lambda: words in text(pilot.app))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_open_verdict_follows_what_a_command_has_changed(size: tuple[int, int]) -> None:
    """The box said ALARM and what to type half a minute after it had been typed, and lay over the line that knew."""
    async with running(size) as (pilot, _source, dashboard):

        async def told(verdict: Verdict) -> str:
            dashboard.shown.verdict = verdict
            dashboard.show_header()
            await pilot.pause()
            return text(pilot.app)

        evidence = tuple(f"evidence {number}" for number in range(30))
        alarm = Verdict("alarm", "pinned", "web is pinned", evidence, "Move it: x 7", "x 7")
        await told(alarm)
        await until(pilot, lambda: "web is pinned" in lines(pilot.app)[0])
        await pilot.press("v")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextScreen) and "┃" in text(pilot.app))
        shown = lines(pilot.app)
        assert "web is pinned" in shown[0] and "ALARM" in shown[0], "the first lines stay free"
        assert any("more below · y copies" in line for line in shown)
        same = await told(replace(alarm, headline="web is still pinned"))
        assert "┃  web is pinned " in same, "its numbers do not change while one reads"
        assert "web is still pinned" in same.splitlines()[0], "but those of the first lines do"
        await told(Verdict("ok", "calm", "web no longer waits").beside(undo="To undo it: y 7"))
        after = text(pilot.app).partition("┏")[2]
        assert "✓ OK" in after and "web no longer waits" in after and "y 7" in after and "pinned" not in after
        assert "y copies" not in after


async def test_the_open_verdict_gets_lower_only_when_it_is_another_one() -> None:
    """Each line would move while one reads; but `✓ OK` stood over 13 empty lines of the alarm."""
    async with running((120, 40)) as (pilot, _source, dashboard):

        async def height(verdict: Verdict) -> int:
            dashboard.shown.verdict = verdict
            dashboard.show_header()
            await pilot.pause()
            return sum("┃" in line for line in lines(pilot.app))

        alarm = Verdict("alarm", "pinned", "web is pinned", tuple(f"evidence {number}" for number in range(9)))
        await height(alarm)
        await pilot.press("v")
        await until(pilot, lambda: "evidence 8" in text(pilot.app))
        high = await height(alarm)
        assert await height(replace(alarm, rule="blocker", evidence=("evidence",))) == high
        assert await height(Verdict("ok", "calm", "web no longer waits", ("evidence",))) < high - 4


async def test_source_that_ends_leaves_the_screen() -> None:
    async with running() as (pilot, source, _dashboard):
        source.put(None)
        await until(pilot, lambda: "ENDED" in text(pilot.app))
        assert pilot.app.is_running


async def test_settings_hold_from_the_start() -> None:
    source = GivenSource()
    settings = ViewSettings(window_ns=10 * NS_PER_S, filter=Filter.parse("java"), task_sort="run_ns")
    app = SchedtopApp(source, settings=settings)
    async with app.run_test(size=(120, 40)) as pilot:
        await collected(pilot, source, 2)
        assert "window 10 s" in text(app)
        assert "filter comm:java" in text(app)
        assert "by run time" in text(app)


async def exported(pilot: Pilot[int]) -> None:
    """Presses the key and waits until it is done."""
    await pilot.press("e")
    await until(pilot, lambda: pilot.app.key_order.is_settled)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def test_export_writes_both_files(tmp_path: Path) -> None:
    async with running(export_dir=tmp_path) as (pilot, source, dashboard):
        await pilot.press("space")
        await collected(pilot, source, 2)
        await exported(pilot)
        await exported(pilot)
        await pilot.pause()
        files = sorted(tmp_path.iterdir())
        assert len(files) == 4
        assert all(path.name.startswith("schedtop-given-") for path in files)
        assert sum(path.stem.endswith("-2") for path in files) == 2, "nothing is overwritten"
        data = json.loads(next(path for path in files if path.suffix == ".json").read_text())
        assert data["schema"] == "schedtop.snapshot/1"
        assert dashboard.view is not None
        assert len(data["tasks"]) == len(dashboard.view.tasks)
        svg = next(path for path in files if path.suffix == ".svg").read_text()
        about = json.loads(ElementTree.fromstring(svg).findtext("{*}metadata") or "")
        assert about and all(data[name] == value for name, value in about.items()), "both say what they are of"
        assert "FROZEN" in svg
        assert "@font-face" not in svg
        assert "url(http" not in svg
        assert "Fira" not in svg
        assert "'DejaVu Sans Mono'" in svg
        assert "Exported" not in svg
        assert "Exported" in text(pilot.app)
        assert files[0].name[:20] in text(pilot.app)


async def test_the_message_of_an_export_has_the_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with running((200, 60), export_dir=Path(".")) as (pilot, _source, dashboard):
        assert dashboard.exporter.directory == tmp_path
        await exported(pilot)
        toast = next(iter(pilot.app._notifications))
        assert toast.message.splitlines() == sorted(str(path) for path in tmp_path.iterdir())


async def test_export_that_fails_is_said(tmp_path: Path) -> None:
    async with running(export_dir=tmp_path / "missing") as (pilot, _source, _dashboard):
        await exported(pilot)
        await pilot.pause()
        assert "not exported" in text(pilot.app)


async def test_frozen_view_can_be_sorted_and_filtered() -> None:
    async with running() as (pilot, source, dashboard):
        await pilot.press("space")
        await collected(pilot, source, 2)
        await pilot.press("s", "f", *"java", "enter")
        assert dashboard.view is not None
        assert dashboard.view.frozen
        assert dashboard.view.frame.end_ns == 3 * NS_PER_S
        assert set(dashboard.view.tasks["comm"]) == {b"java"}
        assert "FROZEN 2 s behind" in text(pilot.app)


async def test_messages_do_not_pile_up_and_escape_drops_them(tmp_path: Path) -> None:
    async with running(size=(80, 24), export_dir=tmp_path / "missing") as (pilot, source, dashboard):
        await collected(pilot, source, 2)
        await pilot.press("c")
        await pilot.press("left")
        words = "Space freezes the screen; then ← and → step through the past"
        await until(pilot, lambda: [str(toast.render()) for toast in dashboard.query("Toast")] == [words])
        await exported(pilot)
        await pilot.press("left")
        await until(pilot, lambda: "Space freezes" in text(pilot.app))
        assert "not exported" in text(pilot.app), "an error stays"
        await pilot.press("z")
        await pilot.press("escape")
        await until(pilot, lambda: not dashboard.query("Toast"))
        assert dashboard.pane_layout.is_zoomed, "the message only"
        await pilot.press("escape")
        assert not dashboard.pane_layout.is_zoomed


async def test_a_dashboard_that_has_just_started_judges_after_a_second_of_data() -> None:
    async with running((160, 48), frames=0, interval_ns=NS_PER_S // 5) as (pilot, source, dashboard):
        verdicts, starts = [], []
        for _ in range(18):
            await collected(pilot, source, 1)
            assert dashboard.shown.verdict is not None
            verdicts.append(dashboard.shown.verdict.rule == "measuring")
            starts.append("self starting, " in text(pilot.app))
        assert verdicts == [True] * 4 + [False] * 14
        # The cost of the start is not that of watching: it is left out for three seconds.
        assert all(starts[:14])
        assert not starts[-1]
        assert "MEASURING" not in text(pilot.app)


def test_help_has_no_person_for_a_task() -> None:
    importlib.import_module("schedtop.ui.screens.catalog")  # every pane there is
    panes = [pane_class for pane_class in every_pane() if pane_class.READING]
    assert len(panes) > 12
    for each in panes:
        told = [each.READING, each.ADVICE, *(text for sign in each.SIGNS for text in sign)]
        told += [column.meaning for _, columns in each.COLUMN_HELP for column in columns]
        found = [text for text in told if re.search(r"\b(who|whom|whose|nobody|somebody)\b", text, re.IGNORECASE)]
        assert not found, each.__name__


def every_pane(of: type[Pane[Any]] = Pane) -> list[type[Pane[Any]]]:
    return [found for each in of.__subclasses__() for found in (each, *every_pane(each))]
