"""The numbers of tasks: the kernel programs know the host's, /proc and system calls may have those of a container.

In a pid namespace of its own (unshare --pid, a container without --pid=host) a number of the host names no task in
/proc, or another one. So nothing looks into /proc by a number from the kernel programs but through PidNumbers.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO of include/linux/proc_ns.h."""

_KTHREADD, _PF_KTHREAD = 2, 0x00200000  # kernel_init() starts it second; include/linux/sched.h
_FLAGS = 6  # field of /proc/PID/stat behind the name (man 5 proc)
PROC = Path("/proc")


class PidNumbers(Protocol):
    """How numbers of the host and those of /proc go together.

    `note`: what a user must know of the numbers in tables, empty on a host. `for_calls`: system calls take the numbers
    of /proc. `own`: this process by its number of the host, 0 if that cannot be told.
    """

    note: str
    for_calls: bool
    own: int

    def inside(self, number: int) -> int:
        """The number in /proc of a task of the host, 0 if it has none, or none that is known."""
        ...

    def of_host(self, number: int) -> int:
        """The number of the host of a task in /proc, 0 if it is not known."""
        ...


class SameNumbers:
    """/proc is the host's."""

    note = ""

    def __init__(self, proc: Path = PROC) -> None:
        self.own = own_number(proc) or os.getpid()
        self.for_calls = self.own == os.getpid()

    def inside(self, number: int) -> int:
        return number

    def of_host(self, number: int) -> int:
        return number


class UnknownNumbers:
    """Nothing can be looked up."""

    note = "tids are the host's: /proc here has others, so names of sleepers and other things from there are missing"
    for_calls = False
    own = 0

    def inside(self, number: int) -> int:
        return 0

    def of_host(self, number: int) -> int:
        return 0


def highest_tid(proc: Path = PROC) -> int | None:
    """The tid that the host's kernel will not exceed (`pid_max`; it can be raised), `None` where /proc does not tell.

    Up to 32 CPUs the kernel's own is 32,768 (pid_idr_init() in kernel/pid.c); systemd raises it to 4 million.
    """
    try:
        return int((proc / "sys/kernel/pid_max").read_bytes()) if shows_host(proc) else None
    except (OSError, ValueError):
        return None


def shows_host(proc: Path = PROC) -> bool:
    """Whether a /proc has the numbers of the host: we are in its pid namespace, or it is the host's mounted here."""
    try:
        if os.readlink(proc / "self" / "ns" / "pid") == INITIAL_PID_NAMESPACE:
            return True
    except OSError:
        pass
    try:
        # Threads of the kernel are in no other namespace.
        fields = (proc / str(_KTHREADD) / "stat").read_bytes().rpartition(b") ")[2].split()
        return bool(int(fields[_FLAGS]) & _PF_KTHREAD)
    except (OSError, ValueError, IndexError):
        return False


def own_number(proc: Path) -> int:
    """Ours in this /proc, 0 if it does not show us."""
    try:
        return int(os.readlink(proc / "self"))
    except (OSError, ValueError):
        return 0
