"""The task view in the real dashboard, in a real terminal: a known program's calls, and nothing left in the kernel."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from loads import ended, python

pytestmark = pytest.mark.beside

ROOT = Path(__file__).resolve().parents[2]
NAME = "taskprey"

PREY = f"""
import os, signal, time
signal.alarm(60)
os.sched_setaffinity(0, {{1}})
open("/proc/self/comm", "w").write("{NAME}")
while True:
    os.getppid()
    for _ in range(5): os.access("/nowhere/at/all", os.R_OK)
    time.sleep(0.01)
"""


class Terminal:
    """The dashboard in tmux, 160x50."""

    def __init__(self, socket: Path, *options: str) -> None:
        self._tmux = ["tmux", "-S", str(socket)]
        command = ["env", "-u", "COLUMNS", "-u", "LINES", sys.executable, "-m", "schedtop", "--comm", NAME, *options]
        self._run("-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "50", *command)
        self.pid = int(self._run("list-panes", "-F", "#{pane_pid}"))

    def _run(self, *words: str) -> str:
        done = subprocess.run([*self._tmux, *words], capture_output=True, text=True, check=True, cwd=ROOT)
        return done.stdout.strip()

    def press(self, *keys: str) -> None:
        for key in keys:
            self._run("send-keys", key)
            time.sleep(0.3)

    @property
    def text(self) -> str:
        return self._run("capture-pane", "-p")

    def until(self, condition: Callable[[], object], timeout_s: float = 30) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < deadline, self.text
            time.sleep(0.1)

    def programs(self) -> set[int]:
        """The ids of the kernel programs that the process holds."""
        found = set()
        for entry in Path(f"/proc/{self.pid}/fdinfo").iterdir():
            with suppress(OSError):
                if match := re.search(r"^prog_id:\s*(\d+)$", entry.read_text(), re.MULTILINE):
                    found.add(int(match[1]))
        return found

    def close(self) -> None:
        with suppress(subprocess.CalledProcessError):
            self._run("kill-server")


def is_loaded(program: int) -> bool:
    return not subprocess.run(
        ["bpftool", "prog", "show", "id", str(program)], capture_output=True, check=False
    ).returncode


@contextmanager
def watched(tmp_path: Path) -> Iterator[Terminal]:
    """The known program beside two busy loops on CPU 1, and the dashboard with the task view open on it."""
    load = subprocess.Popen(
        ["taskset", "-c", "1", "stress", "-c", "2", "-t", "60"], stdout=subprocess.DEVNULL, start_new_session=True
    )
    terminal = None
    try:
        with ended(python(PREY)):
            terminal = Terminal(tmp_path / "tmux")
            shown = terminal
            shown.until(lambda: NAME in shown.text)
            shown.press("5", "Down")
            yield shown
    finally:
        os.killpg(load.pid, signal.SIGKILL)
        load.wait()
        if terminal is not None:
            terminal.close()


def rates(screen: str) -> dict[str, float]:
    """Calls a second by name."""
    return {words[0]: float(words[1]) for words in re.findall(r"│ (\w+) +([\d.]+) +[\d.]+ [nµm]?s", screen)}


@pytest.mark.skipif(not shutil.which("tmux"), reason="needs tmux: a real terminal")
def test_the_task_shows_a_known_programs_calls_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with watched(tmp_path) as terminal:
        before = terminal.programs()
        assert before
        terminal.press("Enter")
        terminal.until(lambda: "since opened: 2" in terminal.text)
        during = terminal.programs() - before
        assert during and all(map(is_loaded, during))
        # The first sleep ends a moment after the first calls of its turn.
        terminal.until(lambda: all(rates(terminal.text).get(name) for name in ("getppid", "clock_nanosleep")))
        screen = terminal.text
        calls = rates(screen)
        # Per turn: one getppid, five that fail, one sleep.
        failing = next(name for name in calls if "access" in name)
        assert calls[failing] == pytest.approx(5 * calls["getppid"], rel=0.1)
        assert calls["clock_nanosleep"] == pytest.approx(calls["getppid"], rel=0.1)
        assert "sleeping" in screen and "waits for CPU" in screen
        terminal.press("Escape")
        terminal.until(lambda: "LIVE" in terminal.text and terminal.programs() == before)
        # The kernel frees a program a moment after its last user.
        terminal.until(lambda: not any(map(is_loaded, during)))

        terminal.press("Enter")
        terminal.until(lambda: terminal.programs() > before)
        left = terminal.programs()
        os.kill(terminal.pid, 15)
        deadline = time.monotonic() + 20
        while any(map(is_loaded, left)):
            assert time.monotonic() < deadline
            time.sleep(0.1)
