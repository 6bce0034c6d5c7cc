"""The path screen in a real terminal, on a blocked thread with a known answer; nothing of it stays in the kernel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest
from test_offcpu_screen import dashboard, gone, loaded, programs_of
from test_path import Started, favoured, hogs

NICE = 1


@pytest.fixture
def mutex(tmp_path: Path) -> Iterator[Started]:
    """chains.c: `late` wants a mutex whose holder computes for 40 ms of CPU time on CPU 1."""
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if not compiler:
        pytest.skip("there is no C compiler")
    built = tmp_path / "chains"
    subprocess.run([compiler, "-O1", "-pthread", "-o", built, Path(__file__).with_name("chains.c")], check=True)
    process = subprocess.Popen([built, "mutex"], stdout=subprocess.PIPE, cwd=tmp_path)
    try:
        yield Started(process)
    finally:
        process.kill()
        process.wait()


def test_a_blocked_thread_leads_to_the_holder_behind_hogs(mutex: Started, tmp_path: Path) -> None:
    """Their weights are 1024 to 820 each, so the holder waits for two thirds of the time."""
    tid = mutex.late
    with hogs(3) as others, favoured("path-screen", mutex.process, *others):
        for other in others:
            os.setpriority(os.PRIO_PROCESS, other.pid, NICE)
        with dashboard(tmp_path, "--tid", str(tid)) as terminal:
            terminal.press("o")
            line = re.compile(rf"late +{tid} ")
            terminal.until(lambda screen: "Off-CPU time" in screen and line.search(screen), "the thread")
            before = programs_of(terminal.pid)
            terminal.press("Down")
            terminal.press("P")
            terminal.until(lambda screen: "1 Profile" in screen and "LIVE" in screen, "the path")
            assert f"late ({tid})" in terminal.screen()
            added = programs_of(terminal.pid) - before
            assert added and all(map(loaded, added)), "its programs are in the kernel while it is open"
            # What else the machine does has that CPU now and then, maybe most at first.
            behind = f"(nice {NICE}, pinned to CPU 1)"
            screen = terminal.until(lambda screen: behind in " ".join(screen.split()), "the inversion")
            words = " ".join(screen.split())
            assert "Priority inversion: holder" in words and "holds what late" in words
            assert "is itself queued behind python" in words
            assert re.search(r"blocked in futex, until woken by holder \(\d+\)", screen)
            # The worst episodes: in each the holder computed for 40 ms, in turns.
            running = re.compile(r"([\d.]+) ms \S+ . [├└] running")
            found = running.findall(terminal.until(lambda screen: len(running.findall(screen)) >= 3, "episodes"))
            assert median(map(float, found)) == pytest.approx(40, rel=0.1)
            terminal.press("Escape")
            terminal.until(lambda screen: "Off-CPU time" in screen, "the off-CPU screen")
            assert gone(added)
            assert programs_of(terminal.pid) == before
