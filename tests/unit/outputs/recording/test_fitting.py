"""What is recorded can be read again: lines that would be too long for a reader lose their least rows."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from schedtop.base.breath import Breath
from schedtop.base.limits import LINE_BYTES, TEXT_CHARS
from schedtop.model.frame import Frame
from schedtop.outputs.recording.fitting import fitting_line
from schedtop.outputs.recording.recorder import Recorder
from schedtop.recording.lines import Event, Header, frame_line, read_frame
from schedtop.sources.replay.recorded import Recording
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource


def frames(count: int = 1, **scenario: int) -> list[Frame]:
    return list(SyntheticSource(Scenario(frames=count, **scenario)).frames(threading.Event()))


def header(frame: Frame) -> Header:
    return Header(SyntheticSource(Scenario()).host, frame.start_time_ns)


def test_a_line_that_fits_is_the_frame_itself() -> None:
    (frame,) = frames(cpus=64, tasks=5000)
    assert fitting_line(frame, {}, Breath()) == frame_line(frame)


def test_sixty_five_thousand_tasks_fit(tmp_path: Path) -> None:
    (frame,) = frames(cpus=512, tasks=65_536)
    with Recorder(tmp_path / "a.rec.gz", header(frame)) as recorder:
        recorder.write(frame)
    with Recording(tmp_path / "a.rec.gz") as recording:
        assert len(recording.frame(0).tasks) == 65_536


def test_a_line_too_long_to_be_read_loses_its_least_rows_and_counts_them() -> None:
    (frame,) = frames(cpus=64, tasks=90_000, slow_waits=20_000)
    assert len(frame_line(frame)) > LINE_BYTES
    again = read_frame(fitting_line(frame, {}, Breath()))
    assert 20_000 < len(again.tasks) < 90_000
    assert len(again.tasks) + again.loss.tasks_forgotten == 90_000
    assert len(again.slow_waits) + again.loss.slow_waits_forgotten == 20_000
    assert again.slow_waits["wait_ns"].max() == frame.slow_waits["wait_ns"].max()


@pytest.mark.parametrize("name", ["a.rec", "a.rec.gz"])
def test_very_many_names_of_cgroups_come_with_later_intervals(name: str, tmp_path: Path) -> None:
    names = {number: f"/{number}" + "x" * 1000 for number in range(5000)} | {5000: "/" + "x" * TEXT_CHARS}
    recorded = [replace(frame, cgroups=names) for frame in frames(8)]
    with Recorder(tmp_path / name, header(recorded[0])) as recorder:
        for frame in recorded:
            recorder.write(frame)
        recorder.note(Event(recorded[-1].end_ns, "note", "x" * 10_000))
    with Recording(tmp_path / name) as recording:
        assert recording.frame(0).cgroups == {number: names[number] for number in range(5000)}
        assert [len(event.text) for event in recording.events] == [TEXT_CHARS]
        assert not recording.damage
