"""Of an interpreter that starts a storm its script is named: `bash` alone says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedtop.ui.screens.dashboard import scripts
from schedtop.verdict.verdict import Verdict


def command_line(proc: Path, pid: int, *arguments: str) -> None:
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "cmdline").write_bytes("".join(f"{argument}\0" for argument in arguments).encode())


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (("bash", "/opt/monitor.sh", "--password=x"), ("bash", "monitor.sh")),
        (("/bin/bash", "-eu", "monitor.sh"), ("bash", "monitor.sh")),
        (("-bash",), ("", "")),
        (("bash", "-ec", "while :; do date; done"), ("", "")),
        (("/usr/bin/python3.11", "-u", "/srv/poll.py", "a"), ("python3.11", "poll.py")),
        (("python3", "-m", "http.server"), ("", "")),
        (("perl", "-ne", "print"), ("", "")),
        (("/usr/bin/make", "all"), ("", "")),
        (("bash", "a\x1b[31m.sh"), ("bash", "a?[31m.sh")),
    ],
)
def test_the_script_of_an_interpreter(tmp_path: Path, arguments: tuple[str, ...], found: tuple[str, str]) -> None:
    command_line(tmp_path, 7, *arguments)
    assert scripts.script_of("7", str(tmp_path)) == found
    assert scripts.script_of("8", str(tmp_path)) == ("", ""), "it has ended"


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
