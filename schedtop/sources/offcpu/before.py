"""Threads that are off the CPU already when a measurement begins, as /proc tells of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from schedtop.base.stacks import Stack, Symbol
from schedtop.sources.host.namespaces import namespace_of_children
from schedtop.sources.host.task_cgroups import cpu_group
from schedtop.sources.kernel.pid_numbers import numbers_in
from schedtop.sources.scope import Scope

STATE_LETTERS = "RSDITtP"
"""As `ps` shows the states of `offcpu.STATES`, in their order."""

_PF_KTHREAD = 0x00200000  # include/linux/sched.h
_STATE, _FLAGS = 0, 6  # fields of /proc/PID/stat behind the name (man 5 proc)
_LINE = re.compile(r"\[<\w+>\] (\S+?)\+0x([0-9a-f]+)/0x[0-9a-f]+(?: \[(\S+)\])?")


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread as /proc shows it, by its numbers of the host; `state`: in STATES, `None` for one that is dead."""

    tid: int
    tgid: int
    comm: bytes
    state: int | None
    is_kernel: bool


def threads_in(scope: Scope, root: Path = Path("/proc")) -> Iterator[Thread]:
    """All threads in a scope."""
    numbers = numbers_in(root)
    for process in _numbers(root):
        tgid = numbers.of_host(process)
        if not tgid or (scope.tgids and tgid not in scope.tgids):
            continue
        for thread_number in _numbers(root / str(process) / "task"):
            tid = numbers.of_host(thread_number)
            if not tid or (scope.tids and tid not in scope.tids):
                continue
            thread = read_thread(tgid, tid, root)
            if thread and _is_in(scope, thread, root):
                yield thread


def directory_of(tgid: int, tid: int, root: Path = Path("/proc")) -> Path:
    """Where /proc tells of a thread with those numbers of the host; nothing is there if it is not shown."""
    numbers = numbers_in(root)
    return root / str(numbers.inside(tgid)) / "task" / str(numbers.inside(tid))


def read_thread(tgid: int, tid: int, root: Path = Path("/proc")) -> Thread | None:
    """A thread now; `None` if it is gone."""
    try:
        head, _, rest = (directory_of(tgid, tid, root) / "stat").read_bytes().rpartition(b") ")
        fields = rest.split()
        letter, flags = fields[_STATE].decode(), int(fields[_FLAGS])
    except (OSError, ValueError, IndexError):
        return None
    state = STATE_LETTERS.find(letter)
    return Thread(tid, tgid, head.partition(b" (")[2][:15], state if state >= 0 else None, bool(flags & _PF_KTHREAD))


def kernel_stack(tgid: int, tid: int, root: Path = Path("/proc")) -> Stack | None:
    """The kernel side of a sleeping thread's stack, if /proc shows one (root, CONFIG_STACKTRACE)."""
    try:
        text = (directory_of(tgid, tid, root) / "stack").read_text("ascii", "replace")
    except OSError:
        return None
    found = _LINE.findall(text)
    symbols = tuple(Symbol(name, module or "[kernel]", int(offset, 16), True) for name, offset, module in found)
    return Stack(symbols) if symbols else None


def _numbers(directory: Path) -> list[int]:
    with suppress(OSError):
        return [int(name) for name in os.listdir(directory) if name.isdecimal()]
    return []


def _is_in(scope: Scope, thread: Thread, root: Path) -> bool:
    name = thread.comm.lower()
    if scope.comms and not any(comm.encode().lower() in name for comm in scope.comms):
        return False
    if scope.pid_namespace and not _is_in_namespace(thread, scope.pid_namespace, root):
        return False
    return not scope.cgroup or _is_in_group(thread, scope.cgroup[0], root)


def _is_in_namespace(thread: Thread, number: int, root: Path) -> bool:
    """As the programs tell it (bpf/pid_namespace.h): that of its children."""
    try:
        return namespace_of_children(directory_of(thread.tgid, thread.tid, root)) == number
    except (OSError, ValueError):
        return False


def _is_in_group(thread: Thread, path: str, root: Path) -> bool:
    """In the group, or below it, of the hierarchy that has the cpu controller."""
    try:
        text = os.fsdecode((directory_of(thread.tgid, thread.tid, root) / "cgroup").read_bytes())
    except OSError:
        return False
    group, wanted = cpu_group(text), "/" + path.strip("/")
    return group == wanted or group.startswith(wanted.rstrip("/") + "/")
