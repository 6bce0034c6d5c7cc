"""Symbols by the child process: names, what has none, and its end."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedtop.sources.kernel.symbols import ANSWER_S, KERNEL, MOST_CHILDREN, Symbols
from tests import ROOT


@pytest.fixture
def symbols() -> Iterator[Symbols]:
    found = Symbols()
    yield found
    found.close()


def address_of(function: str) -> int:
    return ctypes.cast(getattr(ctypes.CDLL(None), function), ctypes.c_void_p).value or 0


def test_a_function_of_ours_has_its_name_and_module(symbols: Symbols) -> None:
    address = address_of("qsort")
    first, second, nowhere = symbols.of(os.getpid(), [address, address + 3, 0x10])
    assert not symbols.failure
    assert "qsort" in first.name and first.module.rpartition("/")[2].startswith("libc") and not first.kernel
    assert (second.name, second.offset) == (first.name, first.offset + 3)
    assert (nowhere.name, nowhere.module, nowhere.label) == ("", "", "[unknown]")


def test_a_process_that_is_gone_has_no_symbols(symbols: Symbols) -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert not symbols.remember(process.pid)
    assert [symbol.label for symbol in symbols.of(process.pid, [0x1234])] == ["[unknown]"]
    assert symbols.remember(os.getpid())


def test_remembered_process_keeps_its_modules(symbols: Symbols) -> None:
    line = "import ctypes; print(ctypes.cast(ctypes.CDLL(None).qsort, ctypes.c_void_p).value, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        address = int(process.stdout.readline())
        assert symbols.remember(process.pid)
        process.kill()
    (symbol,) = symbols.of(process.pid, [address])
    assert symbol.module.rpartition("/")[2].startswith("libc")


def test_many_processes_do_not_fill_the_child(symbols: Symbols) -> None:
    """More than are kept: the kernel's symbols stay, and the first one is read again."""
    sleepers = [subprocess.Popen(["sleep", "20"]) for _ in range(140)]
    try:
        symbols.of(KERNEL, [1])
        assert all(symbols.remember(process.pid) for process in sleepers)
        assert symbols.remember(sleepers[0].pid)
    finally:
        for process in sleepers:
            process.kill()
        for process in sleepers:
            process.wait()
    assert not symbols.failure


def test_a_child_that_dies_is_said_and_stays_away(symbols: Symbols) -> None:
    for pid in range(1, MOST_CHILDREN + 1):
        symbols._child.kill()
        assert [symbol.label for symbol in symbols.of(pid, [address_of("qsort")])] == ["[unknown]"]
    assert "failed" in symbols.failure
    assert not symbols.remember(os.getpid())


@pytest.fixture
def stranger() -> Iterator[tuple[int, int, Path]]:
    """A process, an address in its memory that is no file's, and the path of its perf map."""
    line = "import mmap, ctypes; made = mmap.mmap(-1, 4096, prot=7); "
    line += "print(ctypes.addressof(ctypes.c_char.from_buffer(made)), flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        path = Path(f"/tmp/perf-{process.pid}.map")
        yield process.pid, int(process.stdout.readline()), path
        path.unlink(missing_ok=True)
        process.kill()


def test_a_pipe_instead_of_a_perf_map_holds_nothing_up(symbols: Symbols, stranger: tuple[int, int, Path]) -> None:
    pid, address, path = stranger
    os.mkfifo(path)
    assert symbols.of(pid, [address])[0].name == ""
    assert "qsort" in symbols.of(os.getpid(), [address_of("qsort")])[0].name
    assert not symbols.trouble


def test_names_come_from_a_perf_map_of_the_process_or_of_root(
    symbols: Symbols, stranger: tuple[int, int, Path]
) -> None:
    pid, address, path = stranger
    path.write_text(f"{address:x} 1000 made at run time\n")
    assert symbols.of(pid, [address + 16])[0].name == "made at run time"
    if os.geteuid():
        pytest.skip("only root can give a file away")
    os.chown(path, 65534, 65534)
    assert symbols.of(pid, [address + 16])[0].label == "[unknown]"


def test_a_process_that_takes_too_long_is_left_out_and_others_go_on(
    symbols: Symbols, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert symbols.remember(os.getpid())
    os.kill(symbols._child.pid, signal.SIGSTOP)
    monkeypatch.setattr("schedtop.sources.kernel.symbols.ANSWER_S", 0.2)
    assert not symbols.remember(1)
    monkeypatch.undo()
    assert "qsort" in symbols.of(os.getpid(), [address_of("qsort")])[0].name
    assert "processes 1:" in symbols.trouble and not symbols.failure


def test_close_waits_no_longer_than_its_limit(symbols: Symbols, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedtop.sources.kernel.symbols.HURRY_S", 0.1)
    assert symbols.remember(os.getpid())
    os.kill(symbols._child.pid, signal.SIGSTOP)
    threading.Timer(0.1, symbols.stop.set).start()
    started = time.monotonic()
    assert not symbols.remember(1)
    assert time.monotonic() - started < ANSWER_S / 2
    assert symbols.failure


def test_symbol_reader_ends_with_its_parent() -> None:
    code = (
        "from schedtop.sources.kernel.symbols import Symbols; "
        "print(Symbols()._child.pid, flush=True); import os; os._exit(9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False, timeout=30
    )
    child = Path("/proc") / done.stdout.strip()
    subprocess.run(["timeout", "10", "tail", f"--pid={child.name}", "-f", "/dev/null"], check=True)
    assert not child.exists() or "Z" in (child / "stat").read_text().rpartition(")")[2]


def test_the_child_goes_behind_others_from_its_start_on() -> None:
    """What it imports took a CPU for a tenth of a second at our priority: the path blamed that on the host."""
    symbols = Symbols()
    try:
        pid = symbols._child.pid
        assert os.getpriority(os.PRIO_PROCESS, pid) == 10
        assert os.getsid(pid) == pid, "a session of its own: ours may go before others"
        assert symbols.remember(os.getpid())
        assert Path(f"/proc/{pid}/comm").read_text() == "schedtop-symbol\n"
    finally:
        symbols.close()
