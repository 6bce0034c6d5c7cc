"""The dashboard on a recording: what it shows is what was shown live, and its keys move through the time."""

from __future__ import annotations

import html
import json
import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from schedtop.base.units import NS_PER_S
from schedtop.commands.recorded import place_of
from schedtop.model.frame import Frame
from schedtop.outputs.recording.recorder import Recorder
from schedtop.panes.scheduler.cpus.strips import CpuStripsPane
from schedtop.panes.scheduler.latency.over_time import OverTimePane
from schedtop.panes.scheduler.latency.pane import LatencyPane
from schedtop.panes.scheduler.latency.plot import LatencyPlot
from schedtop.recording.lines import Event, Header
from schedtop.sources.replay.recorded import Recording
from schedtop.sources.replay.source import ReplaySource
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from schedtop.ui.app import SchedtopApp
from schedtop.ui.screens.replay.player import next_speed
from schedtop.ui.screens.replay.player_bar import PlayerBar
from schedtop.ui.screens.replay.screen import ReplayDashboard
from schedtop.ui.screens.replay.seek_bar import SeekBar
from schedtop.widgets.time_axis import GridKeeper, RightEdge
from tests.unit.panes.screen import assert_drawn_whole, assert_widths, lines, text
from tests.unit.ui.drive import GivenSource, collected, state_line, to_topic, until

MARKED = [0, 7, 14, 21, 28, 49]
"""Intervals with slow waits; interval 30 has a trigger, too."""


def made(count: int = 60, **scenario: int) -> list[Frame]:
    frames = SyntheticSource(Scenario(frames=count, **scenario)).frames(threading.Event())
    return [
        frame if number in MARKED else replace(frame, slow_waits=frame.slow_waits[:0])
        for number, frame in enumerate(frames)
    ]


FRAMES = made()
HOST = GivenSource().host


def recorded(path: Path, frames: list[Frame]) -> Path:
    with Recorder(path, Header(HOST, frames[0].start_time_ns)) as recorder:
        for number, frame in enumerate(frames):
            recorder.write(frame)
            if number == 30:
                recorder.note(Event(frame.end_ns, "trigger", "p99 > 10ms for 5s"))
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("recordings") / "a.rec", FRAMES)


@asynccontextmanager
async def replaying(
    path: Path, size: tuple[int, int] = (120, 40), **options: Any
) -> AsyncIterator[tuple[Pilot[int], ReplaySource, ReplayDashboard]]:
    """The app on a recording, paused at its beginning unless asked otherwise."""
    source = ReplaySource(Recording(path), **({"playing": False} | options))
    make_screen = partial(ReplayDashboard, place_of=partial(place_of, source.entries))
    app = SchedtopApp(source, make_screen=make_screen)
    async with app.run_test(size=size, notifications=True) as pilot:
        assert isinstance(app.dashboard, ReplayDashboard)
        if not source.playing:
            await shown(pilot, source.position)
        yield pilot, source, app.dashboard
    assert app.wait_for_source(), "the source's thread ends with the app"


async def shown(pilot: Pilot[int], number: int) -> None:
    """Waits until the panes show an interval."""
    dashboard = pilot.app.screen_stack[0]
    assert isinstance(dashboard, ReplayDashboard)
    end_ns = dashboard._player.entries[number].end_ns
    await until(pilot, lambda: dashboard.view is not None and dashboard.view.frame.end_ns == end_ns)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60), (60, 15), (70, 60)])
async def test_sizes(path: Path, size: tuple[int, int]) -> None:
    async with replaying(path, size) as (pilot, _source, _dashboard):
        await pilot.press("right")
        await shown(pilot, 1)
        assert_widths(pilot.app)
        assert_drawn_whole(pilot.app)
        screen = text(pilot.app)
        assert "PAUSED" in screen
        assert "LIVE" not in screen
        assert "Latency over time" in screen
        assert "Space Play" in screen
        if size[0] >= 80:
            assert "interval 2 of 60" in screen
        if size[0] >= 160:
            assert "recorded synthetic" in screen
        if size[0] >= 120:
            assert "recorder " in screen and "self " not in screen
    async with replaying(path, (40, 10)) as (pilot, _source, _dashboard):
        assert "too small" in text(pilot.app)


