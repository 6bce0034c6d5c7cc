"""Every way to end: the status, the message, the terminal. In a process of its own on a pseudo terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from schedtop.model.source import SourceError
from schedtop.ui.app import SchedtopApp
from tests import ROOT
from tests.unit.panes.screen import text
from tests.unit.ui.drive import GivenSource, collected, until

PROGRAM = """
import sys, time
from dataclasses import replace
from schedtop.model.source import SourceError
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from schedtop.ui.app import run

class Source(SyntheticSource):
    def frames(self, stop):
        for number, frame in enumerate(super().frames(stop)):
            if {mode!r} == "fails" and number == 3:
                raise SourceError("the kernel took it away: [bold]why[/bold]")
            if {mode!r} == "breaks" and number == 3:
                raise ZeroDivisionError("by zero")
            yield frame

if {mode!r} == "crashes":
    from schedtop.ui.screens.dashboard.screen import Dashboard
    Dashboard.end = lambda self: 1 // 0
    Source.frames = lambda self, stop: iter(())

with Source(Scenario(), pace_s=0.05) as source:
    status = run(source)
print("closed with", status)
sys.exit(status)
"""

LEAVE_SCREEN = b"\x1b[?1049l"
SHOW_CURSOR = b"\x1b[?25h"


class Terminal:
    """The program on a pseudo terminal."""

    def __init__(self, mode: str = "", size: tuple[int, int] = (80, 24), errors: int | None = None) -> None:
        """`errors` is a descriptor for standard error instead of the terminal."""
        self.output = b""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.before = termios.tcgetattr(slave)
        environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(mode=mode)],
            stdin=slave,
            stdout=slave,
            stderr=slave if errors is None else errors,
            env=environment,
            start_new_session=True,
        )
        self._slave = slave

    def read_until(self, wanted: bytes | Callable[[], bool], timeout_s: float = 20) -> None:
        """Reads what it writes until something appears or happens."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if wanted in self.output if isinstance(wanted, bytes) else wanted():
                return
            if select.select([self.master], [], [], 0.05)[0]:
                self.output += os.read(self.master, 1 << 16)
        raise AssertionError(f"{wanted!r} did not come: {self.output[-2000:]!r}")

    def end(self) -> int:
        """Waits for the end; checks that the terminal is as it was."""
        self.read_until(lambda: self.process.poll() is not None)
        while select.select([self.master], [], [], 0.05)[0]:
            self.output += os.read(self.master, 1 << 16)
        assert LEAVE_SCREEN in self.output
        assert SHOW_CURSOR in self.output
        assert termios.tcgetattr(self._slave) == self.before
        os.close(self.master)
        os.close(self._slave)
        return self.process.returncode

    @property
    def after_screen(self) -> str:
        """What it wrote after it had left the screen."""
        return self.output.rpartition(LEAVE_SCREEN)[2].decode()


def test_standard_error_may_go_to_a_file(tmp_path: Path) -> None:
    with (tmp_path / "errors").open("wb") as errors:
        terminal = Terminal("fails", errors=errors.fileno())
        assert terminal.end() == 1
    assert (tmp_path / "errors").read_text() == "schedtop: the kernel took it away: [bold]why[/bold]\n"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_signals_restore_the_terminal(number: signal.Signals, status: int) -> None:
    terminal = Terminal()
    terminal.read_until(b"LIVE")
    terminal.process.send_signal(number)
    assert terminal.end() == status
    assert f"closed with {status}" in terminal.after_screen
    assert "Traceback" not in terminal.after_screen


@pytest.mark.parametrize(("keys", "status"), [(b"q", 0), (b"\x03", 130), (b"f\x03", 130), (b"?q\x1b\x03", 130)])
def test_keys_that_end(keys: bytes, status: int) -> None:
    terminal = Terminal()
    terminal.read_until(b"LIVE")
    for key in keys:
        os.write(terminal.master, bytes([key]))
        time.sleep(0.1)
    assert terminal.end() == status


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("fails", "schedtop: the kernel took it away: [bold]why[/bold]"),
        ("breaks", "schedtop: collecting failed: ZeroDivisionError: by zero"),
    ],
)
def test_source_that_fails_says_so_in_one_line(mode: str, message: str) -> None:
    terminal = Terminal(mode)
    assert terminal.end() == 1
    assert message in terminal.after_screen
    assert "Traceback" not in terminal.after_screen


def test_an_error_of_our_own_shows_no_source_code_and_is_raised_again() -> None:
    terminal = Terminal("crashes")
    assert terminal.end() == 1
    assert terminal.after_screen.rstrip().endswith("ZeroDivisionError: integer division or modulo by zero")
    assert "locals" not in terminal.after_screen
    assert "closed with" not in terminal.after_screen


def test_suspended_and_brought_back() -> None:
    terminal = Terminal()
    terminal.read_until(b"LIVE")
    os.write(terminal.master, b"\x1a")
    terminal.read_until(lambda: _state(terminal.process.pid) == "T")
    terminal.read_until(LEAVE_SCREEN)
    terminal.output = b""
    terminal.process.send_signal(signal.SIGCONT)
    terminal.read_until(b"LIVE")
    assert b"\x1b[?1049h" in terminal.output
    # These never change: only a whole repaint brings them back.
    terminal.read_until(b"Latency over time")
    terminal.read_until(b" Quit")
    os.write(terminal.master, b"q")
    assert terminal.end() == 0


def test_the_screen_is_cleared_before_it_is_left() -> None:
    """tmux puts what is left of it above the shell's lines when the window has grown meanwhile."""
    terminal = Terminal()
    terminal.read_until(b"LIVE")
    os.write(terminal.master, b"q")
    assert terminal.end() == 0
    drawn = terminal.output.partition(LEAVE_SCREEN)[0].rpartition(b"\x1b[2J")[2]
    assert re.fullmatch(rb"(\x1b\[[?<]?[\d;]*[a-zA-Z])*", drawn)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


def test_missing_terminal_is_reported() -> None:
    check = "from schedtop.ui.terminal.terminal import check_terminal; print(check_terminal())"
    piped = subprocess.run(
        [sys.executable, "-c", check],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert "not a terminal" in piped.stdout
    assert len(piped.stdout.splitlines()) == 1


async def test_error_in_the_thread_ends_the_app() -> None:
    source = GivenSource()
    app = SchedtopApp(source)
    async with app.run_test() as pilot:
        await collected(pilot, source, 2)
        assert "LIVE" in text(app)
        source.put(SourceError("gone"))
        await until(pilot, lambda: not app.is_running)
    assert (app.return_code, app.failure) == (1, "gone")
    assert app.wait_for_source()


async def test_no_color_is_obeyed() -> None:
    # The framework reads the variable at its import; here only that everything is legible without colour is checked:
    # every mark that has a colour has a word or sign too.
    source = GivenSource(steal_ratio=0.4)
    app = SchedtopApp(source)
    async with app.run_test(size=(120, 40)) as pilot:
        await collected(pilot, source, 30)
        screen = text(app)
        assert "!! very high" in screen
        assert "wakeup" in screen
        assert "preempt" in screen
