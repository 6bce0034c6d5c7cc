"""A program that is held before it begins, let go, and waited for."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from schedtop.run import program as module
from schedtop.run.program import CannotRun, Program
from schedtop.run.signals import Interrupted, Signals


def run(*words: str) -> int:
    """Starts it, lets it go at once, and gives its exit status."""
    with Program(words) as program:
        program.go(threading.Event())
        return program.wait(Signals())


def test_program_that_is_not_let_go_never_begins(tmp_path: Path) -> None:
    made = tmp_path / "made"
    with Program(("touch", str(made))) as program:
        assert Path(f"/proc/{program.pid}/comm").read_text() == "touch\n"
    assert not made.exists() and not Path(f"/proc/{program.pid}").exists()


def test_program_begins_when_it_is_let_go_and_its_end_is_told(tmp_path: Path) -> None:
    made, stop = tmp_path / "made", threading.Event()
    with Program(("touch", str(made))) as program:
        assert not made.exists()
        program.go(stop)
        assert stop.wait(20) and made.exists() and program.ended
        # It stays to be looked at until it is waited for.
        assert Path(f"/proc/{program.pid}/comm").read_text() == "touch\n"
        assert program.wait(Signals()) == 0
    assert not Path(f"/proc/{program.pid}").exists()


@pytest.mark.parametrize(("script", "status"), [("exit 7", 7), ("kill -9 $$", 137), ("exit 0", 0)])
def test_exit_status_is_that_of_a_shell(script: str, status: int) -> None:
    assert run("sh", "-c", script) == status


def test_words_reach_the_program_as_they_are(tmp_path: Path) -> None:
    words = ("--help", "a b", "$HOME", "-o", "ü", "")
    assert run("sh", "-c", 'printf "%s\\n" "$@" > "$0"', str(tmp_path / "said"), *words) == 0
    assert (tmp_path / "said").read_text().splitlines() == list(words)


def signals_of(line: str) -> int:
    """A mask of /proc/PID/status without the signals 32 and 33, which the C library keeps for itself."""
    return int(line.split()[1], 16) & ~(3 << 31)


def test_program_has_no_descriptor_of_ours_and_no_signal_that_we_ignore(tmp_path: Path) -> None:
    ours = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(ours, True)
    tell = f'ls /proc/self/fd > {tmp_path}/files; grep -E "SigBlk|SigIgn" /proc/self/status > {tmp_path}/signals'
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert run("sh", "-c", tell) == 0
    finally:
        signal.signal(signal.SIGINT, before)
        os.close(ours)
    # 3 is the directory that ls reads.
    assert (tmp_path / "files").read_text().split() == ["0", "1", "2", "3"]
    assert [signals_of(line) for line in (tmp_path / "signals").read_text().splitlines()] == [0, 0]


def test_signal_that_is_ignored_here_stays_ignored(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert run("sh", "-c", f"grep SigIgn /proc/self/status > {tmp_path}/signals") == 0
    finally:
        signal.signal(signal.SIGINT, before)
    assert signals_of((tmp_path / "signals").read_text()) == 1 << (signal.SIGINT - 1)


def test_program_that_is_not_there_or_no_program_is_told_before_anything_begins(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program")
    for name, status, why in (
        ("no-such-program", 127, "no such file or directory"),
        (str(tmp_path / "none"), 127, "no such file or directory"),
        (str(text), 126, "permission denied"),
        (str(tmp_path), 126, "permission denied"),
    ):
        with pytest.raises(CannotRun, match=f"cannot run {name}: {why}") as raised, Program((name,)):
            pass
        assert raised.value.status == status


def test_file_that_the_kernel_refuses_is_told_when_it_is_let_go(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program")
    text.chmod(0o755)
    with pytest.raises(CannotRun, match="exec format error") as raised, Program((str(text),)) as program:
        program.go(threading.Event())
    assert raised.value.status == 126


def test_signal_to_us_is_passed_on_and_its_end_is_awaited() -> None:
    signals = Signals()
    with Program(("sleep", "60")) as program:
        program.go(threading.Event())
        signals._handle(signal.SIGTERM, None)
        assert program.wait(signals) == 128 + signal.SIGTERM


def test_program_that_does_not_end_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SETTLE_S", 0.1)
    signals = Signals()
    with Program(("sh", "-c", "trap '' TERM; sleep 60 & wait; wait")) as program:
        program.go(threading.Event())
        signals._handle(signal.SIGTERM, None)
        signals._handle(signal.SIGTERM, None)
        try:
            with pytest.raises(Interrupted):
                program.wait(signals)
            assert not program.ended
        finally:
            os.kill(program.pid, signal.SIGKILL)
            assert program.wait(Signals()) == 137


def test_ctrl_c_of_the_terminal_is_not_said_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SETTLE_S", 0.05)
    with Program(("sleep", "60")) as program:
        program.go(threading.Event())
        monkeypatch.setattr(module, "_hears_terminal", lambda: True)
        program.ask_to_end(signal.SIGINT)
        assert not program.ended
        monkeypatch.setattr(module, "_hears_terminal", lambda: False)
        program.ask_to_end(signal.SIGINT)
        assert program.wait(Signals()) == 128 + signal.SIGINT
