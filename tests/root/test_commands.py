"""The program as its users run it, on the real kernel: its output, its exit status, and what it leaves behind."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

import pytest
from loads import ended, python

SCHEDTOP = [sys.executable, "-m", "schedtop"]
OUR_PROGRAMS = ("sched_switch", "sched_waking", "tracepoint_sched")


def programs_loaded() -> int:
    """How many of our kernel programs the kernel holds."""
    listing = subprocess.run(["bpftool", "prog", "show"], capture_output=True, text=True, check=True).stdout
    return sum(any(f"name {name}" in line for name in OUR_PROGRAMS) for line in listing.splitlines())


def wait_for(condition, timeout_s: float = 30) -> bool:
    """Whether the condition comes true in time."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return bool(condition())


@pytest.fixture
def nothing_left():
    """Fails if the test leaves kernel programs behind."""
    before = programs_loaded()
    yield before
    assert wait_for(lambda: programs_loaded() == before)


def test_snapshot_of_contention(nothing_left, front_end) -> None:
    hogs = [python("import os; os.sched_setaffinity(0, {1})\nwhile True: pass") for _ in range(2)]
    with ended(*hogs):
        time.sleep(0.2)
        run = subprocess.run(
            [*SCHEDTOP, "snapshot", "--duration", "2s", "--threshold", "1ms", "--source", front_end],
            capture_output=True, check=True,
        )  # fmt: skip
    assert run.stderr == b""
    data = json.loads(run.stdout)
    assert data["schema"] == "schedtop.snapshot/1"
    assert data["source"] == front_end
    assert data["threshold_ns"] == 1_000_000
    assert [task["run_delay_ns"] for task in data["tasks"]] == sorted(
        (task["run_delay_ns"] for task in data["tasks"]), reverse=True
    )
    # Other load on this machine may wait longer, on other CPUs, too.
    on_their_cpu = [task for task in data["tasks"] if task["last_cpu"] == 1]
    delays = {task["tid"]: task["run_delay_ns"] for task in on_their_cpu[:5]}
    for hog in hogs:
        assert delays[hog.pid] > 0.2 * data["interval_ns"]
    pairs = {(pair["victim"]["tid"], pair["preemptor"]["tid"]) for pair in data["preemptions"]}
    assert (hogs[0].pid, hogs[1].pid) in pairs
    assert (hogs[1].pid, hogs[0].pid) in pairs
    assert data["totals"]["switches"] == sum(cpu["switches"] for cpu in data["cpus"])


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_snapshot_ends_on_a_signal(nothing_left, number: signal.Signals, status: int) -> None:
    process = subprocess.Popen([*SCHEDTOP, "snapshot", "--duration", "60s"], stdout=subprocess.PIPE)
    assert wait_for(lambda: programs_loaded() > nothing_left)
    process.send_signal(number)
    assert process.communicate(timeout=20)[0] == b""
    assert process.returncode == status


def test_a_killed_snapshot_leaves_nothing(nothing_left) -> None:
    # In a session of its own: it cannot give its priority back.
    command = [*SCHEDTOP, "snapshot", "--duration", "60s"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    assert wait_for(lambda: programs_loaded() > nothing_left)
    process.kill()
    assert process.wait(20) == -signal.SIGKILL


class Terminal:
    """A program in a terminal of its own; collects what it draws."""

    def __init__(self, command: list[str], columns: int = 100, lines: int = 30) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.before = termios.tcgetattr(slave)
        environment = os.environ | {"TERM": "xterm-256color"}
        environment.pop("NO_COLOR", None)
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
        )
        self.slave = slave
        self.drawn = b""
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        while True:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            self.drawn += data

    def type(self, keys: str) -> None:
        """Types keys."""
        os.write(self.master, keys.encode())

    @property
    def is_restored(self) -> bool:
        """Whether the modes are as before, the alternate screen is left, and the cursor shown."""
        return termios.tcgetattr(self.slave) == self.before and self.left_screen

    @property
    def left_screen(self) -> bool:
        """Whether the last word on the alternate screen and the cursor was to leave the one and show the other."""
        screen = re.findall(rb"\x1b\[\?1049([hl])", self.drawn)
        cursor = re.findall(rb"\x1b\[\?25([hl])", self.drawn)
        return bool(screen) and screen[-1] == b"l" and cursor[-1] == b"h"


