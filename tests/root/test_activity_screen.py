"""The activity screen in a real terminal, on a process with known calls; nothing of it stays in the kernel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from loads import ended, python
from test_offcpu_screen import dashboard, gone, loaded, programs_of

pytestmark = pytest.mark.beside

NAME = "opens-nothing"

CALLER = """
import os, sys, time
open("/proc/self/comm", "w").write(sys.argv[1])
while True:
    try: os.open("/nonexistent", os.O_RDONLY)
    except OSError: pass
    time.sleep(0.01)
"""


def test_activity_screen_shows_a_process_and_its_calls_and_detaches(tmp_path: Path) -> None:
    caller = python(CALLER, NAME)
    with ended(caller), dashboard(tmp_path) as terminal:
        before = programs_of(terminal.pid)
        terminal.press("a")
        terminal.until(lambda screen: "1 Activity" in screen and "LIVE" in screen, "the screen")
        added = programs_of(terminal.pid) - before
        assert added and all(map(loaded, added)), "its programs are in the kernel while it is open"
        terminal.press("f")
        terminal.until(lambda screen: "Enter keeps" in screen, "the filter line")
        terminal.press(NAME)
        terminal.press("Enter")
        row = re.compile(rf"{NAME} +{caller.pid} ")
        terminal.until(row.search, "the process")
        terminal.press("Down")
        # One every 10 ms and more.
        calls = re.compile(r"openat +([\d.]+) ")
        terminal.until(lambda screen: f"of process {caller.pid}" in screen and calls.search(screen), "its calls")
        found = calls.search(terminal.screen())
        assert found and 10 <= float(found[1]) <= 101
        terminal.press("Enter")
        terminal.until(lambda screen: "● TASK" in screen and f"({caller.pid})" in screen, "the task view")
        terminal.press("q")
        terminal.until(lambda screen: "1 Activity" in screen, "the activity screen again")
        terminal.press("a")
        terminal.until(lambda screen: "Tasks" in screen, "the dashboard")
        assert gone(added)
        assert programs_of(terminal.pid) == before
