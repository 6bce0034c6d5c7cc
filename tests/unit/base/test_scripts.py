"""Of an interpreter its script is named: `bash` alone says nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from schedtop.base import scripts


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


@contextmanager
def running(*command: str) -> Iterator[int]:
    """A process that has begun to run its script."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"runs\n"
        yield process.pid
        process.kill()


def test_an_interpreter_of_this_host_is_named_with_its_script(tmp_path: Path) -> None:
    shell, other = tmp_path / "deploy.sh", tmp_path / "poll.py"
    shell.write_text("echo runs; read -r x; echo\n")
    other.write_text("print('runs', flush=True); import time; time.sleep(60)\n")
    with running("bash", str(shell)) as pid:
        assert scripts.with_script("bash", pid) == "bash deploy.sh"
        assert scripts.with_script("sh", pid) == "sh", "the number is that of another by now"
        assert scripts.with_script("web", pid) == "web"
    python = Path(sys.executable).name
    with running(sys.executable, str(other)) as pid:
        assert scripts.with_script(python, pid) == f"{python} poll.py"
    assert scripts.with_script("bash", 2**22 + 1) == "bash", "it has ended"