@pytest.mark.parametrize("group", ["thread", "process"])
async def test_panes_show_in_replay_what_they_showed_live(path: Path, group: str) -> None:
    keys = ["g"] if group == "process" else []
    source = GivenSource()
    source.host = replace(HOST, recorded_source="synthetic")
    app = SchedtopApp(source)
    live: dict[str, list[str]] = {}
    async with app.run_test(size=(160, 50)) as pilot:
        for frame in FRAMES:
            source.put(frame)
            source.made += 1
        await collected(pilot, source, 0)
        await until(pilot, lambda: (view := app.dashboard.view) is not None and view.frame.end_ns == FRAMES[-1].end_ns)
        await pilot.press(*keys)
        for window in ("1 s", "10 s", "60 s"):
            live[window] = panes_of(app)
            await pilot.press("w")
    async with replaying(path, (160, 52), first=59) as (pilot, _source, _dashboard):
        await pilot.press(*keys)
        for window in ("1 s", "10 s", "60 s"):
            assert panes_of(pilot.app) == live[window], window
            await pilot.press("w")


def panes_of(app: Any) -> list[str]:
    """What each pane shows."""
    latency = app.dashboard.query_one(LatencyPane)
    latency._plot = LatencyPlot()  # it keeps the axis that it had, and that hangs on what was drawn before
    latency.draw()
    for pane in (*app.dashboard.query(OverTimePane), *app.dashboard.query(CpuStripsPane)):
        # Where columns begin hangs on that, too: on a busy machine several Frames are drawn at once.
        pane.time._keeper, pane.time._edge = GridKeeper(), RightEdge()
        if isinstance(pane, OverTimePane):
            pane._scale, pane._factor = None, 0
        pane.draw()
    return [
        canvas.render_line(row).text for canvas in app.dashboard.pane_layout.panes for row in range(canvas.size.height)
    ]


async def test_replay_plays_to_the_end_and_stays(path: Path) -> None:
    async with replaying(path, first=50, playing=True, speed=100) as (pilot, source, dashboard):
        await shown(pilot, 59)
        await until(pilot, lambda: " END " in state_line(pilot.app))
        assert not dashboard.shown.ended
        assert "1:00 of 1:00" in text(pilot.app)
        source.set_speed(0.1)
        await pilot.press("space")
        assert source.playing
        await shown(pilot, 0)


async def test_play_pause_and_speed(path: Path) -> None:
    async with replaying(path, speed=0.5) as (pilot, source, _dashboard):
        await pilot.press("space")
        assert "● PLAY 0.5x" in state_line(pilot.app)
        assert "Space Pause" in lines(pilot.app)[-1]
        await pilot.press("right_curly_bracket", "right_curly_bracket")
        assert source.speed == 2
        assert "● PLAY 2x" in state_line(pilot.app)
        assert "speed 2x" in lines(pilot.app)[5]
        await pilot.press("left_curly_bracket", "space")
        assert (source.speed, source.playing) == (1, False)
        assert " PAUSED " in state_line(pilot.app)
        assert "Space Play" in lines(pilot.app)[-1]


async def test_steps_and_ends(path: Path) -> None:
    async with replaying(path) as (pilot, _source, dashboard):
        for keys, number in (
            (["right", "right"], 2),
            (["full_stop"], 3),
            (["left"], 2),
            (["shift+right"], 12),
            (["shift+left"], 2),
            (["dollar_sign"], 59),
            (["0"], 0),
            (["shift+end"], 59),
            (["shift+home"], 0),
        ):
            await pilot.press(*keys)
            await shown(pilot, number)
            assert dashboard.view is not None
            assert len(dashboard.live) == number + 1, "the whole past, and nothing of what was seen later"
            assert f"interval {number + 1} of 60" in text(pilot.app)
        await pilot.press("left")
        assert "this is the beginning" in text(pilot.app)


