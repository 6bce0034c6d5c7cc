"""Recording from the dashboard: what is in the file is what the dashboard has, and nothing holds the dashboard up."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from textual.app import App

from schedtop.model.frame import merge
from schedtop.outputs.recording import background as background_recorder
from schedtop.recording.lines import Event, frame_line
from schedtop.sources.replay.recorded import Recording
from schedtop.ui.screens.dashboard.screen import Dashboard
from tests.unit.panes.screen import assert_widths, lines
from tests.unit.ui.drive import collected, state_line, until
from tests.unit.ui.screens.dashboard.test_dashboard import running

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts a file system")


def said(app: App[Any]) -> str:
    """All that the user was told."""
    return "\n".join(notification.message for notification in app._notifications)


def only_file(directory: Path) -> Path:
    (path,) = directory.iterdir()
    return path


async def test_a_recording_is_what_the_dashboard_has_collected_meanwhile(tmp_path: Path) -> None:
    async with running(frames=2, export_dir=tmp_path) as (pilot, source, dashboard):
        await pilot.press("r")
        path = only_file(tmp_path)
        assert re.fullmatch(r"schedtop-given-\d{8}-\d{6}\.rec\.gz", path.name)
        assert "● REC" in state_line(pilot.app)
        assert "Stop rec" in lines(pilot.app)[-1]
        await collected(pilot, source, 20)
        assert_widths(pilot.app)
        await pilot.press("r")
        assert "● REC" not in state_line(pilot.app)
        await until(pilot, lambda: "20 intervals" in said(pilot.app))
        await collected(pilot, source, 2)
        with Recording(path) as recording:
            assert recording.damage == ""
            assert recording.header.host == source.host
            assert recording.end is not None
            assert recording.end.reason == "stopped by key"
            recorded, kept = list(recording), list(dashboard.live.frames)[2:22]
            assert [frame_line(frame) for frame in recorded] == [frame_line(frame) for frame in kept]
            assert frame_line(merge(recorded)) == frame_line(merge(kept))
            assert recording.header.start_time_ns == recorded[0].start_time_ns
    assert len(list(tmp_path.iterdir())) == 1


async def test_a_recording_that_is_stopped_at_once_leaves_no_file(tmp_path: Path) -> None:
    async with running(frames=2, export_dir=tmp_path) as (pilot, _source, _dashboard):
        await pilot.press("r", "r")
        await until(pilot, lambda: "nothing was recorded: the first interval had not ended" in said(pilot.app))
        assert not list(tmp_path.iterdir())
        assert "Recorded" not in [notification.title for notification in pilot.app._notifications]


async def test_freezing_does_not_stop_a_recording(tmp_path: Path) -> None:
    async with running(frames=2, export_dir=tmp_path) as (pilot, source, _dashboard):
        await pilot.press("r", "space")
        await collected(pilot, source, 5)
        assert "● REC" in state_line(pilot.app)
        await pilot.press("r")
        await until(pilot, lambda: "5 intervals" in said(pilot.app))


async def test_the_end_of_the_program_closes_the_file(tmp_path: Path) -> None:
    async with running(frames=2, export_dir=tmp_path) as (pilot, source, dashboard):
        await pilot.press("r")
        await collected(pilot, source, 5)
    path = only_file(tmp_path)
    (line,) = dashboard.close_recordings(20)
    assert line.startswith(f"{path}: 5 intervals, ")
    with Recording(path) as recording:
        assert len(recording) == 5
        assert recording.end is not None
        assert recording.end.reason == "schedtop ended"


async def test_frames_of_the_past_and_events_are_in_it(tmp_path: Path) -> None:
    async with running(frames=10, export_dir=tmp_path) as (pilot, source, dashboard):
        before = list(dashboard.live.frames)[-4:]
        one = dashboard.recorder.start_recording(before, filters="p99 > 10ms")
        await pilot.press("r")
        assert "in 2 files" in state_line(pilot.app)
        await collected(pilot, source, 3)
        dashboard.recorder.record_event(Event(dashboard.live.latest_ns, "trigger", "p99 > 10ms"))
        dashboard.recorder.stop_recording(one, "a minute later")
        dashboard.recorder.stop_recording(one, "twice is once")
        assert "● REC" in state_line(pilot.app), "that of the key goes on"
        await until(pilot, lambda: "7 intervals" in said(pilot.app))
        with Recording(one.path) as recording:
            assert [frame_line(frame) for frame in recording] == [
                frame_line(frame) for frame in list(dashboard.live.frames)[6:13]
            ]
            assert recording.header.filters == "p99 > 10ms"
            assert recording.header.start_time_ns == before[0].start_time_ns
            assert [event.text for event in recording.events] == ["p99 > 10ms"]
        await pilot.press("r")
        await until(pilot, lambda: "3 intervals" in said(pilot.app))
    assert len(list(tmp_path.iterdir())) == 2, "two files of one second have two names"


async def test_a_directory_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    async with running(frames=1, export_dir=tmp_path / "no") as (pilot, _source, dashboard):
        await pilot.press("r")
        assert "not recorded" in said(pilot.app)
        assert dashboard.recorder.recordings == []


async def test_record_key_without_data_says_so(tmp_path: Path) -> None:
    async with running(frames=0, export_dir=tmp_path) as (pilot, _source, _dashboard):
        await pilot.press("r")
        assert "nothing to record yet" in said(pilot.app)


async def goes_on(dashboard: Dashboard, pilot, source, words: str) -> None:
    """The recording ends with a word, and the dashboard does not."""
    for _ in range(100):
        await collected(pilot, source, 5)
        if not dashboard.recorder.recordings:
            break
    await until(pilot, lambda: words in said(pilot.app))
    assert "● REC" not in state_line(pilot.app)
    assert "Stop rec" not in lines(pilot.app)[-1]
    before = dashboard.live.latest_ns
    await collected(pilot, source, 1)
    assert dashboard.live.latest_ns > before


async def test_the_largest_size_ends_the_recording_and_not_the_dashboard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = background_recorder.Recorder
    monkeypatch.setattr(
        background_recorder, "Recorder", lambda *args, **more: recorder(*args, **(more | {"max_bytes": 50_000}))
    )
    async with running((160, 40), frames=1, export_dir=tmp_path) as (pilot, source, dashboard):
        await pilot.press("r")
        await goes_on(dashboard, pilot, source, "largest size")
        path = only_file(tmp_path)
        assert path.stat().st_size <= 50_000
        with Recording(path) as recording:
            assert recording.damage == ""


@ROOT
async def test_a_full_disk_ends_the_recording_and_not_the_dashboard(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=True)
    try:
        async with running((160, 40), frames=1, export_dir=disk) as (pilot, source, dashboard):
            await pilot.press("r")
            await goes_on(dashboard, pilot, source, "no space left")
            with Recording(only_file(disk)) as recording:
                assert recording.left_out == 0
                assert len(recording) > 1
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
