"""Streams of the real kernel: slow waits as they happen, and the run queues alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime

import pytest
from jsonschema import Draft202012Validator
from loads import ended, python

from schedtop.outputs.json_schema import schema_of
from schedtop.sources.queue.source import QueueSource

RUNQSLOWER = shutil.which("runqslower")
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


@pytest.mark.skipif(not RUNQSLOWER, reason="needs runqslower of libbpf-tools")
def test_waits_are_those_that_runqslower_prints() -> None:
    """Of two tasks that share a CPU: each that runqslower has is ours, as long as it says."""
    pair = hogs(2)
    with ended(*pair):
        tids = {hog.pid for hog in pair}
        chosen = [argument for hog in pair for argument in ("--tid", str(hog.pid))]
        command = [sys.executable, "-m", "schedtop", "waits", "--threshold", "1ms", "--format", "json", *chosen]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as ours:
            assert ours.stdout
            first = ours.stdout.readline()  # it is attached before the other one begins, and ends after it
            theirs = subprocess.run(
                ["timeout", "-s", "INT", "2", RUNQSLOWER or "", "2000"], capture_output=True, text=True, check=False
            )
            ended_at = datetime.now(UTC)
            found = [json.loads(first)]
            while datetime.fromisoformat(found[-1]["time"]) <= ended_at:
                found.append(json.loads(ours.stdout.readline()))
            ours.send_signal(signal.SIGINT)
            ours.stdout.read()
    printed = [line.split()[-2:] for line in theirs.stdout.splitlines()[2:]]
    wanted = [(int(tid), int(us)) for tid, us in printed if tid.isdecimal() and us.isdecimal() and int(tid) in tids]
    assert len(wanted) >= 5, theirs.stdout + theirs.stderr
    same = [any(wait["tid"] == tid and abs(wait["wait_ns"] / 1e3 - us) < 500 for wait in found) for tid, us in wanted]
    assert sum(same) >= 0.9 * len(wanted) - 1, (wanted, [(wait["tid"], wait["wait_ns"]) for wait in found])


OUTPUTS = {
    "snapshot": ("snapshot", "--interrupts", "--by", "process", "--duration", "1s"),
    "queue": ("snapshot", "--only", "queue", "--duration", "1s"),
    "offcpu": ("offcpu", "--duration", "1s", "--format", "json"),
    "task": ("task", "TID", "--duration", "1s", "--format", "json"),
    "activity": ("activity", "--duration", "1s", "--format", "json"),
}


@pytest.mark.beside
@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_of_the_real_kernel_keep_to_their_schemas(name: str) -> None:
    hog = hogs(1)
    with ended(*hog):
        words = [str(hog[0].pid) if word == "TID" else word for word in OUTPUTS[name]]
        done = subprocess.run([sys.executable, "-m", "schedtop", *words], capture_output=True, text=True, check=True)
    data = json.loads(done.stdout)
    schema = schema_of(data["schema"].removeprefix("schedtop.").partition("/")[0])
    assert [
        f"{error.json_path}: {error.message[:200]}" for error in Draft202012Validator(schema).iter_errors(data)
    ] == []
