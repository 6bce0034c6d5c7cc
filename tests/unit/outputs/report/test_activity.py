"""Activity in a report: the same numbers in every format, and nothing of it where it was not measured."""

from __future__ import annotations

import csv
import io
import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schedtop.commands.evidence import Part, read_evidence
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame
from schedtop.model.source import SourceError
from schedtop.outputs.diff.changes import diff
from schedtop.outputs.diff.text import to_text as diff_text
from schedtop.outputs.recording.recorder import Recorder
from schedtop.outputs.report.contents import to_json
from schedtop.outputs.report.csv import to_csv
from schedtop.outputs.report.html import to_html
from schedtop.outputs.report.points import ACTIVITY_SUMS
from schedtop.outputs.report.text import WIDTH, to_text
from schedtop.outputs.saved import read_saved
from schedtop.recording.lines import Header
from schedtop.sources.activity.beside import WithActivity
from schedtop.sources.synthetic.activity import SyntheticActivity
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource


def frames_of(count: int = 6, measured: int = 6) -> list[Frame]:
    """Synthetic seconds, the first `measured` of them with activity."""
    with WithActivity(SyntheticSource(Scenario(cpus=2, tasks=10, frames=count)), SyntheticActivity()) as source:
        frames = list(source.frames(threading.Event()))
    return [frame if number < measured else replace(frame, activity=None) for number, frame in enumerate(frames)]


def read(path: Path, frames: list[Frame], top: int = 50) -> dict[str, Any]:
    with Recorder(path, Header(SyntheticSource(Scenario()).host, frames[0].start_time_ns)) as recorder:
        for frame in frames:
            recorder.write(frame)
    return read_evidence(path, Filter(), Part(), top=top)


def truth(frames: list[Frame], name: str) -> int:
    return sum(int(frame.activity.rows[name].sum()) for frame in frames if frame.activity)


def test_report_has_the_sums_of_the_time_in_which_activity_was_measured(tmp_path: Path) -> None:
    frames = frames_of(6, measured=4)
    data = read(tmp_path / "a.rec", frames)
    found = data["activity"]
    assert found["measured_ns"] == 4_000_000_000
    for name in ACTIVITY_SUMS:
        assert found["totals"][name] == truth(frames, name) == sum(row[name] or 0 for row in data["series"])
    assert [row["syscalls"] is None for row in data["series"]] == [False] * 4 + [True] * 2
    assert found["rows"][0]["comm"] == "nginx"
    assert found["standing_out"][0]["words"].startswith("postgres (1204): ")
    assert "7 of 7, measured for 4.00 s\n" in to_text(data, 10)


def test_text_fits_and_has_processes_calls_and_what_stands_out(tmp_path: Path) -> None:
    text = to_text(read(tmp_path / "a.rec", frames_of()), 10)
    block = text[text.index("Activity by process") :]
    assert "nginx" in block and "futex" in block and "Stands out: postgres (1204): " in block
    assert max(map(len, block.splitlines())) <= WIDTH


def test_html_and_csv_have_the_same_rows(tmp_path: Path) -> None:
    data = read(tmp_path / "a.rec", frames_of())
    page = to_html(data, 10)
    assert "Activity by process" in page and "systemd-resolve" in page and "ETIMEDOUT" in page
    lines = [line for line in to_csv(data, "activity").splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))
    assert [row["comm"] for row in rows] == [row["comm"] or "" for row in data["activity"]["rows"]]
    assert int(rows[0]["syscalls"]) == data["activity"]["rows"][0]["syscalls"]


def test_reports_without_activity_say_nothing_of_it(tmp_path: Path) -> None:
    data = read(tmp_path / "a.rec", frames_of(measured=0))
    assert data["activity"] is None
    assert "Activity" not in to_text(data, 10) and "Activity by process" not in to_html(data, 10)
    assert all(row["syscalls"] is None for row in data["series"])


def test_saved_report_is_read_back_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    data = read(tmp_path / "a.rec", frames_of())
    again = read_saved(to_json(data).encode(), "it")
    assert to_text(again, 10) == to_text(data, 10)
    older = {name: value for name, value in data.items() if name != "activity"}
    assert read_saved(json.dumps(older).encode(), "it")["activity"] is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("measured_ns",), 0),
        (("rows", 0, "syscalls"), "many"),
        (("rows", 0, "comm"), 7),
        (("syscalls", 0, "errnos"), [1]),
        (("standing_out", 0, "words"), None),
    ],
)
def test_what_cannot_be_in_a_saved_report_is_refused(tmp_path: Path, path: tuple[Any, ...], value: Any) -> None:
    data = json.loads(to_json(read(tmp_path / "a.rec", frames_of())))
    place = data["activity"]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(SourceError):
        read_saved(json.dumps(data).encode(), "it")


def test_diff_compares_rates_and_time_in_io(tmp_path: Path) -> None:
    frames = frames_of()
    before = read(tmp_path / "a.rec", frames)
    worse = []
    for frame in frames:
        assert frame.activity is not None
        rows = frame.activity.rows.copy()
        rows["major_faults"] *= 40
        rows["fsync_ns"][rows["comm"] == b"postgres"] *= 8
        worse.append(replace(frame, activity=replace(frame.activity, rows=rows)))
    after = read(tmp_path / "b.rec", worse)
    found = {change["name"]: change for change in diff(before, after, ("a", "b"), 20)["activity"]}
    faults = found["activity.major_faults_per_second"]
    assert faults["after"] == pytest.approx(40 * faults["before"], rel=0.001) and faults["score"] > 1
    assert found["io:postgres"]["after"] > 3 * found["io:postgres"]["before"]
    assert found["activity.syscalls_per_second"]["score"] == 0
    assert "major faults a second" in diff_text(diff(before, after, ("a", "b"), 20), 20)


def test_diff_with_one_side_alone_warns(tmp_path: Path) -> None:
    one, other = read(tmp_path / "a.rec", frames_of()), read(tmp_path / "b.rec", frames_of(measured=0))
    found = diff(one, other, ("a", "b"), 20)
    assert found["activity"] is None
    assert any("activity was measured only before" in words for words in found["warnings"])
