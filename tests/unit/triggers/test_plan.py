"""What is to be done, from text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from schedtop.triggers.plan import parse_actions


def test_actions_and_commands_are_read() -> None:
    names, commands = parse_actions(["freeze", " export ", "run sh -c 'echo \"$SCHEDTOP_VALUE\"'", "run true"])
    assert names == {"freeze", "export", "run"}
    assert commands == (("sh", "-c", 'echo "$SCHEDTOP_VALUE"'), ("true",))


def test_command_never_reaches_a_shell() -> None:
    assert parse_actions(["run echo $HOME ; rm `x`"])[1] == (("echo", "$HOME", ";", "rm", "`x`"),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'': there are freeze, export, record, path and 'run COMMAND'"),
        ("exprot", "did you mean export?"),
        ("export now", "export stands alone; write one --then for each action"),
        ("run", "'run' needs a command"),
        ("run ''", "'': there is no such command"),
        ("run 'echo", "no closing quotation"),
        ("run ./no-such-file", "'./no-such-file': there is no such command"),
        ("run no-such-command-at-all", "a shell's own words need 'run sh -c ...'"),
        ("run /tmp", "there is no such command"),
    ],
)
def test_wrong_plan_is_explained(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        parse_actions([text])
    assert "\n" not in str(caught.value)


def test_a_script_that_is_no_program_is_said_before_anything_waits(tmp_path: Path) -> None:
    script = tmp_path / "page.sh"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(ValueError, match="cannot be executed"):
        parse_actions([f"run {script}"])
    script.chmod(0o755)
    assert parse_actions([f"run {script}"])[1] == ((str(script),),)
