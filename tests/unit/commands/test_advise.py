"""`schedtop advise` as a command: on recordings, on the made-up host, and what it refuses."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from schedtop.base.units import NS_PER_S
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.outputs.recording.recorder import Recorder
from schedtop.recording.lines import Header
from tests.unit.commands.running import run_in
from tests.unit.quota.simulation import Thread, simulate
from tests.unit.verdict.frames import START

HOST = Host("test", "6.18.0", "btf")
FRAMES = 3


def record(path: Path, made: Frame) -> Path:
    """A recording of these four seconds, three times."""
    with Recorder(path, Header(HOST, START)) as recorder:
        for number in range(1, FRAMES + 1):
            recorder.write(replace(made, end_ns=made.end_ns + number * 4 * NS_PER_S))
    return path


@pytest.fixture
def throttled(tmp_path: Path) -> Path:
    return record(tmp_path / "night.rec.gz", simulate([Thread(1000)] * 2, 40, seconds=4).frame)


def test_a_recording_is_advised_on_as_text(throttled: Path) -> None:
    done = run_in(throttled.parent, "advise", throttled.name)
    assert (done.returncode, done.stderr) == (0, "")
    first = done.stdout.splitlines()[0]
    assert first.startswith("/system.slice/web.service is throttled: quota 0.40 → ")
    assert "would have removed 90 %" in first


def test_json_of_a_recording_is_in_the_file_that_is_named(throttled: Path) -> None:
    done = run_in(throttled.parent, "advise", throttled.name, "--format", "json", "-o", "advice.json")
    assert (done.returncode, done.stdout) == (0, "")
    data = json.loads((throttled.parent / "advice.json").read_text())
    assert (data["schema"], data["recording"]) == ("schedtop.advise/1", "night.rec.gz")
    assert data["interval_ns"] == FRAMES * 4 * NS_PER_S
    assert [group["quota_ratio"] for group in data["cgroups"]] == [0.4]


def test_an_older_recording_without_the_quota_has_it_inferred(throttled: Path) -> None:
    lines = [json.loads(line) for line in gzip.decompress(throttled.read_bytes()).splitlines()]
    for line in lines:
        for name in ("quota_ns", "period_ns"):
            line.get("throttling", {}).pop(name, None)
    old = throttled.parent / "old.rec"
    old.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    done = run_in(throttled.parent, "advise", old.name)
    assert (done.returncode, done.stderr) == (0, "")
    assert "quota about 0.4" in done.stdout and "the recording does not tell the quota" in done.stdout


def test_nothing_throttled_is_said_and_no_failure(tmp_path: Path) -> None:
    path = record(tmp_path / "quiet.rec", simulate([Thread(1, 99)], 20, seconds=4).frame)
    done = run_in(tmp_path, "advise", path.name)
    assert done.returncode == 0
    assert done.stderr == "schedtop: nothing was throttled: no cgroup has used up its quota\n"
    assert json.loads(run_in(tmp_path, "advise", path.name, "--format", "json").stdout)["cgroups"] == []


def test_other_cgroups_can_be_left_out(throttled: Path) -> None:
    assert "is throttled" in run_in(throttled.parent, "advise", throttled.name, "--cgroup", "web").stdout
    done = run_in(throttled.parent, "advise", throttled.name, "--cgroup", "db.service")
    assert done.returncode == 0 and "no cgroup with 'db.service' in its path" in done.stderr


def test_a_damaged_interval_is_left_out_and_said(tmp_path: Path) -> None:
    path = record(tmp_path / "a.rec", simulate([Thread(1000)], 20, seconds=4).frame)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b'"tasks":{"rows":1', b'"tasks":{"rows":7')
    path.write_bytes(b"".join(lines))
    done = run_in(tmp_path, "advise", path.name, "--format", "json", timeout_s=60)
    data = json.loads(done.stdout)
    assert (done.returncode, data["interval_ns"]) == (0, (FRAMES - 1) * 4 * NS_PER_S)
    assert data["damage"] == "1 interval is damaged and left out"


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("gone.rec",), 1, "cannot read gone.rec"),
        (("a.json",), 1, "not a schedtop recording"),
        (("gone.rec", "--duration", "5s"), 2, "--duration is for the live kernel"),
        (("--duration", "1ms"), 2, "outside of"),
        (("--format", "csv"), 2, "'csv' is not one of"),
        (("--threshold", "5"), 2, "needs a unit"),
    ],
)
def test_bad_usage(arguments: tuple[str, ...], status: int, words: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}\n")
    done = run_in(tmp_path, "advise", *arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert words in done.stderr and len(done.stderr.splitlines()) == 1


def test_the_made_up_host_is_advised_on(tmp_path: Path) -> None:
    done = run_in(tmp_path, "advise", "--source", "synthetic", "--duration", "15s", "--format", "json", timeout_s=60)
    data = json.loads(done.stdout)
    assert (done.returncode, data["source"], data["recording"]) == (0, "synthetic", None)
    assert all(group["quota_ratio"] == 0.5 for group in data["cgroups"]) and data["cgroups"]
