"""Of an interpreter that starts a storm its script is named in the verdict: `bash` alone says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedtop.ui.screens.dashboard import scripts
from schedtop.verdict.verdict import Verdict
from tests.unit.base.test_scripts import command_line


@pytest.mark.parametrize(
    ("command", "by", "told"),
    [
        ("for p in 7 8; do echo 19 > /proc/$p/autogroup; done", "bash", "bash monitor.sh"),
        ("renice -n 10 -p 7 8", "bash", "bash monitor.sh"),
        ("ps -o pid,ppid,args 7", "bash (7)", "bash monitor.sh (7)"),
        ("echo 19 > /proc/7/autogroup", "bash (7)", "bash monitor.sh (7)"),
        ("renice -n 10 -p 7 9", "bash", "bash"),
        ("renice -n 10 -p $(pgrep -wx bash)", "bash", "bash"),
        ("renice -n 10 -p 7", "make (7)", "make (7)"),
    ],
)
def test_the_headline_names_the_script_that_all_starters_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, by: str, told: str
) -> None:
    for pid, script in ((7, "monitor.sh"), (8, "/opt/monitor.sh"), (9, "other.sh")):
        command_line(tmp_path, pid, "bash", script)
    monkeypatch.setattr(scripts, "script_of", lambda pid, of=scripts.script_of: of(pid, str(tmp_path)))
    verdict = Verdict("alarm", "forks", f"true ×900/s by {by} take 60 % of CPU time", (), command, command)
    assert scripts.with_script(verdict).headline == f"true ×900/s by {told} take 60 % of CPU time"
