"""Streams as a user meets them: `snapshot --interval`, `waits`, on a made-up host and of a recording."""

import csv
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.commands.running import run_in

SYNTHETIC = ("--source", "synthetic")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six intervals of 0.5 s."""
    path = tmp_path_factory.mktemp("streams") / "made-up.rec"
    done = run_in(
        path.parent, "record", *SYNTHETIC, "-o", path.name, "--duration", "3s", "--interval", "0.5s",
        "--group", "process",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return path


def lines_of(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_snapshot_each_interval_is_a_line_each(tmp_path: Path) -> None:
    done = run_in(tmp_path, "snapshot", *SYNTHETIC, "--interval", "0.2s", "--count", "3", "--tasks", "2")
    found = lines_of(done)
    assert [(data["schema"], data["interval_ns"], len(data["tasks"])) for data in found] == [
        ("schedtop.snapshot/1", 200_000_000, 2)
    ] * 3
    assert len({data["start_time"] for data in found}) == 3
    assert done.stderr == ""


def test_csv_of_a_stream_has_one_header_and_the_interval_of_each_row(tmp_path: Path) -> None:
    done = run_in(
        tmp_path, "snapshot", *SYNTHETIC, "--interval", "0.2s", "--count", "3", "--tasks", "2", "--format", "csv"
    )
    lines = [line for line in done.stdout.splitlines() if not line.startswith("# ")]
    assert sum("comm" in line.split(",") for line in lines) == 1
    rows = list(csv.DictReader(lines))
    assert len(rows) == 6
    assert len({row["start_time"] for row in rows}) == 3
    assert done.stdout.count("# schedtop:") == 1


def test_text_of_a_stream_is_a_report_each_interval(tmp_path: Path) -> None:
    done = run_in(tmp_path, "snapshot", *SYNTHETIC, "--interval", "0.2s", "--count", "2", "--format", "text")
    assert done.stdout.count("Runqueue latency\n") == 2


@pytest.mark.parametrize(
    "arguments", [("snapshot", "--interval", "0.2s"), ("waits", "--interval", "0.2s")], ids=["snapshot", "waits"]
)
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGHUP, 129)])
def test_a_signal_ends_a_stream_with_what_is_said(
    tmp_path: Path, arguments: tuple[str, ...], number: signal.Signals, status: int
) -> None:
    command = [sys.executable, "-m", "schedtop", *arguments, *SYNTHETIC]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout and process.stderr
        assert process.stdout.readline()  # each interval is written when it ends
        process.send_signal(number)
        rest = process.stdout.read()
        assert process.wait(20) == status
        assert rest == b"" or rest.endswith(b"\n")
        said = process.stderr.read().decode()
    assert ("left out" in said) == (arguments[0] == "waits")


@pytest.mark.parametrize(
    "arguments",
    [
        ("snapshot", "--interval", "0.2s"),
        ("waits", "--interval", "0.2s"),
        # Nothing is ever written: it has to look for its reader.
        ("waits", "--interval", "0.2s", "--threshold", "100s", "--format", "json"),
    ],
    ids=["snapshot", "waits", "nothing-to-tell"],
)
def test_a_stream_without_a_reader_ends_quietly(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "schedtop", *arguments, *SYNTHETIC]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.wait(20) == 141
        assert process.stderr.read() == b""


def test_waits_are_those_of_the_snapshots(recording: Path) -> None:
    snapshots = lines_of(run_in(recording.parent, "snapshot", "--replay", recording.name))
    waits = lines_of(run_in(recording.parent, "waits", "--replay", recording.name, "--format", "json"))
    assert len(snapshots) == 6
    expected = [wait for data in snapshots for wait in sorted(data["slow_waits"], key=lambda wait: wait["time"])]
    assert expected
    assert [{key: wait[key] for key in expected[0]} for wait in waits] == expected
    assert {wait["schema"] for wait in waits} == {"schedtop.waits/1"}
    assert {wait["left_out"] for wait in waits} == {0}


def test_of_too_many_waits_the_longest_are_told_and_the_others_counted(recording: Path) -> None:
    all_waits = lines_of(run_in(recording.parent, "waits", "--replay", recording.name, "--format", "json"))
    done = run_in(recording.parent, "waits", "--replay", recording.name, "--format", "json", "--most", "2")
    found = lines_of(done)
    assert len(found) == 6  # one in each half of a second
    assert max(wait["wait_ns"] for wait in found) == max(wait["wait_ns"] for wait in all_waits)
    assert sum(wait["left_out"] for wait in found) >= len(all_waits) - 6
    assert done.stderr.startswith("schedtop: 6 slow waits, ")


def test_waits_as_text_name_cause_and_blockers(recording: Path) -> None:
    done = run_in(recording.parent, "waits", "--replay", recording.name, "--most", "4")
    head, *lines = done.stdout.splitlines()
    assert head.split()[:3] == ["time", "tid", "comm"]
    assert any(" preemption " in line or " wakeup " in line for line in lines)
    assert any(line.startswith("# ") and line.endswith("left out here") for line in lines)


def test_intervals_of_a_recording_are_added_up(recording: Path) -> None:
    found = lines_of(run_in(recording.parent, "snapshot", "--replay", recording.name, "--interval", "1s"))
    assert [data["interval_ns"] for data in found] == [1_000_000_000] * 3
    assert found[0]["groups"][0]["by"] == "process"


def test_a_recording_is_filtered_by_task_and_cpu(recording: Path) -> None:
    done = run_in(recording.parent, "waits", "--replay", recording.name, "--format", "json")
    tid = lines_of(done)[0]["tid"]
    chosen = run_in(recording.parent, "waits", "--replay", recording.name, "--format", "json", "--tid", str(tid))
    assert {wait["tid"] for wait in lines_of(chosen)} == {tid}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("snapshot", "--count", "2"), "--count is for --interval"),
        (("snapshot", "--interval", "1s", "-o", "x"), "--output does not go with --interval"),
        (("snapshot", "--interval", "1s", "--plot", "--format", "text"), "--plot does not go with --interval"),
        (("snapshot", "--interval", "1s", "--duration", "2s"), "--duration does not go with --interval: say --count N"),
        (("waits", "--replay", "x", "--threshold", "1ms"), "--threshold does not go with --replay"),
        (("snapshot", *SYNTHETIC, "--only", "queue"), "--only queue samples inside the kernel"),
        (("record", "-o", "x", "--only", "queue", "--activity"), "--activity does not go with --only queue"),
        (("snapshot", "--only", "queue", "--comm", "x"), "--comm does not go with --only queue"),
        (("waits", "--replay", "x", "--cgroup", "/"), "--cgroup does not go with --replay"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    done = run_in(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_a_recording_that_is_none(tmp_path: Path) -> None:
    done = run_in(tmp_path, "waits", "--replay", "nothing.rec")
    assert (done.returncode, done.stdout) == (1, "")
    assert "nothing.rec" in done.stderr


def test_histograms_of_groups_are_in_the_text(tmp_path: Path) -> None:
    done = run_in(tmp_path, "snapshot", *SYNTHETIC, "--by", "process", "--format", "text", "--duration", "1s")
    assert "Runqueue latency by process" in done.stdout
    data = json.loads(run_in(tmp_path, "snapshot", *SYNTHETIC, "--by", "process", "--duration", "1s").stdout)
    first = data["groups"][0]
    block = done.stdout.split(f"{first['name']} ({first['id']}): ")[1].split("\n\n")[0]
    assert block.startswith(f"{first['runqueue_latency']['count']} waits, ")
    assert block.splitlines()[1].split()[:4] == ["wait", "wakeup", "preemption", "fork"]
    rows = [[int(count) for count in line.split()[1:4]] for line in block.splitlines()[2:]]
    assert sum(map(sum, rows)) == first["runqueue_latency"]["count"]
    by_kind = first["latency_by_kind"]
    assert [sum(column) for column in zip(*rows, strict=True)] == [kind["count"] for kind in by_kind.values()]
    assert min(kind["count"] for kind in list(by_kind.values())[:2]) > 0


def test_kinds_of_waits_are_apart_in_the_text(tmp_path: Path) -> None:
    done = run_in(tmp_path, "snapshot", *SYNTHETIC, "--format", "text", "--duration", "1s")
    data = json.loads(run_in(tmp_path, "snapshot", *SYNTHETIC, "--duration", "1s").stdout)
    head, *rows = done.stdout.split("Waits by length\n")[1].split("\n\n")[0].splitlines()
    kinds = head.split()[1:4]
    assert kinds == ["wakeup", "preemption", "fork"]
    for place, kind in enumerate(kinds, start=1):
        assert sum(int(row.split()[place]) for row in rows) == data["runqueue_latency"][kind]["count"]
