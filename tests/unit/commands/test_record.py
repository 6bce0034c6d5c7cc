"""`schedtop record` and `schedtop replay` as commands: a process of its own, the made-up host, and bad input."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from dataclasses import replace
from pathlib import Path

import pytest

import schedtop
from schedtop.base.units import NS_PER_S, format_elapsed, parse_size
from schedtop.cli.types import Moment
from schedtop.commands.place import Place
from schedtop.commands.recorded import number_at, place_of
from schedtop.model import rows as model_rows
from schedtop.recording.lines import Entry
from schedtop.sources.replay.recorded import Recording

COMMAND = [sys.executable, "-m", "schedtop"]
RECORD = [*COMMAND, "record", "--source", "synthetic"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(schedtop.__file__).parents[1])}


def run(*arguments: str, command: list[str] = RECORD) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *arguments],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_a_recording_of_a_duration(tmp_path: Path) -> None:
    path = tmp_path / "a.rec.gz"
    done = run("-o", str(path), "--duration", "10s", "--cpu", "1", "--comm", "nginx", "--threshold", "7ms")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith(f"schedtop: {path}: 0:10, 10 intervals, ")
    assert "60 slow waits, nothing lost, " in done.stderr
    assert done.stderr.endswith(" a minute\n")
    assert path.read_bytes()[:2] == b"\x1f\x8b"
    with Recording(path) as recording:
        assert (len(recording), recording.damage) == (10, "")
        assert recording.end is not None
        assert recording.end.reason == "done"
        assert recording.header.filters == "comm:nginx cpu:1"
        assert recording.header.start_time_ns == recording.intervals[0].entry.start_time_ns
        assert recording.intervals[0].entry.threshold_ns == 7_000_000


def test_a_name_without_gz_is_plain_and_a_short_duration_is_one_interval(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    assert run("-o", str(path), "--duration", "500ms", "--hide-self").returncode == 0
    assert path.read_bytes().startswith(b'{"schema":"schedtop.recording/1"')
    with Recording(path) as recording:
        assert [indexed.entry.interval_ns for indexed in recording.intervals] == [NS_PER_S // 2]
        assert recording.header.filters.startswith("not_tgid:")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGHUP, 129)])
def test_a_signal_ends_it_and_the_file_is_closed(tmp_path: Path, number: signal.Signals, status: int) -> None:
    path = tmp_path / "a.rec"
    process = subprocess.Popen(
        [*RECORD, "-o", str(path), "--interval", "0.2s"], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: path.exists() and path.read_bytes().count(b"\n") > 3)
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == status
    with Recording(path) as recording:
        assert recording.damage == ""
        assert recording.end is not None
        assert recording.end.reason == "stopped"
        assert f" {len(recording)} intervals, " in errors


@pytest.mark.parametrize("duration", [[], ["--duration", "1h"]])
def test_a_signal_before_the_first_interval_is_its_status_and_leaves_no_file(
    tmp_path: Path, duration: list[str]
) -> None:
    path = tmp_path / "a.rec"
    code = (
        "import os, signal, sys, time\nfrom schedtop.sources.synthetic.scheduler import SyntheticSource\n"
        "def open_it(self):\n    os.kill(os.getpid(), signal.SIGTERM)\n    time.sleep(0.5)\n    return self\n"
        "SyntheticSource.__enter__ = open_it\nfrom schedtop.cli import main\nsys.exit(main(sys.argv[1:]))"
    )
    arguments = ["record", "--source", "synthetic", "-o", str(path), *duration]
    done = run(*arguments, command=[sys.executable, "-c", code])
    words = "schedtop: nothing was recorded: the first interval had not ended\n"
    assert (done.returncode, done.stderr, os.listdir(tmp_path)) == (143, words, [])


def wait_for(condition) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert condition()


def test_the_target_is_looked_at_first(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("precious")
    for path, words in (
        (taken, "it exists (--force overwrites it)"),
        (tmp_path / "no" / "a", "there is no such directory"),
        (tmp_path, "not a regular file"),
    ):
        done = run("-o", str(path), "--source", "btf")
        assert (done.returncode, done.stdout) == (1, "")
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
    assert taken.read_text() == "precious"
    assert run("-o", str(taken), "--duration", "1s", "--force").returncode == 0
    assert os.listdir(tmp_path) == ["taken"]


def test_the_largest_size_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    done = run("-o", str(path), "--duration", "1h", "--max-size", "200k")
    assert done.returncode == 1
    assert "has reached its largest size with " in done.stderr.splitlines()[-1]
    assert path.stat().st_size <= 200 << 10
    with Recording(path) as recording:
        assert recording.damage == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Missing option '-o'"),
        (["-o", ""], "it must be the name of a file"),
        (["-o", "-"], "it must be the name of a file"),
        (["-o", "x", "--duration", "0s"], "outside of 200 ms to 720 h"),
        (["-o", "x", "--interval", "0.1s"], "outside of 200 ms to 60 s"),
        (["-o", "x", "--max-size", "1"], "outside of 64 KiB"),
        (["-o", "x", "--max-size", "much"], "'much' is not a size"),
    ],
)
def test_bad_usage(arguments: list[str], words: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [*RECORD, *arguments], env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True, timeout=20, check=False
    )
    assert done.returncode == 2
    assert words in done.stderr
    assert os.listdir(tmp_path) == []


def test_record_draws_its_progress_on_a_terminal(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    path = tmp_path / "a.rec"
    process = subprocess.Popen([*RECORD, "-o", str(path), "--interval", "0.2s"], env=ENVIRONMENT, stderr=slave)
    drawn = b""
    deadline = time.monotonic() + 20
    while b" 0:01, " not in drawn and time.monotonic() < deadline:
        drawn += os.read(master, 4096)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    os.close(slave)
    assert re.search(rb"\r\x1b\[Kschedtop: recording 0:01, \d+ intervals, ", drawn)
    assert max(map(len, drawn.replace(b"\x1b[K", b"").split(b"\r"))) < 80


# Replay.


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recordings") / "a.rec"
    assert run("-o", str(path), "--duration", "5s").returncode == 0
    return path


def test_replay_needs_a_terminal_and_says_so(recorded: Path) -> None:
    done = run(str(recorded), command=[*COMMAND, "replay"])
    assert done.returncode == 1
    assert "is not a terminal" in done.stderr
    assert f"use `schedtop report {recorded}`" in done.stderr


def in_terminal(*arguments: str) -> tuple[int, str]:
    """The status of a replay in a terminal that ends by itself, and what it said."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, "replay", *arguments],
        env={**ENVIRONMENT, "TERM": "xterm-256color"},
        stdin=slave,
        stdout=slave,
        stderr=subprocess.PIPE,
        text=True,
    )
    _, errors = process.communicate(timeout=20)
    os.close(master)
    os.close(slave)
    return process.returncode, errors


