"""What a task is in and has open when the task view begins to look: its system call, its files and sockets."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from schedtop.sources.kernel.constants import TASK
from schedtop.sources.kernel.syscalls import READS, WRITES
from schedtop.task import IO_KINDS

_SOCKET = re.compile(r"socket:\[(\d+)\]")
_LISTEN = "0A"


@dataclass(frozen=True, slots=True)
class CallUnderWay:
    """A system call by its number (TASK.NO_CALL: none, or it cannot be told).

    `read_kind`, `write_kind`: what the descriptors that it reads from and writes to stand for, places in IO_KINDS; -1:
    it does not read or write.
    """

    number: int = field(default_factory=lambda: TASK.NO_CALL)
    read_kind: int = -1
    write_kind: int = -1


def current_call(tgid: int, tid: int, names: Mapping[int, str], proc: Path = Path("/proc")) -> CallUnderWay:
    """The call that a thread is blocked in; `names`: of calls, by number."""
    try:
        first, *words = (proc / str(tgid) / "task" / str(tid) / "syscall").read_text().split()
        numbers = [int(word, 16) for word in words]
    except (OSError, ValueError):
        return CallUnderWay()
    # A thread of the kernel has no program that could have called: its address is 0. Eight numbers: man 5 proc.
    if not first.isdecimal() or len(numbers) != 8 or not numbers[-1]:
        return CallUnderWay()
    name = names.get(int(first), "")

    def kind(arguments: Mapping[str, int]) -> int:
        if name not in arguments:
            return -1
        return _descriptor_kind(proc / str(tgid) / "fd" / str(numbers[arguments[name] - 1]))

    return CallUnderWay(int(first), kind(READS), kind(WRITES))


def _descriptor_kind(path: Path) -> int:
    """As kind_of() of bpf/descriptor.h."""
    try:
        state = path.stat()
    except OSError:
        return IO_KINDS.index("unknown")
    mode = state.st_mode
    if stat.S_ISCHR(mode) and _is_tty(os.major(state.st_rdev)):
        return IO_KINDS.index("tty")
    tests = {"file": (stat.S_ISREG, stat.S_ISDIR), "pipe": (stat.S_ISFIFO,), "socket": (stat.S_ISSOCK,)}
    tests["device"] = (stat.S_ISCHR, stat.S_ISBLK)
    found = (name for name, checks in tests.items() if any(check(mode) for check in checks))
    return IO_KINDS.index(next(found, "other"))


def _is_tty(major: int) -> bool:
    """As is_tty() of bpf/descriptor.h."""
    return 2 <= major <= 5 or 128 <= major <= 143 or major in (166, 188, 204, 229)


def may_be_looked_at(tgid: int, proc: Path = Path("/proc")) -> bool:
    """Whether the open files of a process are ours to see; true if it is gone (ptrace(2), access mode checks)."""
    try:
        os.listdir(proc / str(tgid) / "fd")
    except PermissionError:
        return False
    except OSError:
        pass
    return True


def open_sockets(tgid: int, proc: Path = Path("/proc")) -> tuple[set[int], set[int]]:
    """Inodes of the sockets that a process has open (4,096 at most), and the TCP ports at which it listens."""
    inodes: set[int] = set()
    ports: set[int] = set()
    try:
        with os.scandir(proc / str(tgid) / "fd") as entries:
            descriptors = list(islice(entries, TASK.MOST_SOCKETS))  # there may be a million
    except OSError:
        return inodes, ports
    for entry in descriptors:
        try:
            found = _SOCKET.fullmatch(os.readlink(entry.path))
        except OSError:
            continue
        if found:
            inodes.add(int(found[1]))
    for name in ("tcp", "tcp6"):
        ports |= _listening(proc / str(tgid) / "net" / name, inodes) if inodes else set()
    return inodes, ports


def _listening(path: Path, inodes: set[int]) -> set[int]:
    try:
        lines = path.read_text("ascii", "replace").splitlines()[1:]
    except OSError:
        return set()
    rows = (line.split() for line in lines)
    return {
        int(row[1].rpartition(":")[2], 16)
        for row in rows
        if len(row) > 9 and row[3] == _LISTEN and int(row[9]) in inodes
    }
