"""Replays of recorded troubles: the band of an alarm, a player that stands, and terminals with few colours or none.

A change that is meant: `make test ARGS="--snapshot-update -k snapshots"`, then look at the differences of the files.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
from textual.geometry import Size
from textual.pilot import Pilot

from schedtop.commands.recorded import place_of
from schedtop.sources.replay.recorded import Recording
from schedtop.sources.replay.source import ReplaySource
from schedtop.ui.app import SchedtopApp
from schedtop.ui.screens.replay.screen import ReplayDashboard
from schedtop.ui.terminal.themes import DARK, MONO, TERMINAL
from tests import ROOT
from tests.scenes.draw import RECORDINGS
from tests.unit.panes.screen import assert_widths
from tests.unit.ui.drive import until
from tests.unit.ui.snapshot_files import DIRECTORY, Snapshots, styles_of, text_of

SIZES = (Size(80, 24), Size(120, 40), Size(160, 48), Size(240, 70))
ALARM = "quota"
NUMBER = 20
"""The interval that is shown."""


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times of day are local."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("COLORTERM", "truecolor")
        patch.delenv("NO_COLOR", raising=False)
        time.tzset()
        yield
    time.tzset()


@asynccontextmanager
async def paused(name: str, size: Size, theme: str = DARK.name) -> AsyncIterator[tuple[Pilot[int], SchedtopApp]]:
    """The replay of a recording, standing at one interval."""
    with ReplaySource(Recording(ROOT / RECORDINGS / f"{name}.rec.gz"), playing=False) as source:
        source.seek(NUMBER)
        end_ns = source.entries[NUMBER].end_ns
        app = SchedtopApp(source, make_screen=partial(ReplayDashboard, place_of=partial(place_of, source.entries)))
        async with app.run_test(size=size) as pilot:
            app.theme = theme
            await until(pilot, lambda: app.dashboard.view is not None and app.dashboard.view.frame.end_ns == end_ns)
            yield pilot, app
        assert app.wait_for_source()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size.width}x{size.height}")
async def test_an_alarm_in_a_replay(size: Size, request: pytest.FixtureRequest) -> None:
    snapshots = Snapshots(
        DIRECTORY / f"replay-{size.width}x{size.height}", bool(request.config.getoption("--snapshot-update"))
    )
    async with paused(ALARM, size) as (pilot, app):
        await until(pilot, lambda: "ALARM" in text_of(app)[0])
        # A narrow screen has a third line for the command.
        assert text_of(app)[1 + (size.width <= 120)].endswith("v why")
        await snapshots.compare(f"{ALARM}-overview", pilot, lambda: text_of(app))
        assert_widths(app)
        assert "v Why  q Quit" in text_of(app)[-1], "the keys of the player give way"
        assert size.width == 80 or "2 Latency" in text_of(app)[-1], "and to the words of the tabs"
        assert size.width == 80 or "its quota" in "\n".join(text_of(app))
        await pilot.press("5", "down")
        if size.width > 80:
            await until(pilot, lambda: "q Quit  Enter Task" in text_of(app)[-1])
        await snapshots.compare(f"{ALARM}-task", pilot, lambda: text_of(app))
    snapshots.check()


@pytest.mark.parametrize("theme", [DARK.name, TERMINAL.name, MONO.name])
async def test_styles_of_an_alarm(theme: str, request: pytest.FixtureRequest) -> None:
    snapshots = Snapshots(DIRECTORY / f"replay-{theme}", bool(request.config.getoption("--snapshot-update")))
    async with paused(ALARM, SIZES[1], theme) as (pilot, app):
        await until(pilot, lambda: "ALARM" in text_of(app)[0])
        await snapshots.compare(f"{ALARM}-overview", pilot, lambda: styles_of(app))
    snapshots.check()
