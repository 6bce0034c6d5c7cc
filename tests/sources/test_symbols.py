"""Symbols by the child process: names, what has none, and its end."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedtop.sources.symbols import KERNEL, Symbols


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


def test_what_was_remembered_keeps_its_modules(symbols: Symbols) -> None:
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
    symbols._child.kill()
    assert [symbol.label for symbol in symbols.of(os.getpid(), [address_of("qsort")])] == ["[unknown]"]
    assert "failed" in symbols.failure
    assert not symbols.remember(os.getpid())


def test_it_ends_when_we_do() -> None:
    code = (
        "from schedtop.sources.symbols import Symbols; print(Symbols()._child.pid, flush=True); import os; os._exit(9)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=False, timeout=30
    )
    child = Path("/proc") / done.stdout.strip()
    subprocess.run(["timeout", "10", "tail", f"--pid={child.name}", "-f", "/dev/null"], check=True)
    assert not child.exists() or "Z" in (child / "stat").read_text().rpartition(")")[2]
