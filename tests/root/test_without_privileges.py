"""An ordinary user: everything opens, with what /proc tells; what needs privileges says so in one line."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time

import pytest
from loads import ended, kernel_numbers, python

from schedtop.model.frame import merge
from schedtop.sources.kernel.findings.repairs import schedtop_as_root
from schedtop.sources.proc.source import ProcSource
from schedtop.sources.scheduler.source import LiveSource

pytestmark = pytest.mark.beside

DROP = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
SCHEDTOP = [*DROP, sys.executable, "-m", "schedtop"]
CPU = 1


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as user nobody."""
    done = subprocess.run([*SCHEDTOP, *arguments], capture_output=True, text=True, check=False, timeout=60)
    if "Permission denied" in done.stderr or "No module named" in done.stderr:
        pytest.skip("the checkout is not readable for an ordinary user")
    return done


def test_a_snapshot_has_what_proc_tells() -> None:
    hog = python("while True: pass")
    with ended(hog):
        done = run("snapshot", "--duration", "0.5s")
    assert done.returncode == 0, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "without privileges" in done.stderr
    assert "sudo" in done.stderr
    data = json.loads(done.stdout)
    assert data["source"] == "proc"
    assert data["totals"]["busy_ratio"] > 0
    assert next(task for task in data["tasks"] if task["tid"] == hog.pid)["run_ns"] > 0
    assert data["slow_waits"] is None


@pytest.mark.parametrize(
    "arguments",
    [("capture", "--duration", "1s", "-o", "/tmp/never"), ("offcpu", "--duration", "1s"), ("task", "1")],
)
def test_commands_that_need_privileges_say_so(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert f"run `{schedtop_as_root()}`" in done.stderr
    assert "cap_bpf" in done.stderr


def test_a_condition_that_proc_cannot_measure_is_refused_at_once() -> None:
    done = run("watch", "--on", "p99 > 10ms")
    assert done.returncode == 2
    assert "p99 cannot be had from /proc, only run_delay, switches" in done.stderr
    assert run("watch", "--on", "run_delay > 0s/s", "--once", "--interval", "0.5s").returncode == 0


def test_the_dashboard_opens_and_says_what_it_lacks() -> None:
    """With its keys: off-CPU time and captures give a message, and q ends it."""
    environment = os.environ | {"TERM": "xterm-256color", "HOME": "/nonexistent", "LINES": "40", "COLUMNS": "120"}
    child, screen = pty.fork()
    if child == 0:
        os.execvpe(SCHEDTOP[0], SCHEDTOP, environment)
    try:
        shown = read_until(screen, b"without privileges")
        if b"Permission denied" in shown or b"No module named" in shown:
            pytest.skip("the checkout is not readable for an ordinary user")
        assert b"without privileges" in shown
        os.write(screen, b"o")
        assert b"off-CPU time: needs privileges" in read_until(screen, b"needs privileges")
        os.write(screen, b"q")
        read_until(screen, b"\0 never")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        child = 0
    finally:
        if child:
            os.kill(child, 9)
            os.waitpid(child, 0)
        os.close(screen)


def read_until(screen: int, wanted: bytes, timeout_s: float = 30) -> bytes:
    """What the program writes until it has written that (colours left out), it ends, or the time is over."""
    shown, deadline = b"", time.monotonic() + timeout_s
    while wanted not in shown and time.monotonic() < deadline:
        if select.select([screen], [], [], 0.1)[0]:
            try:
                piece = os.read(screen, 65536)
            except OSError:
                break
            shown = re.sub(rb"\x1b\[[0-9;]*m", b"", shown + piece)
    return shown


def test_proc_and_kernel_agree_on_whole_lives() -> None:
    """Contended tasks, by the kernel programs and by /proc at once."""
    stop, taken = threading.Event(), {}

    def collect(name: str, source: LiveSource | ProcSource) -> None:
        taken[name] = merge(list(source.frames(stop)))

    interval_ns = 500_000_000
    with LiveSource(interval_ns, 5_000_000) as live, ProcSource(interval_ns, 5_000_000) as proc:
        threads = [threading.Thread(target=collect, args=pair) for pair in (("btf", live), ("proc", proc))]
        for thread in threads:
            thread.start()
        time.sleep(1)
        spin = f"import os\nos.sched_setaffinity(0, {{{CPU}}})\nwhile True: pass"
        with ended(*(hogs := [python(spin), python(spin)])):
            time.sleep(1)
            for hog in hogs:
                os.kill(hog.pid, signal.SIGSTOP)
            time.sleep(1.2)
            truth = {hog.pid: kernel_numbers(hog.pid) for hog in hogs}
            stop.set()
            for thread in threads:
                thread.join()
    for tid, kernel in truth.items():
        rows = {name: frame.tasks[frame.tasks["tid"] == tid][0] for name, frame in taken.items()}
        proc_row = rows["proc"]
        assert int(proc_row["run_ns"]) == kernel.run_ns
        assert int(proc_row["run_delay_ns"]) == kernel.run_delay_ns
        assert int(proc_row["timeslices"]) == kernel.timeslices
        assert (int(proc_row["voluntary_switches"]), int(proc_row["involuntary_switches"])) == (
            kernel.voluntary,
            kernel.involuntary,
        )
        assert rows["btf"]["run_delay_ns"] == pytest.approx(kernel.run_delay_ns, rel=0.03)
        for name in ("timeslices", "voluntary_switches", "involuntary_switches"):
            assert abs(int(rows["btf"][name]) - int(proc_row[name])) <= 2
