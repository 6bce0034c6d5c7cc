"""Pid namespaces by PID and by number, on a tree like /proc and on the real one."""

import os
import subprocess
from pathlib import Path

import pytest

from schedtop.sources.host.namespaces import pid_namespace

HOST, INNER, INMOST = 4026531836, 4026532200, 4026532300


def add(proc: Path, pid: int, namespace: int) -> None:
    (proc / str(pid) / "ns").mkdir(parents=True)
    (proc / str(pid) / "ns" / "pid").symlink_to(f"pid:[{namespace}]")


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    add(tmp_path, 1, HOST)
    add(tmp_path, 200, INNER)
    add(tmp_path, 1000, INNER)
    add(tmp_path, 3000, INMOST)
    (tmp_path / "self").symlink_to("1")
    (tmp_path / "77").mkdir()  # ended while it is looked at
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", HOST),
        ("1000", INNER),
        (" 3000 ", INMOST),
        (str(HOST), HOST),
        (str(INNER), INNER),
        (f"pid:[{INMOST}]", INMOST),
    ],
)
def test_a_namespace_is_found_by_pid_and_by_number(proc: Path, text: str, expected: int) -> None:
    assert pid_namespace(text, proc) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no PID"),
        ("nginx", "'nginx' is no PID"),
        ("0", "'0' is no PID"),
        ("-1", "is no PID"),
        ("²", "is no PID"),
        ("net:[4026532300]", "is no PID"),
        ("77", "there is no process 77"),
        ("4242", "there is no process 4242"),
        ("4026539999", "^no process is in a pid namespace 4026539999$"),
        ("9" * 19, "^no process is in a pid namespace"),
        ("9" * 5000, "is no PID"),
    ],
)
def test_missing_namespace_is_an_error_of_one_sentence(proc: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pid_namespace(text, proc)


def test_missing_proc_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        pid_namespace(str(INNER), tmp_path / "absent")


def test_forbidden_namespace_is_reported(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "readlink", refuse)
    with pytest.raises(ValueError, match="process 200 may not be looked at: that needs CAP_SYS_PTRACE"):
        pid_namespace("200", proc)
    with pytest.raises(ValueError, match="5 may not: that needs CAP_SYS_PTRACE"):
        pid_namespace(str(INNER), proc)


def test_a_process_of_ours_is_in_our_namespace() -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        number = pid_namespace(str(process.pid))
        assert number == pid_namespace(str(os.getpid())) == pid_namespace(str(number))
    finally:
        process.kill()
        process.wait()
