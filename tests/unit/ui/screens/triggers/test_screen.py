"""Conditions that come true while the dashboard runs: what it shows, what it writes, what it runs."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from schedtop.base.units import NS_PER_S
from schedtop.commands.dashboard import triggered
from schedtop.outputs.triggers.commands import KILL_AFTER_S
from schedtop.panes.scheduler.steal.pane import time_axis
from schedtop.sources.replay.recorded import Recording
from schedtop.triggers.grammar import parse
from schedtop.triggers.plan import Plan
from schedtop.ui.app import SchedtopApp
from schedtop.ui.screens.dashboard.screen import Dashboard
from schedtop.ui.screens.triggers.screen import TriggeredDashboard
from tests.unit.triggers.frames import p99_frames
from tests.unit.ui.drive import GivenSource, collected, until

QUIET, SLOW = 1, 40
BOUND = "p99 > 20ms"


def app_with(tmp_path: Path, source: GivenSource, **plan: Any) -> SchedtopApp:
    made = Plan((parse(BOUND),), export_dir=tmp_path, **plan)
    return SchedtopApp(source, export_dir=tmp_path, make_screen=partial(triggered, made))


async def given(pilot: Pilot[int], source: GivenSource, waits_ms: list[float]) -> TriggeredDashboard:
    """Gives out a Frame for each wait, and waits until the dashboard has them and has done what is to be done."""
    app = pilot.app
    assert isinstance(app, SchedtopApp)
    dashboard = app.dashboard
    assert isinstance(dashboard, TriggeredDashboard)
    for frame in p99_frames(waits_ms, first=source.made):
        source.put(frame)
        source.made += 1
    await until(pilot, lambda: dashboard.live.latest_ns == source.made * NS_PER_S)
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    return dashboard


def messages(dashboard: Dashboard) -> str:
    return "\n".join(f"{note.title} {note.message}" for note in dashboard.app._notifications)


def header_text(dashboard: Dashboard) -> str:
    return "".join(span[0] for span in dashboard.query_one("HeaderPane").triggers)  # type: ignore[attr-defined]


async def test_trigger_screen_shows_conditions_and_then_firings(tmp_path: Path) -> None:
    source = GivenSource()
    async with app_with(tmp_path, source).run_test(size=(80, 24)) as pilot:
        dashboard = await given(pilot, source, [QUIET])
        assert header_text(dashboard) == "on p99 > 20ms"
        dashboard = await given(pilot, source, [SLOW, QUIET])
        assert "p99 > 20ms" in header_text(dashboard)
        assert header_text(dashboard).startswith(" T ")
        assert "Triggered p99 = 39" in messages(dashboard)
        assert not dashboard.timeline.is_frozen
        assert not list(tmp_path.iterdir())
        await pilot.press("T")
        await pilot.pause()
        assert "Fired: 1 time," in str(pilot.app.export_screenshot()).replace("&#160;", " ")


async def test_freeze_shows_the_moment_that_fired(tmp_path: Path) -> None:
    source = GivenSource()
    async with app_with(tmp_path, source, freeze=True).run_test(size=(80, 24)) as pilot:
        dashboard = await given(pilot, source, [QUIET, SLOW, QUIET, QUIET])
        assert dashboard.timeline.is_frozen
        assert dashboard.view is not None
        assert dashboard.view.frame.end_ns == 2 * NS_PER_S
        assert dashboard.live.latest_ns == 4 * NS_PER_S


async def test_freeze_leaves_alone_what_the_user_has_frozen(tmp_path: Path) -> None:
    source = GivenSource()
    async with app_with(tmp_path, source, freeze=True).run_test(size=(80, 24)) as pilot:
        await given(pilot, source, [QUIET])
        await pilot.press("space")
        dashboard = await given(pilot, source, [SLOW])
        assert dashboard.timeline.end_ns == 1 * NS_PER_S
        assert dashboard.fired_count == 1


async def test_export_writes_the_window_and_the_screen(tmp_path: Path) -> None:
    source = GivenSource()
    async with app_with(tmp_path, source, freeze=True, export=True).run_test(size=(80, 24)) as pilot:
        dashboard = await given(pilot, source, [QUIET, SLOW])
        data_file, picture = sorted(tmp_path.iterdir())
        data = json.loads(data_file.read_text())
        assert data["trigger"]["condition"] == BOUND
        assert data["trigger"]["values"] == dashboard.fired[0].values_text
        assert data["interval_ns"] == NS_PER_S
        assert data["runqueue_latency"]["all"]["max_ns"] == SLOW * 1_000_000
        assert {data[key] for key in ("host", "kernel")} == {"given", "6.18.0"}
        assert picture.suffix == ".svg"
        assert "FROZEN" in picture.read_text().replace("&#160;", " ")


async def test_record_holds_before_and_after_and_the_event(tmp_path: Path) -> None:
    source = GivenSource()
    around = 3 * NS_PER_S
    async with app_with(tmp_path, source, record=True, around_ns=around).run_test(size=(80, 24)) as pilot:
        dashboard = await given(pilot, source, [QUIET] * 6 + [SLOW] + [QUIET])
        assert "● REC" in dashboard.recorder.words
        dashboard = await given(pilot, source, [QUIET] * 6)
        assert not dashboard.recorder.recordings
    (path,) = tmp_path.iterdir()
    with Recording(path) as recording:
        # Before: three seconds up to and with the seventh; after: three more.
        assert [frame.end_ns // NS_PER_S for frame in recording] == [5, 6, 7, 8, 9, 10]
        assert [(event.end_ns // NS_PER_S, event.kind) for event in recording.events] == [(7, "trigger")]
        assert recording.events[0].text.startswith("p99 > 20ms: p99 = ")
        assert recording.header.triggers == (BOUND,)
        assert recording.end is not None
        assert "after the trigger" in recording.end.reason


async def test_a_trigger_is_noted_in_the_recording_of_the_key(tmp_path: Path) -> None:
    source = GivenSource()
    async with app_with(tmp_path, source).run_test(size=(80, 24)) as pilot:
        await given(pilot, source, [QUIET])
        await pilot.press("r")
        await given(pilot, source, [QUIET, SLOW, QUIET])
        await pilot.press("r")
        await pilot.pause()
        await pilot.app.workers.wait_for_complete()
    (path,) = tmp_path.iterdir()
    with Recording(path) as recording:
        assert [event.end_ns // NS_PER_S for event in recording.events] == [3]


async def test_a_command_hears_of_it_and_its_failure_is_shown(tmp_path: Path) -> None:
    source = GivenSource()
    code = "import os, sys; open(sys.argv[1], 'w').write(os.environ['SCHEDTOP_TRIGGER']); sys.exit('it broke')"
    command = (sys.executable, "-S", "-c", code, str(tmp_path / "heard"))
    async with app_with(tmp_path, source, commands=(command,)).run_test(size=(80, 24)) as pilot:
        dashboard = await given(pilot, source, [SLOW])
        await until(pilot, lambda: "failed with status 1: it broke" in messages(dashboard))
    assert (tmp_path / "heard").read_text() == BOUND


async def test_a_command_does_not_outlive_the_dashboard(tmp_path: Path) -> None:
    source = GivenSource()
    app = app_with(tmp_path, source, commands=(("sh", "-c", f"echo $$ > {tmp_path}/pid; sleep 1000 & wait"),))
    async with app.run_test(size=(80, 24)) as pilot:
        await given(pilot, source, [SLOW])
        await until(pilot, lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
    app.dashboard.close_recordings(10 * KILL_AFTER_S)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


async def test_a_directory_that_is_gone_is_said(tmp_path: Path) -> None:
    source = GivenSource()
    gone = tmp_path / "gone"
    app = app_with(gone, source, export=True, record=True)
    async with app.run_test(size=(80, 24)) as pilot:
        dashboard = await given(pilot, source, [SLOW])
        await until(pilot, lambda: "not exported" in messages(dashboard) and "not recorded" in messages(dashboard))
        assert "no such directory" in messages(dashboard)


async def test_a_dashboard_without_conditions_has_no_such_key(tmp_path: Path) -> None:
    source = GivenSource()
    async with SchedtopApp(source, export_dir=tmp_path).run_test(size=(80, 24)) as pilot:
        dashboard = await collected(pilot, source)
        assert not any(row.action == "triggers" for row in dashboard.action_list.of_screen())
        assert header_text(dashboard) == ""


@pytest.mark.parametrize(("age_s", "place"), [(0, 29), (150, 14), (299, 0)])
def test_a_mark_is_where_its_time_is_on_the_axis(age_s: int, place: int) -> None:
    end_ns = 10**15
    text = "".join(part for part, _ in time_axis(end_ns, [end_ns - age_s * NS_PER_S], 30))
    assert len(text) == 30
    assert text.index("T") == place
    assert "T" not in "".join(part for part, _ in time_axis(end_ns, [end_ns - 300 * NS_PER_S, end_ns + 1], 30))
