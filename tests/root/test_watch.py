"""`schedtop watch` under real contention: it fires when the kernel says that tasks wait, and records around it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from loads import ended, python
from scenarios import cgroup

from schedtop.base.units import NS_PER_S
from schedtop.sources.replay.recorded import Recording

pytestmark = pytest.mark.beside

WATCH = [sys.executable, "-m", "schedtop", "watch", "--interval", "0.5s"]
HOG = "import os; os.sched_setaffinity(0, {1})\nwhile True: pass"


NAME = f"stress{os.getpid()}"
"""Others may run `stress` at the same time."""


def stress(directory: Path) -> subprocess.Popen[bytes]:
    program = directory / NAME
    program.symlink_to(shutil.which("stress") or "stress")
    return subprocess.Popen(
        ["taskset", "-c", "1", str(program), "-c", "2"], stdout=subprocess.DEVNULL, start_new_session=True
    )


def end_group(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def first_line(watch: subprocess.Popen[str]) -> str:
    """What it says when it watches: the kernel programs are loaded."""
    assert watch.stderr
    return watch.stderr.readline()


def test_contention_fires_and_the_recording_holds_before_and_after(tmp_path: Path) -> None:
    conditions = ["--on", "p99(preemption) > 1ms for 2s", "--on", f"run_delay(comm:{NAME}) > 300ms/s for 2s"]
    then = ["--then", "record", "--then", "export", "--around", "4s", "--export-dir", str(tmp_path)]
    watch = subprocess.Popen(
        [*WATCH, *conditions, *then, "--count", "2", "--duration", "60s", "--cpu", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with ended(watch):
        assert "watching for" in first_line(watch)
        time.sleep(3)
        load = stress(tmp_path)
        try:
            output, _ = watch.communicate(timeout=90)
        finally:
            end_group(load)
    assert watch.returncode == 0
    fired = [line.split("\t") for line in output.splitlines()]
    assert any(f"run_delay(comm:{NAME})" in condition for _, condition, _ in fired)
    recordings = [Recording(path) for path in sorted(tmp_path.glob("*.rec.gz"))]
    assert recordings
    found = False
    for recording in recordings:
        with recording:
            frames = list(recording)
            for event in (one for one in recording.events if f"run_delay(comm:{NAME})" in one.text):
                found = True
                before = [frame for frame in frames if frame.end_ns <= event.end_ns - 2 * NS_PER_S]
                after = [frame for frame in frames if frame.end_ns > event.end_ns]
                # Before it held, the two had not waited; after it they wait on: half a second each a second.
                assert before
                assert after
                assert delay(frames, event.end_ns - 2 * NS_PER_S, event.end_ns) > 0.3
                assert frames[-1].end_ns >= event.end_ns + 3 * NS_PER_S
            assert recording.end is not None
    assert found
    exported = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    assert {data["trigger"]["condition"] for data in exported} <= {condition for _, condition, _ in fired}
    assert all(data["source"] in ("btf", "tracepoint") for data in exported)


def delay(frames: list, after_ns: int, until_ns: int) -> float:
    """The run delay of the load in the Frames that end then, in seconds a second."""
    chosen = [frame for frame in frames if after_ns < frame.end_ns <= until_ns]
    total = sum(int(frame.tasks["run_delay_ns"][frame.tasks["comm"] == NAME.encode()].sum()) for frame in chosen)
    return total / sum(frame.interval_ns for frame in chosen)


def test_watch_fires_no_trigger_without_its_condition(tmp_path: Path) -> None:
    run = subprocess.run(
        [*WATCH, "--on", "run_delay(comm:no-such-task) > 1ms/s", "--once", "--duration", "2s"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert run.returncode == 3
    assert run.stdout == ""


def test_watch_ends_on_a_signal_and_closes_its_recordings_and_commands(tmp_path: Path) -> None:
    watch = subprocess.Popen(
        [*WATCH, "--on", "switches > 1/s", "--then", "record", "--export-dir", str(tmp_path),
         "--then", f"run sh -c 'echo $$ > {tmp_path}/pid; exec sleep 1000'"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with ended(watch):
        assert watch.stdout
        assert "switches > 1/s" in watch.stdout.readline()
        deadline = time.monotonic() + 20
        while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        watch.send_signal(signal.SIGTERM)
        _, errors = watch.communicate(timeout=20)
    assert watch.returncode == 143
    assert "killed, schedtop ended" in errors
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()
    (path,) = tmp_path.glob("*.rec.gz")
    with Recording(path) as recording:
        assert recording.end is not None
        assert recording.end.reason == "stopped"


def test_a_task_of_its_own_name_and_the_commands_own_priority(tmp_path: Path) -> None:
    hogs = [python(HOG) for _ in range(2)]
    with ended(*hogs):
        run = subprocess.run(
            [*WATCH, "--on", f"run_delay(tid:{hogs[0].pid}) > 200ms/s", "--once", "--duration", "40s",
             "--then", f"run sh -c 'nice > {tmp_path}/nice'"],
            capture_output=True, text=True, timeout=90, check=False,
        )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert f"run_delay(tid:{hogs[0].pid})" in run.stdout
    assert int((tmp_path / "nice").read_text()) == os.getpriority(os.PRIO_PROCESS, 0)


def test_a_quota_that_is_used_up_fires_for_its_cgroup_by_name() -> None:
    with cgroup("schedtop-watch-quota", 0.2) as directory:
        hog = python(HOG)
        with ended(hog):
            (directory / "cgroup.procs").write_text(str(hog.pid))
            run = subprocess.run(
                [*WATCH, "--on", "throttled(schedtop-watch-quota) > 50% for 1s", "--once", "--duration", "40s"],
                capture_output=True, text=True, timeout=90, check=False,
            )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "throttled(schedtop-watch-quota) = " in run.stdout
