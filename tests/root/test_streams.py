"""Streams of the real kernel: slow waits as they happen, and the run queues alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from loads import ended, python

from schedtop.sources.queue.source import QueueSource

CPU = max(os.sched_getaffinity(0))
HOG = f"import os; os.sched_setaffinity(0, {{{CPU}}})\nprint(flush=True)\nwhile True: pass"


def hogs(count: int) -> list[subprocess.Popen[bytes]]:
    """Tasks that want one CPU all the time, and have begun to."""
    found = [python(HOG, stdout=subprocess.PIPE) for _ in range(count)]
    for hog in found:
        assert hog.stdout
        hog.stdout.readline()
    return found


@pytest.mark.beside
def test_waits_of_two_that_share_a_cpu_name_each_other() -> None:
    """And Ctrl-C ends it with 0."""
    pair = hogs(2)
    with ended(*pair):
        tids = {hog.pid for hog in pair}
        arguments = [argument for tid in tids for argument in ("--tid", str(tid))]
        command = [sys.executable, "-m", "schedtop", "waits", "--threshold", "100us", "--format", "json", *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout and process.stderr
            found = [json.loads(process.stdout.readline()) for _ in range(8)]
            process.send_signal(signal.SIGINT)
            process.stdout.read()
            said = process.stderr.read().decode()
            assert process.wait(30) == 0
    assert {wait["tid"] for wait in found} <= tids
    assert all(wait["wait_ns"] >= 100_000 and wait["enqueue_cpu"] == CPU for wait in found)
    behind = [{blocker["tid"] for blocker in wait["blockers"]} & tids - {wait["tid"]} for wait in found]
    assert any(behind), found
    assert "slow waits" in said and "left out" in said


@pytest.mark.beside
def test_run_queues_alone_are_sampled_and_nothing_is_attached_to_switches() -> None:
    with ended(*hogs(3)), QueueSource(1_000_000_000, 5_000_000) as source:
        attached = source._program._attached
        frame = next(source.frames(threading.Event()))
        assert list(attached) == ["clock_queue"]
    assert frame.queue is not None
    lengths = frame.queue.lengths("all", [CPU])
    assert lengths.samples > 0.5 * frame.queue.expected[CPU]
    assert lengths.mean is not None
    assert lengths.mean >= 1.5  # two of the three wait, and whatever else is there
    assert "latency" in frame.unavailable
    assert "queue" not in frame.unavailable
