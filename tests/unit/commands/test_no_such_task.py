"""A number that no task has: the same mistake has the same exit status in each command that takes one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import schedtop

NUMBER = "4194304"
"""PID_MAX_LIMIT (include/linux/threads.h): no task has it."""


@pytest.mark.parametrize(
    "arguments",
    [
        ["task", NUMBER],
        ["offcpu", "--pid", NUMBER],
        ["offcpu", "--tid", NUMBER],
        ["snapshot", "--pid", NUMBER],
        ["record", "-o", "here.jsonl", "--tid", NUMBER],
    ],
    ids=lambda arguments: " ".join(arguments[:3]),
)
def test_a_number_that_no_task_has_is_bad_usage(arguments: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "schedtop", *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(schedtop.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert f"there is no task {NUMBER}" in line
    assert not list(tmp_path.iterdir())
