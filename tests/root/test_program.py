"""Programs that `offcpu` and `task` start themselves: measured from the first instruction, and otherwise left alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from test_attacks_sudo import TELL, USER, sudo, theirs

pytestmark = pytest.mark.beside

__all__ = ["theirs"]  # a fixture

NS_PER_MS = 1_000_000
NAPS = (sys.executable, "-c", "import sys, time\nfor _ in range(20): time.sleep(0.005)\nsys.exit(5)")


def schedtop(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "schedtop", *arguments]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, **options)


def test_offcpu_of_a_program_has_all_of_its_waits_and_its_status(tmp_path: Path, front_end: str) -> None:
    out = tmp_path / "out.json"
    done = schedtop("offcpu", "--format", "json", "-o", str(out), "--source", front_end, "--", *NAPS)
    assert (done.returncode, done.stdout, done.stderr) == (5, "", "")
    data = json.loads(out.read_text())
    blocked = data["totals"]["blocked"]
    assert data["totals"]["by_state"]["sleeping"]["count"] >= 20
    assert blocked["total_ns"] == data["totals"]["blocked_ns"] >= 100 * NS_PER_MS and blocked["under_way"] == 0
    assert blocked["min_ns"] <= blocked["average_ns"] <= blocked["max_ns"] and blocked["max_ns"] >= 5 * NS_PER_MS
    (first,) = data["top_blocking"]
    name = Path(sys.executable).name
    assert first["comm"] == name and first["blocked_ns"] == blocked["total_ns"] and first["share"] == 1
    assert {row["comm"] for row in data["stacks"]} == {name}
    assert any("from its first instruction to its end" in note for note in data["notes"])


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_task_of_a_program_counts_the_calls_that_strace_counts(tmp_path: Path) -> None:
    words = ("cat", "/etc/hostname")
    out, truth = tmp_path / "out.json", tmp_path / "truth"
    done = schedtop("task", "--no-slow-waits", "--format", "json", "-o", str(out), "--", *words)
    assert (done.returncode, done.stdout) == (0, Path("/etc/hostname").read_text())
    subprocess.run(["strace", "-c", "-U", "name,calls,errors", "-o", truth, *words], capture_output=True, check=True)
    lines = [line.split() for line in truth.read_text().splitlines()[2:-2]]
    expected = {name: (int(calls), int(*errors or (0,))) for name, calls, *errors in lines}
    data = json.loads(out.read_text())
    counted = {one["name"]: (one["count"], sum(one["errors"].values())) for one in data["syscalls"]}
    counted.pop("exit_group", None)
    expected.pop("exit_group", None)
    assert counted == expected
    task = data["task"]
    assert (task["comm"], task["command_line"], task["ended"], task["exit_code"]) == ("cat", " ".join(words), True, 0)


def test_program_is_the_users_and_has_nothing_of_ours(theirs: Path) -> None:
    script = theirs / "tell.py"
    script.write_text(TELL + "print(open('/proc/self/autogroup').read())\n")
    environment = {**sudo(), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    words = (sys.executable, str(script), str(theirs / "told"))
    done = schedtop("offcpu", "-o", str(theirs / "out"), "--", *words, env=environment)
    assert done.returncode == 0, done.stderr
    told = json.loads((theirs / "told").read_text())
    assert set(told["Uid"]) == {str(USER.pw_uid)} and set(told["Gid"]) == {str(USER.pw_gid)}
    assert {int(told[name][0], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
    assert told["files"] == ["0", "1", "2", "3"] and told["nice"] == os.getpriority(os.PRIO_PROCESS, 0)
    assert told["environment"]["HOME"] == USER.pw_dir and "TOKEN" not in told["environment"]
    assert done.stdout == Path("/proc/self/autogroup").read_text() + "\n"
    assert (theirs / "out").stat().st_uid == USER.pw_uid


def test_signal_to_us_ends_the_program_and_the_report_is_written(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "schedtop", "offcpu", "-o", "out", "--", "sh", "-c", "touch begun; exec sleep 60"]
    process = subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=20)
    assert (process.returncode, error) == (128 + signal.SIGTERM, b"")
    text = (tmp_path / "out").read_text()
    assert "it was interrupted, and ended early" in text and "sleep" in text
