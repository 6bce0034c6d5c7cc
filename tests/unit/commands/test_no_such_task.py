"""A number that no task has: the same mistake has the same exit status in each command that takes one."""

from pathlib import Path

import pytest

from tests.no_task import NO_TASK
from tests.unit.commands.running import run_in

NUMBER = str(NO_TASK)


@pytest.mark.parametrize(
    "arguments",
    [
        ["task", NUMBER],
        ["offcpu", "--pid", NUMBER],
        ["offcpu", "--tid", NUMBER],
        ["path", "--tid", NUMBER],
        ["snapshot", "--pid", NUMBER],
        ["record", "-o", "here.jsonl", "--tid", NUMBER],
    ],
    ids=lambda arguments: " ".join(arguments[:3]),
)
def test_a_number_that_no_task_has_is_bad_usage(arguments: list[str], tmp_path: Path) -> None:
    done = run_in(tmp_path, *arguments, timeout_s=60)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert f"there is no task {NUMBER}" in line
    assert not list(tmp_path.iterdir())
