"""Threads that were off the CPU before: what /proc tells of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from schedtop.offcpu.measurement import STATES
from schedtop.sources.offcpu.before import kernel_stack, read_thread, threads_in
from schedtop.sources.scope import Scope


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two processes, one of them with two threads, and a kernel thread."""
    add(tmp_path, 10, 10, "app (x) y", "S", group="/web/one")
    add(tmp_path, 10, 11, "worker", "D", group="/web/one")
    add(tmp_path, 20, 20, "Other", "R", group="/webster", space=4026532000)
    add(tmp_path, 2, 2, "kthreadd", "I", flags=0x00208040)
    (tmp_path / "self").mkdir()
    return tmp_path


def add(
    root: Path,
    tgid: int,
    tid: int,
    comm: str,
    letter: str,
    flags: int = 0x400000,
    group: str = "/",
    space: int = 4026531836,
) -> None:
    directory = root / str(tgid) / "task" / str(tid)
    directory.mkdir(parents=True)
    (directory / "stat").write_text(f"{tid} ({comm}) {letter} 1 1 1 0 -1 {flags} 0 0 0\n")
    (directory / "ns").mkdir()
    (directory / "ns" / "pid_for_children").symlink_to(f"pid:[{space}]")
    (directory / "cgroup").write_text(f"3:cpu,cpuacct:{group}\n0::/other\n")


@pytest.mark.parametrize(
    ("scope", "tids"),
    [
        (Scope(), [2, 10, 11, 20]),
        (Scope(tgids=(10,)), [10, 11]),
        (Scope(tids=(11, 20)), [11, 20]),
        (Scope(tgids=(10,), tids=(20,)), []),
        (Scope(comms=("OTHER", "work")), [11, 20]),
        (Scope(cgroup=("/web", 1)), [10, 11]),
        (Scope(cgroup=("/web/one", 1)), [10, 11]),
        (Scope(cgroup=("/", 1)), [2, 10, 11, 20]),
        (Scope(pid_namespace=4026531836), [2, 10, 11]),
        (Scope(pid_namespace=4026532000), [20]),
        (Scope(pid_namespace=4026532000, comms=("app",)), []),
    ],
)
def test_earlier_blocks_are_only_of_threads_in_scope(root: Path, scope: Scope, tids: list[int]) -> None:
    assert sorted(thread.tid for thread in threads_in(scope, root)) == tids


def test_a_thread_with_parentheses_in_its_name(root: Path) -> None:
    thread = read_thread(10, 10, root)
    assert thread and thread.comm == b"app (x) y" and STATES[thread.state or 0] == "sleeping" and not thread.is_kernel
    kernel = read_thread(2, 2, root)
    assert kernel and kernel.is_kernel and STATES[kernel.state or 0] == "idle"
    add(root, 30, 30, "dead", "Z")
    dead = read_thread(30, 30, root)
    assert dead and dead.state is None
    assert read_thread(99, 99, root) is None


def test_a_stack_is_read_with_modules(root: Path) -> None:
    text = "[<0>] do_nanosleep+0x59/0x1a0\n[<0>] jbd2_log+0xde/0x140 [jbd2]\n[<0>] 0x0\n"
    (root / "10" / "task" / "10" / "stack").write_text(text)
    stack = kernel_stack(10, 10, root)
    assert stack and [(one.name, one.module, one.offset) for one in stack.symbols] == [
        ("do_nanosleep", "[kernel]", 0x59),
        ("jbd2_log", "jbd2", 0xDE),
    ]
    assert kernel_stack(10, 11, root) is None
    (root / "10" / "task" / "11" / "stack").write_text("")
    assert kernel_stack(10, 11, root) is None


def test_we_find_ourselves() -> None:
    found = {thread.tid: thread for thread in threads_in(Scope(tgids=(os.getpid(),)))}
    assert os.getpid() in found
