"""`schedtop path`: what is refused before anything is recorded."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import schedtop


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "schedtop", "path", *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(Path(schedtop.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--duration", "2h"], "outside of"),
        (["--min", "soon"], "not a duration"),
        (["--format", "png"], "'png' is not one of"),
        (["--pid", "0"], "from 1 on"),
        (["--pid", "999999999"], "there is no task 999999999"),
        (["--comm", ""], "empty"),
        (["--comm", "longer than the kernel keeps"], "15 bytes"),
    ],
)
def test_bad_usage(arguments: list[str], words: str, tmp_path: Path) -> None:
    done = run(tmp_path, *arguments)
    assert done.returncode == 2
    assert words in done.stderr and len(done.stderr.splitlines()) == 1


def test_an_existing_file_is_seen_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    done = run(tmp_path, "-o", "out")
    assert done.returncode == 1 and "--force" in done.stderr
    assert (tmp_path / "out").read_text() == "mine"


def test_a_thread_is_no_process(tmp_path: Path) -> None:
    going_on = threading.Event()
    thread = threading.Thread(target=going_on.wait)
    thread.start()
    try:
        done = run(tmp_path, "--pid", str(thread.native_id))
    finally:
        going_on.set()
    assert done.returncode == 2
    assert f"is a thread of process {os.getpid()}: use --tid" in done.stderr and len(done.stderr.splitlines()) == 1
