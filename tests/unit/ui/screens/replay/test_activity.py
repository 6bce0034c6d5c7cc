"""The activity screen on a recording: it shows the moment of the player, and its keys move that."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from schedtop.activity.recorded import BY_PROCESS
from schedtop.commands.recorded import place_of
from schedtop.model.frame import Frame
from schedtop.outputs.recording.recorder import Recorder
from schedtop.recording.lines import Header
from schedtop.sources.activity.beside import WithActivity
from schedtop.sources.replay.recorded import Recording
from schedtop.sources.replay.source import ReplaySource
from schedtop.sources.synthetic.activity import SyntheticActivity
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from schedtop.ui.app import SchedtopApp
from schedtop.ui.screens.activity.screen import ActivityScreen
from schedtop.ui.screens.replay.activity import NOT_RECORDED
from schedtop.ui.screens.replay.screen import ReplayDashboard
from tests.unit.panes.screen import assert_widths, text
from tests.unit.ui.drive import GivenSource, to_topic, until


def made(count: int = 40) -> list[Frame]:
    with WithActivity(SyntheticSource(Scenario(frames=count)), SyntheticActivity()) as source:
        return list(source.frames(threading.Event()))


FRAMES = made()


def recorded(path: Path, frames: list[Frame]) -> Path:
    with Recorder(path, Header(GivenSource().host, frames[0].start_time_ns)) as recorder:
        for frame in frames:
            recorder.write(frame)
    return path


@asynccontextmanager
async def replaying(path: Path, size: tuple[int, int] = (120, 40)) -> AsyncIterator[tuple[Pilot[int], ReplaySource]]:
    """The app on a recording, paused at its beginning."""
    source = ReplaySource(Recording(path), playing=False)
    app = SchedtopApp(source, make_screen=partial(ReplayDashboard, place_of=partial(place_of, source.entries)))
    async with app.run_test(size=size, notifications=True) as pilot:
        await until(pilot, lambda: "PAUSED" in text(app))
        yield pilot, source


def calls_shown(pilot: Pilot[int]) -> int:
    screen = pilot.app.screen
    assert isinstance(screen, ActivityScreen)
    return int(screen.shown.view.rows["syscalls"].sum()) if screen.shown.view else -1


def calls_of(number: int) -> int:
    found = FRAMES[number].activity
    assert found is not None
    return int(found.rows["syscalls"].sum())


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (160, 48)])
async def test_screen_shows_the_moment_of_the_player_and_steps(size: tuple[int, int], tmp_path: Path) -> None:
    async with replaying(recorded(tmp_path / "a.rec", FRAMES), size) as (pilot, source):
        await pilot.press("a")
        await until(pilot, lambda: isinstance(pilot.app.screen, ActivityScreen))
        await until(pilot, lambda: calls_shown(pilot) == calls_of(0))
        assert "PAUSED" in text(pilot.app) and "nginx" in text(pilot.app) and "LIVE" not in text(pilot.app)
        assert "stands out postgres (1204)" in text(pilot.app)
        for keys, number in ((("right",), 1), (("L",), 11), (("left",), 10), (("H",), 0), (("right", "right"), 2)):
            await pilot.press(*keys)
            await until(pilot, lambda number=number: source.position == number)
            await until(pilot, lambda number=number: calls_shown(pilot) == calls_of(number))
        assert_widths(pilot.app)
        await pilot.press("a")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReplayDashboard))


async def test_space_plays_and_pauses(tmp_path: Path) -> None:
    async with replaying(recorded(tmp_path / "a.rec", FRAMES)) as (pilot, source):
        source.set_speed(50)
        await pilot.press("a")
        await until(pilot, lambda: isinstance(pilot.app.screen, ActivityScreen))
        await pilot.press("space")
        await until(pilot, lambda: source.position == len(FRAMES) - 1)
        await until(pilot, lambda: "END" in text(pilot.app) and calls_shown(pilot) == calls_of(len(FRAMES) - 1))
        assert isinstance(pilot.app.screen, ActivityScreen)
        await pilot.press("w")
        await until(pilot, lambda: calls_shown(pilot) == sum(map(calls_of, range(30, 40))))


async def test_groups_filter_help_and_anew(tmp_path: Path) -> None:
    async with replaying(recorded(tmp_path / "a.rec", FRAMES)) as (pilot, _):
        await pilot.press("a")
        await until(pilot, lambda: isinstance(pilot.app.screen, ActivityScreen))
        await pilot.press("f", *"postgres", "enter")
        await until(pilot, lambda: "filter comm:postgres" in text(pilot.app) and "java" not in text(pilot.app))
        await pilot.press("x")
        await until(pilot, lambda: "a recording has what was counted" in text(pilot.app))
        await pilot.press("escape", "question_mark")
        await to_topic(pilot, "Notes")
        await until(pilot, lambda: BY_PROCESS in text(pilot.app))


async def test_a_recording_without_activity_says_so(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.rec", [replace(frame, activity=None) for frame in FRAMES])
    async with replaying(path) as (pilot, _):
        await pilot.press("a")
        await until(pilot, lambda: "the recording has no activity here" in text(pilot.app))
        assert isinstance(pilot.app.screen, ReplayDashboard)
    assert "record --activity" in NOT_RECORDED
