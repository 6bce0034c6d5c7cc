"""A recording with activity: a program of known counts is in the report, the CSV and the diff with the same numbers."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from loads import ended
from task_programs import program
from test_offcpu_screen import programs_of

from schedtop.activity.standing_out import standing_out
from schedtop.sources.activity.source import LiveActivity
from schedtop.sources.replay.recorded import Recording
from schedtop.sources.scope import Scope

pytestmark = pytest.mark.beside

COMMAND = [sys.executable, "-m", "schedtop"]

KNOWN = """
for _ in range(400):
    try: os.open("/nonexistent", os.O_RDONLY)
    except OSError: pass
for _ in range(600):
    try: os.rmdir("/")
    except OSError: pass
socket.create_server(("127.0.0.1", 0)).close()
path = f"/var/tmp/schedtop-record-{os.getpid()}"
fd = os.open(path, os.O_RDWR | os.O_CREAT)
os.unlink(path)
until = time.monotonic() + 0.6
count = 0
while time.monotonic() < until:
    os.write(fd, b"x" * 4096); os.fsync(fd); count += 1
TRUTH = {"synced": count}
"""
"""Fails 1000 times, and does little else for 0.6 s but writing to the disk."""


def told(*arguments: str) -> str:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=True).stdout


@contextmanager
def recording_to(path: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A recorder from its first interval on, and ended."""
    recorder = subprocess.Popen([*COMMAND, "record", *options, "-o", str(path), "--interval", "0.4s"])
    with ended(recorder):
        deadline = time.monotonic() + 30
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        yield recorder
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(20) in (0, 130)


def test_report_and_diff_of_a_recording_have_the_counts_of_a_program(tmp_path: Path) -> None:
    plain, path = tmp_path / "plain.rec", tmp_path / "activity.rec"
    with recording_to(plain) as recorder:
        usual = len(programs_of(recorder.pid))
    condition = ("--on", "syscall_errors(comm:python) > 100/s")
    with program(KNOWN) as one, recording_to(path, "--activity", *condition) as recorder:
        assert len(programs_of(recorder.pid)) > usual, "only --activity attaches its programs"
        one.go()
        time.sleep(0.9)
    with Recording(plain) as recording:
        assert all(frame.activity is None for frame in recording)
    with Recording(path) as recording:
        tables = [frame.activity for frame in recording if frame.activity]
        assert len(tables) == len(recording)
        assert sum(int(t.rows["syscall_errors"][t.rows["tgid"] == one.pid].sum()) for t in tables) == 1000
        assert [event.kind for event in recording.events] == ["trigger"]
    written = [int(t.devices["write_bytes"][t.devices["tgid"] == one.pid].sum()) for t in tables]
    assert sum(written) == 4096 * one.truth["synced"]
    data = json.loads(told("report", str(path), "--format", "json"))["activity"]
    (row,) = [row for row in data["rows"] if row["tgid"] == one.pid]
    assert (row["syscall_errors"], row["fsyncs"]) == (1000, one.truth["synced"])
    assert row["io"]["file"]["write_bytes"] == 4096 * one.truth["synced"]
    (device,) = [name for name, counts in row["devices"].items() if counts["writes"] == one.truth["synced"]]
    assert device in {each["device"] for each in data["devices"]}
    changes = {(change["from"], change["to"]) for change in data["tcp_latest"]}
    assert changes >= {("CLOSED", "LISTEN"), ("LISTEN", "CLOSED")}
    calls = {call["name"]: call for call in data["syscalls"]}
    assert calls["rmdir"]["errnos"]["EBUSY"] == 600 and calls["openat"]["errnos"]["ENOENT"] >= 400
    table = told("report", str(path), "--format", "csv", "--table", "activity")
    rows = csv.DictReader(io.StringIO("\n".join(line for line in table.splitlines() if not line.startswith("#"))))
    assert [row["syscall_errors"] for row in rows if row["tgid"] == str(one.pid)] == ["1000"]
    assert "activity was measured only after" in told("diff", str(plain), str(path))


def test_disk_waits_and_failing_calls_of_a_program_stand_out() -> None:
    with program(KNOWN) as one, LiveActivity(Scope(tgids=(one.pid,))) as source:
        one.go()
        found = {fact.kind: fact for fact in standing_out(source.take(1, threading.Event()))}
    assert found["fsync"].words.endswith("waiting for the disk (fsync)"), found
    assert found["failing_calls"].words.endswith("failing rmdir a second (EBUSY)"), found
    assert {fact.tgid for fact in found.values()} == {one.pid}
