"""Recordings of the real kernel: replay gives what was seen, to the last count, and a killed recorder leaves it."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from loads import ended, python

from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.frame import merge
from schedtop.outputs.recording.recorder import Recorder
from schedtop.outputs.scheduler.snapshot import snapshot
from schedtop.recording.lines import Header, frame_line
from schedtop.sources.replay.recorded import Recording
from schedtop.sources.replay.source import ReplaySource
from schedtop.sources.scheduler.source import LiveSource

pytestmark = pytest.mark.beside

SCHEDTOP = [sys.executable, "-m", "schedtop"]
NS_PER_S = 1_000_000_000
BUSY = "import os; os.sched_setaffinity(0, {1})\nwhile True: pass"


@pytest.mark.parametrize("name", ["a.rec", "a.rec.gz"])
def test_replay_has_the_totals_of_live(tmp_path: Path, front_end: str, name: str) -> None:
    live, stop = [], threading.Event()
    with LiveSource(NS_PER_S // 5, 1_000_000, front_end) as source, ended(python(BUSY), python(BUSY)):
        source.set_grouping("tgid")
        for frame in source.frames(stop):
            live.append(frame)
            if len(live) == 15:
                stop.set()
    with Recorder(tmp_path / name, Header(source.host, live[0].start_time_ns)) as recorder:
        for frame in live:
            recorder.write(frame)
    replayed, stop = [], threading.Event()
    with ReplaySource(Recording(tmp_path / name), speed=1e9) as replay:
        for frame in replay.frames(stop):
            replayed.append(frame)
            if len(replayed) == 15:
                stop.set()
    assert len(live) == 15
    assert len(merge(live).slow_waits) > 0
    assert [frame_line(frame) for frame in replayed] == [frame_line(frame) for frame in live]
    assert frame_line(merge(replayed)) == frame_line(merge(live))
    for window_s in (0.2, 1, 10):
        settings = ViewSettings(window_ns=int(window_s * NS_PER_S), group="process")
        seen, again = (snapshot(History(source.host, frames).view(settings), None) for frames in (live, replayed))
        assert again == seen
    assert replay.host.kernel == source.host.kernel == os.uname().release


def wait_for(condition, timeout_s: float = 30) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert condition()


def test_a_killed_recorder_leaves_every_interval_that_has_ended(tmp_path: Path) -> None:
    chance = random.Random(7)
    for attempt in range(3):
        path = tmp_path / f"{attempt}.rec.gz"
        # In a session of its own: it cannot give its priority back.
        command = [*SCHEDTOP, "record", "-o", str(path), "--interval", "0.2s"]
        process = subprocess.Popen(command, start_new_session=True)
        with ended(python(BUSY), python(BUSY)):
            wait_for(path.exists)
            began = time.monotonic()
            time.sleep(1 + chance.random())
            process.send_signal(signal.SIGKILL)
            lasted = time.monotonic() - began
        assert process.wait(20) == -signal.SIGKILL
        with Recording(path) as recording:
            assert recording.left_out == 0
            assert f"was killed after interval {len(recording)}" in recording.damage
            recorded_s = sum(indexed.entry.interval_ns for indexed in recording.intervals) / 1e9
            # The first interval was there when the file appeared; of the last one not all had happened, and a host
            # that is this busy may be late by a few.
            assert lasted - 1 <= recorded_s, "more than the last interval is missing"
            assert sum(1 for _ in recording) == len(recording)


def test_a_recording_of_contention_with_a_filter(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    hogs = [python(BUSY) for _ in range(2)]
    with ended(*hogs):
        done = subprocess.run(
            [*SCHEDTOP, "record", "-o", str(path), "--duration", "2s", "--pid", str(hogs[0].pid), "--group", "process"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    assert done.stdout == ""
    assert "2 intervals" in done.stderr
    assert path.stat().st_mode & 0o777 == 0o600
    with Recording(path) as recording:
        assert recording.header.host.scope == f"pid:{hogs[0].pid}"
        whole = merge(list(recording))
        assert set(whole.tasks["tid"].tolist()) == {hogs[0].pid}
        assert hogs[1].pid in whole.pairs["other_tid"]
        assert whole.groups is not None
        assert whole.groups.kind == "tgid"


# Two hundred rows an interval: the disk is full soon.
NAPS = """
import threading, time
def nap():
    while True: time.sleep(0.05)
for _ in range(200): threading.Thread(target=nap).start()
"""


@pytest.mark.parametrize(("name", "size"), [("a.rec", "256k"), ("a.rec.gz", "64k")])
def test_a_full_disk_is_one_line_and_what_was_written_is_there(tmp_path: Path, name: str, size: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)], check=True)
    try:
        path = disk / name
        with ended(python(NAPS)):
            done = subprocess.run(
                [*SCHEDTOP, "record", "-o", str(path), "--interval", "0.2s"],
                capture_output=True, text=True, timeout=120,
            )  # fmt: skip
        assert done.returncode == 1
        counted, full = done.stderr.splitlines()
        assert full.startswith(f"schedtop: cannot write {path}: no space left on device; it holds ")
        with Recording(path) as recording:
            assert len(recording) > 0
            assert recording.left_out == 0
            count = "1 interval" if len(recording) == 1 else f"{len(recording)} intervals"
            assert f"it holds {count}" in full
            assert re.search(rf"\b{count}\b", counted)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
