"""Real tasks with hostile names in a real group with one: through the collector, the commands and the screen."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from loads import kernel_numbers

from schedtop.model.rows import text
from schedtop.sources.host.cgroups import cpu_hierarchy, read_mounts
from tests.hostile import COMMS, steering, strings

pytestmark = pytest.mark.beside

SCHEDTOP = [sys.executable, "-m", "schedtop"]
LOADS = Path(__file__).with_name("hostile_loads.py")
CPU = str(max(os.sched_getaffinity(0)))
GROUP = b"schedtop-%d-\x1b[31m[red]\xc2\x9b5m\xff\x0c0::evil" % os.getpid()
PAYLOADS = (b"\x1b]0;pwn", b"\x1b[31mRED", b"\x9b5m", b"\xc2\x9b3", "\u202e".encode(), b"pwn\x07", b"\xc2\x85")
"""Bytes of names that must come out nowhere; the program itself sends none of them."""


@contextmanager
def load(kind: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """The load, running."""
    command = [sys.executable, str(LOADS), kind, CPU, *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout
            if not process.stdout.readline():
                assert process.stderr
                pytest.skip(process.stderr.read().decode("utf-8", "replace").strip())
            yield process
        finally:
            assert process.stdin
            process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def hostile_tasks() -> Iterator[None]:
    """One task of each name, all on one CPU and in one group."""
    root = cpu_hierarchy(read_mounts())
    assert root
    group = os.fsencode(root) + b"/" + GROUP
    os.mkdir(group)
    try:
        with load("names", *(comm.split(b"\0")[0].hex() for comm in COMMS)) as process:
            found = subprocess.run(["pgrep", "-g", str(process.pid)], capture_output=True, check=True)
            for pid in found.stdout.split():
                Path(os.fsdecode(group), "cgroup.procs").write_bytes(pid)
            yield
    finally:
        for _ in range(100):
            with suppress(OSError):
                os.rmdir(group)
                break
            time.sleep(0.05)


def test_a_snapshot(hostile_tasks: None) -> None:
    command = ["snapshot", "--duration", "0.5s", "--threshold", "1ms", "--format", "json", "--tasks", "all"]
    run = subprocess.run([*SCHEDTOP, *command, "--group", "cgroup"], capture_output=True, check=True)
    out = run.stdout.decode()
    assert not steering(out)
    assert run.stderr == b""
    data = json.loads(out)
    assert not any(steering(found.replace("\n", "")) for found in strings(data))
    seen = {task["comm"] for task in data["tasks"]}
    assert len(seen & {text(comm) for comm in COMMS}) >= len(set(map(text, COMMS))) - 2
    groups = {task["cgroup"] for task in data["tasks"] if task["comm"] == "[red]R[/red]"}
    assert groups == {f"/{text(GROUP)}"}


def test_a_recording_and_its_report(hostile_tasks: None, tmp_path: Path) -> None:
    path = tmp_path / "hostile.rec.gz"
    subprocess.run(
        [*SCHEDTOP, "record", "--duration", "0.5s", "--interval", "0.25s", "-o", path], capture_output=True, check=True
    )
    words = ["report", path, "--format", "csv", "--table", "tasks"]
    out = subprocess.run([*SCHEDTOP, *words], capture_output=True, check=True).stdout.decode()
    assert not steering(out)
    assert "[red]R[/red]" in out
    assert "'=cmd" in out


def test_the_dashboard(hostile_tasks: None) -> None:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    command = [*SCHEDTOP, "--interval", "0.3", "--threshold", "1ms", "--no-config"]
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment) as process:
        out = b""
        keys = [b"5", b"g", b"g", b"3", b"\t", b"i", b"\x1b", b"v", b"\x1b", b"q"]
        next_s = time.monotonic() + 2
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if select.select([master], [], [], 0.1)[0]:
                out += os.read(master, 1 << 16)
            if keys and time.monotonic() > next_s and b"R[/red]" in out:
                os.write(master, keys.pop(0))
                next_s = time.monotonic() + 0.3
        process.kill()
    os.close(master)
    os.close(slave)
    assert b"R[/red]" in out, "a name is shown, and is no markup"
    for payload in PAYLOADS:
        assert payload not in out, payload


PID_MAX = Path("/proc/sys/kernel/pid_max")
LARGEST = 4_194_303


@pytest.fixture
def four_million() -> Iterator[None]:
    """As many tids as a kernel can have; those that are given in order stay the small ones."""
    before = PID_MAX.read_text()
    try:
        PID_MAX.write_text(str(LARGEST + 1))
    except OSError as error:
        pytest.skip(f"pid_max cannot be raised: {error.strerror}")
    yield
    PID_MAX.write_text(before)


def is_stopped(tid: int) -> bool:
    return Path(f"/proc/{tid}/stat").read_bytes().rpartition(b") ")[2].startswith(b"T")


def test_the_largest_tids_are_exact(front_end: str, collect, four_million: None) -> None:
    tids = [LARGEST, LARGEST - 1]
    with ExitStack() as stack, collect(front_end) as collector:
        stack.enter_context(load("tids", *map(str, tids)))
        time.sleep(1)
        for tid in tids:
            os.kill(tid, signal.SIGSTOP)
        # On a busy host a task takes a while until it has the CPU on which it stops.
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and not all(is_stopped(tid) for tid in tids):
            time.sleep(0.02)
        numbers = {tid: kernel_numbers(tid) for tid in tids}
    rows = collector.frame.tasks
    for tid in tids:
        row = rows[rows["tid"] == tid]
        assert len(row) == 1
        assert int(row["timeslices"][0]) == numbers[tid].timeslices
        assert int(row["run_delay_ns"][0]) == pytest.approx(numbers[tid].run_delay_ns, rel=0.05, abs=20_000_000)
        assert int(row["tgid"][0]) == tid
