"""Pid namespaces: what a user names one by."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

_GREATEST_PID = 1 << 22
_LINK = re.compile(r"pid:\[([0-9]+)\]")


def pid_namespace(text: str, proc: Path = Path("/proc")) -> int:
    """Inode number of a pid namespace, from the PID of a process in it, or from the inode number.

    A number above 4,194,304 (the kernel's PID_MAX_LIMIT; namespaces begin at 4,026,531,836) is an inode number, also
    as `pid:[4026531836]`, which is what links in /proc/PID/ns say; some process must be in it. Raises
    ValueError with one sentence.
    """
    digits = _LINK.sub(r"\1", text.strip())
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 20 and int(digits)):
        raise ValueError(f"{text!r} is no PID and no number of a pid namespace")
    number = int(digits)
    return _by_inode(number, proc) if number > _GREATEST_PID else _by_pid(number, proc)


def namespace_of_children(directory: Path) -> int:
    """The namespace that the children of a task are in: `directory` is its own in /proc. Raises OSError, ValueError."""
    return _inode(directory, "pid_for_children")


def _by_pid(pid: int, proc: Path) -> int:
    try:
        return _inode(proc / str(pid))
    except PermissionError as error:
        raise ValueError(f"the namespace of process {pid} may not be looked at: that needs CAP_SYS_PTRACE") from error
    except (OSError, ValueError) as error:
        raise ValueError(f"there is no process {pid}, or it has ended") from error


def _by_inode(number: int, proc: Path) -> int:
    hidden = 0
    for directory in _processes(proc):
        try:
            if _inode(directory) == number:
                return number
        except PermissionError:
            hidden += 1
        except (OSError, ValueError):
            continue  # ended meanwhile
    why = f" that may be looked at ({hidden} may not: that needs CAP_SYS_PTRACE)" if hidden else ""
    raise ValueError(f"no process{why} is in a pid namespace {number}")


def _processes(proc: Path) -> Iterator[Path]:
    try:
        names = [name for name in os.listdir(proc) if name.isdecimal()]
    except OSError as error:
        raise ValueError(f"{proc} cannot be read: {error.strerror}") from error
    yield from (proc / name for name in sorted(names, key=int))


def _inode(process: Path, name: str = "pid") -> int:
    found = _LINK.fullmatch(os.readlink(process / "ns" / name))
    if not found:
        raise ValueError(f"{process}/ns/{name} is no link to a pid namespace")
    return int(found[1])