async def test_markers(path: Path) -> None:
    async with replaying(path) as (pilot, _source, _dashboard):
        for number in [*MARKED[1:5], 30, 49]:
            await pilot.press("right_square_bracket")
            await shown(pilot, number)
        await pilot.press("right_square_bracket")
        assert "no slow wait or trigger after this" in text(pilot.app)
        for number in [30, *reversed(MARKED[:5])]:
            await pilot.press("left_square_bracket")
            await shown(pilot, number)
            if number == 30:
                assert "trigger p99 > 10ms for 5s" in text(pilot.app)


async def test_the_track(path: Path) -> None:
    async with replaying(path, (120, 40), first=3) as (pilot, _source, dashboard):
        bar = dashboard.query_one(PlayerBar)
        line = bar.render_line(0).text.strip()
        cells = line.split(" ")[1]
        assert len(cells) == bar.inner.width - 18
        places = [int((number + 1) * NS_PER_S - 1) * len(cells) // (60 * NS_PER_S) for number in range(60)]
        heights = {place: cells[place] for place in (places[number] for number in MARKED)}
        assert all(height in "▁▂▃▄▅▆▇█" for height in heights.values())
        assert cells[places[30]] == "T"
        assert cells[places[3]] == "┃"
        others = set(cells) - set(heights.values())
        assert others == {"T", "┃", "━", "─"}
        assert cells.index("─") > cells.index("┃") > cells.index("━")
        # A click on the track goes there.
        await pilot.click(PlayerBar, offset=(bar.styles.padding.left + 9 + places[40], 0))
        await shown(pilot, 40)
        await pilot.click(PlayerBar, offset=(1, 0))
        await pilot.pause()
        await shown(pilot, 40)


async def test_a_time_is_typed(path: Path) -> None:
    async with replaying(path, (80, 24)) as (pilot, _source, dashboard):
        for typed, number in (("20s", 20), ("0.5m", 30), ("0", 0)):
            await pilot.press("J", *typed, "enter")
            await shown(pilot, number)
        bar = dashboard.query_one(SeekBar)
        await pilot.press("ctrl+g", "2", "m", "enter")
        assert bar.has_class("open")
        assert re.search(r"outside of 09-21 \d\d:13:20 to \d\d:14:19, 1:00 long", text(pilot.app))
        await pilot.press("x", "enter")
        assert "not a time: 90s, 2m, 14:03:10 or a date and time" in text(pilot.app)
        await pilot.press("escape")
        assert not bar.has_class("open")
        assert dashboard.focused is dashboard.pane_layout.current
        await pilot.press("right")
        await shown(pilot, 1)


async def test_keys_that_make_no_sense_say_why(path: Path, tmp_path: Path) -> None:
    async with replaying(path) as (pilot, _source, dashboard):
        dashboard.exporter.directory = tmp_path
        said = {"plus": "recorded with", "minus": "recorded with", "O": "no kernel", "o": "live kernel", "r": "already"}
        said |= {"I": "a recording has the interrupts"}
        for key, words in said.items():
            await pilot.press(key)
            assert words in text(pilot.app)
        assert not list(tmp_path.iterdir())


async def test_the_help_has_the_players_keys_and_each_key_once(path: Path) -> None:
    async with replaying(path) as (pilot, _source, dashboard):
        rows = [row for node, row in dashboard.action_list.every() if node is dashboard]
        keys = [key for row in rows for key in row.keys.split()]
        for key in ("Space", "[", "]", "{", "}", "J", "Ctrl+G", "0", "$"):
            assert keys.count(key) == 1, key
        assert not any("collecting goes on" in row.meaning for row in rows)
        await pilot.press("question_mark")
        await to_topic(pilot, "Keys")
        assert "Plays and pauses" in text(pilot.app)


async def test_damage_is_on_the_track_and_counted(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.rec", FRAMES[:20])
    data = path.read_bytes()
    rows = data.split(b"\n")
    rows[6] = rows[6].replace(b'"latency"', b'"patience"')
    rows[9] = b"x" * 100
    path.write_bytes(b"\n".join(rows))
    async with replaying(path, playing=True, speed=1000) as (pilot, source, dashboard):
        await shown(pilot, 18)
        assert source.damaged == (5,)
        assert source.gaps == (8,)
        await until(pilot, lambda: "2 damaged, left out" in text(pilot.app))
        assert "×" in lines(pilot.app)[3]
        assert len(dashboard.live) == 18, "a gap does not make the past forgotten"


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize("name", ["a.rec", "a.rec.gz"])
async def test_lines_that_were_left_out_are_a_gap_on_the_track(
    tmp_path: Path, name: str, size: tuple[int, int]
) -> None:
    path = recorded(tmp_path / name, FRAMES[:20])
    data = bytearray(path.read_bytes())
    # The lines of intervals 5 and 6 (of 1), or the two pieces that they are packed as.
    starts = [
        found.end() if name == "a.rec" else found.start()
        for found in re.finditer(b"\n" if name == "a.rec" else b"\x1f\x8b\x08\0\0\0\0\0", bytes(data))
    ]
    for start in starts[4:6] if name == "a.rec" else starts[5:7]:
        data[start + 20 : start + 40] = b"x" * 20
    path.write_bytes(data)
    async with replaying(path, size) as (pilot, source, dashboard):
        # Which pieces of a packed file there were between two whole ones, nobody can tell.
        assert source.gaps == ((4, 4) if name == "a.rec" else (4,))
        assert f"{len(source.gaps)} damaged, left out" in text(pilot.app)
        cells = dashboard.query_one(PlayerBar).render_line(0).text.strip().split(" ")[1]
        marked = [place for place, cell in enumerate(cells) if cell == "×"]
        assert marked == list(range(marked[0], marked[-1] + 1))
        assert [marked[0], marked[-1]] == [4 * len(cells) // 20, (6 * len(cells) - 1) // 20]


async def test_lines_that_were_left_out_at_the_ends_are_on_the_track(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.rec", FRAMES[:20])
    lines_of = path.read_bytes().split(b"\n")
    lines_of[1] = lines_of[-2] = b"x"
    path.write_bytes(b"\n".join(lines_of))
    async with replaying(path) as (pilot, source, dashboard):
        assert source.gaps == (0, 19)
        await pilot.press("right", "right")
        await shown(pilot, 2)
        cells = dashboard.query_one(PlayerBar).render_line(0).text.strip().split(" ")[1]
        assert (cells[0], cells[-1], cells.count("×")) == ("×", "×", 2)


async def test_replay_lists_firings(path: Path) -> None:
    async with replaying(path) as (pilot, _source, dashboard):
        dashboard.fired_list._watched = ("p99 > 10ms for 5s", "steal > 5%")
        await pilot.press("T")
        await pilot.pause()
        screen = text(pilot.app)
        assert "Fired: 1 time, in order" in screen
        assert "steal > 5%" in screen
        assert re.search(r"\d\d:13:51 +p99 > 10ms for 5s", screen)


async def test_replay_without_triggers_says_how_to_search(tmp_path: Path) -> None:
    async with replaying(recorded(tmp_path / "a.rec", FRAMES[:20])) as (pilot, _source, _dashboard):
        await pilot.press("T")
        assert "nothing was watched for" in text(pilot.app)


async def test_an_export_says_through_what_it_was_recorded(path: Path, tmp_path: Path) -> None:
    async with replaying(path) as (pilot, _source, dashboard):
        dashboard.exporter.directory = tmp_path
        await pilot.press("e")
        await until(pilot, lambda: len(list(tmp_path.iterdir())) == 2)
    (exported,) = tmp_path.glob("*.json")
    data = json.loads(exported.read_text())
    assert (data["source"], data["recorded_source"]) == ("recording", "synthetic")
    (picture,) = tmp_path.glob("*.svg")
    assert '"recorded_source": "synthetic"' in html.unescape(picture.read_text())


async def test_a_key_that_does_nothing_here_is_not_advised(path: Path) -> None:
    async with replaying(path) as (pilot, _source, _dashboard):
        await pilot.press("right")
        await shown(pilot, 1)
        assert "no task waited longer than 5 ms" in text(pilot.app)
        assert "press -" not in text(pilot.app)


def test_speeds_are_halved_and_doubled_within_bounds() -> None:
    assert next_speed(1, 1) == 2
    assert next_speed(1, -1) == 0.5
    assert next_speed(3, 1) == 4
    assert next_speed(1000, 1) == 1000
    assert next_speed(0.1, -1) == 0.1
