"""The path that goes on: what it adds up equals what is known by construction, and its memory is bounded."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from loads import attached_programs, python
from test_path import Started, favoured

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.path.live import PathFrame
from schedtop.path.subject import PathSubject
from schedtop.sources.path import source
from schedtop.sources.path.source import LivePath

PING = (
    "import os\na, b = os.pipe(), os.pipe()\n"
    "if os.fork():\n while True: os.write(a[1], b'x'); os.read(b[0], 1)\n"
    "while True: os.read(a[0], 1); os.write(b[1], b'x')"
)


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Started]:
    """chains.c: `late` wants a mutex whose holder sleeps for 60 ms."""
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if not compiler:
        pytest.skip("there is no C compiler")
    built = tmp_path / "chains"
    subprocess.run([compiler, "-O1", "-pthread", "-o", built, Path(__file__).with_name("chains.c")], check=True)
    process = subprocess.Popen([built, "sleeper"], stdout=subprocess.PIPE, cwd=tmp_path)
    try:
        yield Started(process)
    finally:
        process.kill()
        process.wait()


def frames(subject: PathSubject, count: int, **more: int) -> list[PathFrame]:
    """The first ones."""
    stop, found = threading.Event(), []
    with LivePath(subject, interval_ns=NS_PER_S // 2, **more) as live:
        for frame in live.frames(stop):
            found.append(frame)
            if len(found) == count:
                break
    return found


def test_windows_add_up_to_what_happened(sleeper: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of a second and a half, each second half a second further: no episode is there twice, and none is not."""
    monkeypatch.setattr(source, "KEPT_NS", NS_PER_S)
    with favoured("path-live", sleeper.process):
        found = frames(PathSubject(sleeper.late, sleeper.process.pid, "late"), 8)
    last = found[-1]
    assert last.kept_ns < 2 * NS_PER_S < last.duration_ns
    # It hardly ever runs: its episodes fill the time, but for the one that had not ended.
    whole_ns = sum(row.time_ns for row in last.summary.rows)
    assert whole_ns == pytest.approx(last.duration_ns, rel=0.05)
    spans = sorted((tree.start_time_ns, tree.length_ns) for tree in last.latest)
    assert all(start + length <= later for (start, length), (later, _) in pairwise(spans)), "none is there twice"
    locked = [tree for tree in last.latest if tree.where == "futex" and not tree.began_before]
    asleep = [line for tree in locked for line in tree.lines if line.words == "blocked in clock_nanosleep: timer"]
    assert len(asleep) == len(locked) > 5
    assert sum(line.time_ns for line in asleep) == pytest.approx(60 * NS_PER_MS * len(locked), rel=0.05)
    for tree in last.worst:
        assert sum(line.time_ns for line in tree.lines if line.state) == tree.length_ns
    counts = [frame.summary.episodes for frame in found]
    assert counts == sorted(counts) and not last.ended


def test_too_many_events_are_dropped_and_told(sleeper: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MOST_EVENTS", 4000)
    monkeypatch.setattr(source, "KEPT_EVENTS", 1000)
    ping = python(PING, process_group=0)
    try:
        found = frames(PathSubject(0, sleeper.process.pid, "late"), 4)
    finally:
        os.killpg(ping.pid, signal.SIGKILL)
        ping.wait()
    assert found[-1].loss.unseen_ns > 0 and any("too many" in words for words in found[-1].loss.words)
    assert found[-1].kept_ns < found[-1].duration_ns


def test_a_ring_that_is_too_small_says_what_was_lost(sleeper: Started) -> None:
    ping = python(PING, process_group=0)
    try:
        found = frames(PathSubject(sleeper.late, sleeper.process.pid, "late"), 3, buffer_bytes=4 << 10)
    finally:
        os.killpg(ping.pid, signal.SIGKILL)
        ping.wait()
    assert found[-1].loss.events > 1000


def test_a_task_that_ends_is_told_and_nothing_stays_attached(sleeper: Started) -> None:
    stop = threading.Event()
    subject = PathSubject(sleeper.late, sleeper.process.pid, "late")
    before = attached_programs()
    with LivePath(subject, interval_ns=NS_PER_S // 4) as live:
        assert attached_programs() > before
        for frame in live.frames(stop):
            if frame.ended:
                stop.set()
                assert attached_programs() == before
            else:
                sleeper.process.kill()
                sleeper.process.wait()
    assert frame.ended and not frame.under_way
