"""Commands that take a program behind `--`: what they refuse, before anything is attached or started."""

from pathlib import Path

import pytest

from tests.unit.commands.running import run_in


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["task"], "give a TID, a program behind --, or --cgroup"),
        (["task", "1", "--", "touch", "here"], "give a TID, a program behind --, or --cgroup"),
        (["task", "1", "touch"], "unexpected extra argument (touch); a program stands behind --"),
        (["task", "--"], "there is no program behind --"),
        (["task", "--thread", "--", "touch", "here"], "--thread: a program is looked at with all its threads"),
        (["offcpu", "touch", "here"], "unexpected extra argument (touch here); a program stands behind --"),
        (["offcpu", "--"], "there is no program behind --"),
        (["offcpu", "--pid", "1", "--", "touch", "here"], "--pid and a program behind -- are two things"),
        (["offcpu", "--cgroup", "/", "--", "touch", "here"], "--cgroup and a program behind -- are two things"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_line_that_names_two_things_or_none_is_bad_usage(
    arguments: list[str], why: str, tmp_path: Path
) -> None:
    done = run_in(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "") and why in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["offcpu", "task"])
def test_a_program_that_cannot_be_run_has_the_status_that_a_shell_gives(command: str, tmp_path: Path) -> None:
    done = run_in(tmp_path, command, "--", "no-such-program", "--help")
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == "schedtop: cannot run no-such-program: no such file or directory\n"