def test_bad_files_and_bad_moments_are_one_line_before_the_screen_is_taken(recorded: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.write_text("hello\n")
    assert in_terminal(str(foreign)) == (1, f"schedtop: {foreign} is not a schedtop recording: a line is not JSON\n")
    words = "schedtop: /dev/zero is not a schedtop recording: it is not a regular file\n"
    assert in_terminal("/dev/zero") == (1, words)
    missing = tmp_path / "missing"
    assert in_terminal(str(missing)) == (1, f"schedtop: cannot read {missing}: no such file or directory\n")
    for arguments, words in (
        (["--from", "1h"], "1h is outside of the recording: "),
        (["--from", "soon"], "is no moment"),
        (["--speed", "0"], "'0' is not a speed: write a number from 0.1 to 1000"),
        (["--speed", "x"], "'x' is not a speed: write a number from 0.1 to 1000"),
        (["--speed", "nan"], "'nan' is not a speed"),
        (["--export-dir", "/no"], "there is no such directory"),
    ):
        status, errors = in_terminal(str(recorded), *arguments)
        assert status == 2, errors
        assert words in errors
        assert errors.count("\n") == 1


def test_replay_of_another_schedtop_file_names_its_reader(recorded: Path, tmp_path: Path) -> None:
    for kind in ("snapshot", "report"):
        path = tmp_path / f"a {kind}.json"
        command = (
            ["snapshot", "--source", "synthetic"]
            if kind == "snapshot"
            else ["report", str(recorded), "--format", "json"]
        )
        assert run(*command, "-o", str(path), command=COMMAND).returncode == 0
        words = f"schedtop: {path} is a {kind}, not a recording: use `schedtop report '{path}'`\n"
        assert in_terminal(str(path)) == (1, words)
    path = tmp_path / "d.json"
    assert (
        run("diff", str(recorded), str(recorded), "--format", "json", "-o", str(path), command=COMMAND).returncode == 0
    )
    assert in_terminal(str(path)) == (1, f"schedtop: {path} is not a schedtop recording: it is 'schedtop.diff/1'\n")


def test_a_cpu_that_is_not_in_it_is_refused(recorded: Path) -> None:
    status, errors = in_terminal(str(recorded), "--cpu", "99")
    assert status == 1
    assert re.fullmatch(rf"schedtop: there is no CPU 99 in {recorded}: it has 0 to \d\n", errors)


@pytest.mark.parametrize("command", ["report", "diff"])
@pytest.mark.parametrize("number", ["0", "-1"])
def test_a_table_has_at_least_one_row(recorded: Path, command: str, number: str) -> None:
    done = run(command, *[str(recorded)] * (1 + (command == "diff")), "--top", number, command=COMMAND)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"'--top': {number} is not a number from 1 on" in done.stderr


ENTRY = Entry(1_790_000_000 * NS_PER_S, 51 * NS_PER_S, NS_PER_S, 5_000_000, 0, 0, None, {})
ENTRIES = tuple(
    replace(ENTRY, start_time_ns=ENTRY.start_time_ns + second * NS_PER_S, end_ns=ENTRY.end_ns + second * NS_PER_S)
    for second in range(100)
)


def test_a_moment_is_the_interval_it_lies_in() -> None:
    for text, number in (("0", 0), ("1s", 1), ("1.5s", 1), ("99s", 99), ("1m", 60), ("2026-09-21T14:13:21Z", 1)):
        assert place_of(ENTRIES, text) == number, text
    for text in ("100s", "2h", "2020-01-01T00:00:00Z", "2030-01-01T00:00:00Z"):
        with pytest.raises(ValueError, match=r"^outside of \d\d-\d\d .* to \d\d:14:59, 1:40 long$"):
            place_of(ENTRIES, text)
    with pytest.raises(ValueError, match=r"^not a time: 90s, 2m, 14:03:10 or a date and time$"):
        place_of(ENTRIES, "now")
    clock = Moment().convert("14:13:30+00:00", None, None)
    assert number_at(ENTRIES, clock) == 10


def test_offset_goes_by_the_monotonic_clock() -> None:
    jumped = tuple(replace(entry, start_time_ns=entry.start_time_ns - 10**15) for entry in ENTRIES[50:])
    assert number_at((*ENTRIES[:50], *jumped), Place("60s", offset_ns=60 * NS_PER_S)) == 60


@pytest.mark.parametrize(
    ("text", "size"), [("1", 1), ("64k", 65536), ("1.5MiB", 3 << 19), ("2G", 2 << 30), (" 1 GB ", 1 << 30)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "k", "-1", "1x", "1e9", "nan"])
def test_record_refuses_a_wrong_size(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(text)


def test_elapsed() -> None:
    assert [format_elapsed(second * NS_PER_S) for second in (0, 7, 725, 3723)] == ["0:00", "0:07", "12:05", "1:02:03"]


def test_record_keeps_activity_if_it_is_asked_for(tmp_path: Path) -> None:
    with_it, without, by_condition = (tmp_path / name for name in ("with.rec", "without.rec", "condition.rec"))
    usual = ("--duration", "0.4s", "--interval", "0.2s")
    assert run(*usual, "--activity", "-o", str(with_it)).returncode == 0
    assert run(*usual, "-o", str(without)).returncode == 0
    assert run(*usual, "--on", "syscall_errors(comm:nginx) > 100/s", "-o", str(by_condition)).returncode == 0
    with Recording(with_it) as recording:
        first = recording.frame(0)
        assert first.activity is not None
        assert "nginx" in [model_rows.text(comm) for comm in first.activity.rows["comm"].tolist()]
    with Recording(without) as recording:
        assert recording.frame(0).activity is None
    with Recording(by_condition) as recording:
        assert recording.frame(0).activity is not None
        assert [event.kind for event in recording.events] == ["trigger"]


def test_activity_cannot_be_had_from_proc(tmp_path: Path) -> None:
    done = run("--activity", "-o", str(tmp_path / "a.rec"), command=[*COMMAND, "record", "--source", "proc"])
    assert done.returncode == 2
    assert "what tasks do cannot be had from /proc" in done.stderr and "'--activity'" in done.stderr
