"""The dashboard's off-CPU screen in a real terminal: who is held up where, and nothing of it stays in the kernel."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from loads import ended, python

pytestmark = pytest.mark.beside

ROOT = Path(__file__).resolve().parents[2]
NAME = "held-by-flock"

TAKER = """
import ctypes, fcntl, sys, time
ctypes.CDLL(None).prctl(15, sys.argv[2].encode(), 0, 0, 0)
with open(sys.argv[1], "w") as file:
    while True:
        fcntl.flock(file, fcntl.LOCK_EX)
        time.sleep(float(sys.argv[3]))
        fcntl.flock(file, fcntl.LOCK_UN)
        # The one who waits shall get it.
        time.sleep(0.01)
"""


class Tmux:
    """The dashboard in a terminal of its own."""

    def __init__(self, directory: Path, *options: str) -> None:
        self._socket = str(directory / "tmux")
        command = [sys.executable, "-m", "schedtop", "--export-dir", str(directory), *options]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self._run("-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "50", *command, env=environment)
        self.pid = int(self._run("display-message", "-p", "#{pane_pid}"))

    def _run(self, *arguments: str, env: dict[str, str] | None = None) -> str:
        command = ["tmux", "-S", self._socket, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout

    def screen(self) -> str:
        return self._run("capture-pane", "-p")

    def press(self, key: str) -> None:
        self._run("send-keys", key)

    def until(self, condition: Callable[[str], object], what: str) -> str:
        """Waits until the screen is so."""
        deadline = time.monotonic() + 40
        while time.monotonic() < deadline:
            if condition(screen := self.screen()):
                return screen
            time.sleep(0.1)
        pytest.fail(f"{what} does not come:\n{self.screen()}")

    def close(self) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], check=False, capture_output=True)


@contextmanager
def dashboard(directory: Path, *options: str) -> Iterator[Tmux]:
    if not shutil.which("tmux"):
        pytest.skip("there is no tmux")
    terminal = Tmux(directory, *options)
    try:
        terminal.until(lambda screen: "LIVE" in screen and "Tasks" in screen, "the dashboard")
        yield terminal
    finally:
        terminal.close()


def programs_of(pid: int) -> set[int]:
    """The ids of the BPF programs that a process keeps in the kernel, by descriptors of programs and of links."""
    found: set[int] = set()
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            found.update(map(int, re.findall(r"^prog_id:\s*(\d+)$", path.read_text(), re.MULTILINE)))
        except OSError:
            continue
    return found


def loaded(program: int) -> bool:
    """Whether the kernel has a program of this id."""
    return (
        subprocess.run(["bpftool", "prog", "show", "id", str(program)], check=False, capture_output=True).returncode
        == 0
    )


def gone(programs: set[int]) -> bool:
    """Whether the kernel has none of them any more; it frees them a little later."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if not any(map(loaded, programs)):
            return True
        time.sleep(0.1)
    return False


def test_offcpu_screen_shows_blocked_threads_and_detaches(tmp_path: Path) -> None:
    lock = str(tmp_path / "lock")
    holder = python(TAKER, lock, "lock-holder", "0.2")
    victim = python(TAKER, lock, NAME, "0.001")
    with ended(holder, victim), dashboard(tmp_path) as terminal:
        before = programs_of(terminal.pid)
        assert before
        terminal.press("o")
        terminal.until(lambda screen: "Off-CPU time" in screen, "the screen")
        terminal.press("f")
        terminal.until(lambda screen: "Enter keeps" in screen, "the filter line")
        terminal.press(NAME)
        # On a busy host what was lost takes its place in the header.
        terminal.until(lambda screen: f"filter comm:{NAME}" in screen or "1 Threads · 1 of " in screen, "the filter")
        terminal.press("Enter")
        line = re.compile(rf"{NAME} +{victim.pid} .* file lock ")
        terminal.until(lambda screen: line.search(screen) and "blocked" in screen, "the thread")
        added = programs_of(terminal.pid) - before
        assert added and all(map(loaded, added)), "its programs are in the kernel while it is open"
        terminal.press("Down")
        screen = terminal.until(lambda screen: f"of {NAME} ({victim.pid})" in screen, "its stacks")
        assert "sleeping in file lock" in screen and "locks_lock_inode_wait" in screen
        terminal.press("e")
        terminal.until(lambda screen: "Exported" in screen, "the files")
        _check_files(tmp_path, victim.pid)
        terminal.press("q")
        terminal.until(lambda screen: "Tasks" in screen, "the dashboard")
        assert gone(added)
        assert programs_of(terminal.pid) == before


def _check_files(directory: Path, tid: int) -> None:
    endings = ("svg", "folded", "json")
    svg, folded, data = (next(directory.glob(f"schedtop-*.offcpu.{ending}")) for ending in endings)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in (svg, folded, data))
    assert "locks_lock_inode_wait_[k]" in svg.read_text() and f"{NAME}-{tid}" in svg.read_text()
    assert all(f";{NAME}-{tid};" in line for line in folded.read_text().splitlines())
    (thread,) = json.loads(data.read_text())["threads"]
    assert (thread["tid"], thread["comm"]) == (tid, NAME)
    # It has the lock for a millisecond and rests for ten; the holder has it for 200 ms.
    assert thread["blocked"]["total_ns"] > 0.5 * json.loads(data.read_text())["duration_ns"]


def test_a_signal_while_it_is_open_detaches(tmp_path: Path) -> None:
    with dashboard(tmp_path) as terminal:
        before = programs_of(terminal.pid)
        terminal.press("o")
        terminal.until(lambda screen: "Off-CPU time" in screen and "blocked " in screen, "a measurement")
        every = programs_of(terminal.pid)
        assert every > before
        os.kill(terminal.pid, signal.SIGTERM)
        assert gone(every)
