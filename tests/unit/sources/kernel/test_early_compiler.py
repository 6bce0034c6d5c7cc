"""The compiler's process that is started early: only where it is needed, asked once, and never left behind."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedtop.sources.kernel import early_compiler
from schedtop.sources.kernel.cache_directory import DIRECTORY_VARIABLE, keeps_programs
from schedtop.sources.kernel.compiler import compile_programs

_ANSWERS = """
import json, sys
request = json.load(sys.stdin)
print(json.dumps({"maps": {}, "programs": {request["text"]: "", request["include_root"]: ""}}))
"""

Started = list[subprocess.Popen[bytes]]


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Started]:
    """The processes that were started; each answers with what it was asked. Nothing is kept, and we are root."""
    processes: Started = []
    start = early_compiler.start

    def noted(command: list[str]) -> subprocess.Popen[bytes]:
        processes.append(start(command))
        return processes[-1]

    for name in ("early_compiler", "compiler"):
        monkeypatch.setattr(f"schedtop.sources.kernel.{name}.bcc_command", lambda *_: [sys.executable, "-c", _ANSWERS])
    monkeypatch.setattr(early_compiler, "start", noted)
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path / "kept"))
    monkeypatch.setattr(early_compiler.os, "geteuid", lambda: 0)
    yield processes
    early_compiler.end()
    assert all(process.poll() is not None for process in processes)


@pytest.mark.parametrize("command_line", ["", "--interval 0.5", "snapshot --duration 1s", "metrics", "task 1"])
def test_commands_that_load_programs_start_the_compiler(started: Started, command_line: str) -> None:
    early_compiler.begin(command_line.split())
    assert len(started) == 1


@pytest.mark.parametrize(
    "command_line", ["replay file", "doctor", "--help", "record --help", "--source proc", "snapshot --source=synthetic"]
)
def test_commands_that_load_none_do_not(started: Started, command_line: str) -> None:
    early_compiler.begin(command_line.split())
    assert not started


def test_where_programs_are_kept_it_is_not_started(started: Started, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir(0o700)
    (kept / "kernel.btf-answers").touch()
    assert not keeps_programs()
    (kept / "programs.json").touch()
    early_compiler.begin([])
    if os.stat(kept).st_uid == os.geteuid():
        assert keeps_programs() and not started
    kept.chmod(0o777)
    assert not keeps_programs()


def test_without_root_it_is_not_started(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early_compiler.os, "geteuid", lambda: 1000)
    early_compiler.begin([])
    assert not started


def test_the_first_compilation_asks_it_and_the_next_another(started: Started, tmp_path: Path) -> None:
    early_compiler.begin([])
    (early,) = started
    assert set(compile_programs("one", (), tmp_path).programs) == {"one", str(tmp_path)}
    assert started == [early] and early.returncode == 0
    assert set(compile_programs("two", (), tmp_path).programs) == {"two", str(tmp_path)}
    assert len(started) == 2


def test_one_that_nobody_asks_is_ended(started: Started) -> None:
    early_compiler.begin([])
    early_compiler.end()
    assert started[0].returncode
    assert early_compiler.take() is None


def test_a_long_program_is_asked_for_in_whole(started: Started, tmp_path: Path) -> None:
    text = json.dumps(list(range(100_000)))
    early_compiler.begin([])
    assert text in compile_programs(text, (), tmp_path).programs
