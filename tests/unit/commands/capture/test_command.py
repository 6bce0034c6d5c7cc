"""`schedtop capture`: what is refused before anything is captured."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import schedtop


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "schedtop", "capture", *arguments],
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
        (["--duration", "70s"], "70s is outside of"),
        (["--duration", "10ms"], "outside of"),
        (["--buffer", "1KiB"], "outside of 4 KiB to 1 GiB"),
        (["--buffer", "much"], "is not a size"),
        (["-o", "-"], "needs a name"),
        (["-o", ""], "needs a name"),
        (["-o", "trace.json", "--format", "perfetto"], "ends like a chrome trace"),
        (["--source", "synthetic"], "'synthetic' is not one of"),
    ],
)
def test_bad_usage(arguments: list[str], words: str, tmp_path: Path) -> None:
    done = run(tmp_path, *arguments)
    assert done.returncode == 2
    assert words in done.stderr and len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("taken", ["trace.json", "trace.perfetto-trace"])
def test_an_existing_file_is_seen_before_the_work(taken: str, tmp_path: Path) -> None:
    (tmp_path / taken).write_text("mine")
    done = run(tmp_path, "-o", "trace")
    assert done.returncode == 1
    assert f"{taken}: it exists (--force overwrites it)" in done.stderr
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
