"""A real pseudo terminal that changes its size many times a second: at last it shows what a fresh drawing shows."""

from __future__ import annotations

import fcntl
import os
import pty
import random
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyte
import pytest

from tests import ROOT

PRIVATE = re.compile(
    rb"\x1b\[[<>=][\d;]*[a-zA-Z]|\x1b\[\?[\d;]*\$p|\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1bP[^\x1b]*\x1b\\"
)
"""Requests that pyte does not know and would print."""

LAST = (120, 40)


class Window:
    """A program in a pseudo terminal whose size changes, and what the emulator makes of its output."""

    def __init__(self, arguments: list[str], directory: Path) -> None:
        self.master, slave = pty.openpty()
        self.screen = pyte.Screen(*LAST)
        self._stream = pyte.ByteStream(self.screen)
        self._rest = b""
        self._set_size(*LAST)
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "schedtop", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=directory,
            env=environment | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        os.close(slave)

    def resize(self, columns: int, lines: int) -> None:
        """As a terminal does: it has the new size, and tells."""
        self._set_size(columns, lines)
        self.screen.resize(lines, columns)
        os.kill(self.process.pid, signal.SIGWINCH)

    def _set_size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def take(self, seconds: float, quiet_s: float | None = None) -> None:
        """Reads for a while; with `quiet_s` until nothing has come for so long."""
        end = time.monotonic() + seconds
        while (rest := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], min(rest, quiet_s or rest))[0]:
                if quiet_s:
                    return
                continue
            data = PRIVATE.sub(b"", self._rest + os.read(self.master, 1 << 16))
            cut = data.rfind(b"\x1b") if b"\x1b" in data[-40:] else len(data)
            self._rest = data[cut:]
            self._stream.feed(data[:cut])

    def wait_for(self, word: str) -> None:
        """Reads until the header has this word."""
        end = time.monotonic() + 30
        while word not in "\n".join(self.shown()[:4]):
            assert time.monotonic() < end, "\n".join(self.shown())
            self.take(0.1)

    def shown(self) -> list[str]:
        """The text on the terminal."""
        self._stream.feed(PRIVATE.sub(b"", self._rest))
        self._rest = b""
        return list(self.screen.display)


@contextmanager
def window(arguments: list[str], directory: Path) -> Iterator[Window]:
    opened = Window(arguments, directory)
    try:
        yield opened
    finally:
        opened.process.kill()
        opened.process.wait()
        os.close(opened.master)


PLACES = {
    "dashboard": b"",
    "palette": b":",
}


@pytest.mark.parametrize("times", [15, pytest.param(300, marks=pytest.mark.stress)])
@pytest.mark.parametrize("place", PLACES)
def test_a_terminal_that_is_resized_shows_what_a_fresh_drawing_shows(place: str, times: int, tmp_path: Path) -> None:
    chance = random.Random(place)
    with window(["--source", "synthetic"], tmp_path) as terminal:
        terminal.wait_for("LIVE")
        terminal.press(b" ")  # what arrives from here on changes the header alone
        terminal.wait_for("FROZEN")
        terminal.press(PLACES[place])
        terminal.take(0.5)
        for _ in range(times):
            terminal.resize(chance.randint(20, 300), chance.randint(5, 100))
            if chance.random() < 0.3:
                terminal.press(chance.choice([b"\x1b[B", b"\x1b[A", b"j"]))
            terminal.take(chance.choice([0, 0.002, 0.02, 0.06]))
        terminal.resize(*LAST)
        before = settled(terminal)
        assert terminal.process.poll() is None, "\n".join(before)
        terminal.resize(LAST[0] - 1, LAST[1])
        settled(terminal)
        terminal.screen.reset()
        terminal.screen.erase_in_display(2)
        terminal.resize(*LAST)
        assert settled(terminal) == before
        assert not any("Traceback" in line for line in before)


def settled(terminal: Window) -> list[str]:
    """What stands on the terminal once nothing changes; its fourth line tells how far behind it is.

    A loaded machine draws the last of many sizes late.
    """
    before, end = [""], time.monotonic() + 30
    while time.monotonic() < end:
        terminal.take(2)
        lines = [line.rstrip() for number, line in enumerate(terminal.shown()) if number != 3]
        if lines == before:
            return lines
        before = lines
    raise AssertionError("it never rests")


def test_the_header_goes_on_above_a_text(tmp_path: Path) -> None:
    """Whoever types the command of `v` sees there whether it has helped."""
    with window(["--source", "synthetic"], tmp_path) as terminal:
        terminal.wait_for("LIVE")
        terminal.press(b"v")
        end, told = time.monotonic() + 30, set()
        while len(told) < 3:
            assert time.monotonic() < end, "\n".join(terminal.shown())
            terminal.take(0.2)
            shown = "\n".join(terminal.shown())
            if "Esc closes" in shown:
                told.add(re.findall(r"\d\d:\d\d:\d\d", "\n".join(terminal.shown()[:4]))[-1])
        assert "Esc closes" in shown