@pytest.mark.parametrize(
    ("end", "status"),
    [("q", 0), ("\x03", 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)],
    ids=["q", "ctrl-c", "SIGTERM", "SIGHUP", "SIGINT"],
)
def test_dashboard_always_gives_the_terminal_back(nothing_left, end: str | signal.Signals, status: int) -> None:
    terminal = Terminal([*SCHEDTOP, "--interval", "0.2"])
    try:
        assert wait_for(lambda: programs_loaded() > nothing_left)
        assert wait_for(lambda: b"stress" in terminal.drawn or b"python" in terminal.drawn), terminal.drawn[-2000:]
        if isinstance(end, signal.Signals):
            terminal.process.send_signal(end)
        else:
            terminal.type(end)
        assert terminal.process.wait(20) == status
        assert wait_for(lambda: terminal.is_restored, 5), terminal.drawn[-500:]
        assert b"Traceback" not in terminal.drawn
    finally:
        terminal.process.kill()
        terminal.process.wait()


def test_a_killed_dashboard_leaves_no_programs(nothing_left) -> None:
    terminal = Terminal([*SCHEDTOP, "--interval", "0.2"])
    assert wait_for(lambda: programs_loaded() > nothing_left)
    terminal.process.kill()
    assert terminal.process.wait(20) == -signal.SIGKILL


def test_a_terminal_that_vanishes_ends_the_dashboard(nothing_left) -> None:
    """Without a SIGHUP to tell: it must not go on for nobody."""
    terminal = Terminal(["env", "--ignore-signal=HUP", *SCHEDTOP, "--interval", "0.2"])
    try:
        assert wait_for(lambda: programs_loaded() > nothing_left)
        assert wait_for(lambda: b"\x1b[?1049h" in terminal.drawn)
        os.close(terminal.slave)
        os.close(terminal.master)
        assert terminal.process.wait(20) == 129
    finally:
        terminal.process.kill()
        terminal.process.wait()


@pytest.mark.beside
def test_a_terminal_that_vanishes_while_it_is_resized_ends_the_dashboard() -> None:
    """As tmux does when it is killed. The framework then waits for a writer that has died, and hears no signal."""
    command = [*SCHEDTOP, "--source", "synthetic", "--interval", "0.2"]
    terminals = [Terminal(command) for _ in range(8)]
    try:
        for terminal in terminals:
            assert wait_for(lambda terminal=terminal: b"\x1b[?1049h" in terminal.drawn)
        time.sleep(1)
        for terminal in terminals:
            for step in range(1, 7):
                fcntl.ioctl(terminal.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24 + step, 80 + 7 * step, 0, 0))
                terminal.process.send_signal(signal.SIGWINCH)
            os.close(terminal.slave)
            os.close(terminal.master)
            terminal.process.send_signal(signal.SIGCONT)
        for terminal in terminals:
            assert terminal.process.wait(20) == 129
    finally:
        for terminal in terminals:
            terminal.process.kill()
            terminal.process.wait()


def test_capabilities_are_enough(nothing_left) -> None:
    """As user nobody with cap_bpf and cap_perfmon alone, through BTF: no root, no tracefs."""
    caps = "+bpf,+perfmon"
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    grant = [f"--inh-caps={caps}", f"--ambient-caps={caps}", f"--bounding-set=-all,{caps}"]
    command = [*user, *grant, *SCHEDTOP, "snapshot", "--duration", "1s", "--source", "btf"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if "Permission denied" in run.stderr or "No module named" in run.stderr:
        pytest.skip("the checkout is not readable for an ordinary user")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["totals"]["switches"] > 0
