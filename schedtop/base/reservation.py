"""A share of CPU time that the kernel grants and enforces, for a crowded host, where a nice value may leave us none.

Where the kernel groups tasks by session, and ever new sessions begin, a runnable thread of an old one may wait for 4 to
28 s at once, however heavy it is. SCHED_DEADLINE (man 7 sched) comes before them, for no more than its share: what is
left of each period belongs to the others. Whatever our threads start is an ordinary task.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress

CROWD = 3
"""So many runnable tasks for each CPU are a crowd."""

MAIN_SHARE, OTHER_SHARE = 0.6, 0.2
"""Of a CPU, for the main thread and each other. Together they are over what one CPU grants: the last go without."""

_PERIOD_NS = 4_000_000
_DEADLINE, _RESET_ON_FORK = 6, 1
_ATTRIBUTES = struct.Struct("=IIQiIQQQ")  # struct sched_attr (uapi/linux/sched/types.h), as of 3.14
_SETATTR = {"x86_64": 314, "aarch64": 274}


def is_crowded() -> bool:
    """Whether more tasks want to run, on all CPUs, than are no crowd. Raises OSError, ValueError."""
    with open("/proc/loadavg", "rb") as file:
        runnable, _, _ = file.read().split()[3].partition(b"/")
    return int(runnable) > CROWD * (os.cpu_count() or 1)


class Reservation:
    """That of all threads of this process."""

    def __init__(self) -> None:
        self._reserved: set[int] = set()

    def __bool__(self) -> bool:
        """Whether any thread has one."""
        return bool(self._reserved)

    def take(self) -> None:
        """For each thread that has none. Where the kernel refuses (CPUs chosen, no share left) it stays as it is."""
        own = os.getpid()
        tids = {int(name) for name in os.listdir("/proc/self/task")}
        self._reserved &= tids
        for tid in sorted(tids - self._reserved):  # the main thread first
            runtime_ns = int(_PERIOD_NS * (MAIN_SHARE if tid == own else OTHER_SHARE))
            with suppress(OSError):
                _set(tid, _DEADLINE, _RESET_ON_FORK, 0, runtime_ns)
                self._reserved.add(tid)

    def give_back(self, nice: int) -> None:
        """All are ordinary threads again, with that nice value."""
        for tid in os.listdir("/proc/self/task") if self._reserved else ():
            with suppress(OSError):
                _set(int(tid), os.SCHED_OTHER, 0, nice, 0)
        self._reserved.clear()


def _set(tid: int, policy: int, flags: int, nice: int, runtime_ns: int) -> None:
    """Raises OSError."""
    import ctypes  # late: hardly ever needed, and takes some ms

    period_ns = runtime_ns and _PERIOD_NS
    attributes = _ATTRIBUTES.pack(_ATTRIBUTES.size, policy, flags, nice, 0, runtime_ns, period_ns, period_ns)
    number = _SETATTR.get(os.uname().machine)
    libc = ctypes.CDLL(None, use_errno=True)
    if number is None or libc.syscall(number, tid, attributes, 0):
        raise OSError(ctypes.get_errno(), "sched_setattr")
