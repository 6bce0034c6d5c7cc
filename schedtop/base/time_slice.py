"""The slice of the fair class that a thread asks for (`sched_setattr(2)`, from kernel 6.12 on).

Whoever is woken and asks for a shorter slice than the task that runs preempts it at once (PREEMPT_SHORT in
kernel/sched/fair.c). Without, it waits for the next tick. A longer slice is a later deadline in return.
"""

from __future__ import annotations

import functools
import os
import struct
from contextlib import suppress
from typing import Any

LONG_NS = 100_000_000
"""The longest that the kernel gives."""

DEFAULT = 0
"""Asks for what all others have."""

_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
"""Numbers of the system call (asm/unistd_64.h of x86_64, asm-generic/unistd.h)."""

_SCHED_GETATTR = {"x86_64": 315, "aarch64": 275}

_FAIR = (os.SCHED_OTHER, os.SCHED_BATCH, os.SCHED_IDLE)

_ATTRIBUTES = struct.Struct("=IIQiIQQQ")
"""struct sched_attr: size, policy, flags, nice, priority, runtime, deadline, period."""


@functools.cache
def _foreign() -> tuple[Any, Any]:
    """syscall(3), and what makes a buffer for it."""
    import ctypes  # late: on a host on fire no start comes here

    return ctypes.CDLL(None).syscall, ctypes.create_string_buffer


def slice_of(tid: int) -> int:
    """Nanoseconds of a thread (0: the caller) with a policy of the fair class, asked for or the kernel's own.

    0: it has none, it has ended, or the kernel does not tell (get_params() in kernel/sched/syscalls.c, from 6.12 on).
    """
    number = _SCHED_GETATTR.get(os.uname().machine)
    syscall, buffer = _foreign()
    attributes = buffer(_ATTRIBUTES.size)
    if number is None or syscall(number, tid, attributes, _ATTRIBUTES.size, 0):
        return 0
    _, policy, _, _, _, runtime_ns, _, _ = _ATTRIBUTES.unpack(attributes.raw)
    return int(runtime_ns) if policy & ~os.SCHED_RESET_ON_FORK in _FAIR else 0


def set_slice(tid: int, slice_ns: int) -> None:
    """Of a thread (0: the caller) of ordinary policy; its nice value stays. What is refused stays as it is.

    Older kernels take it and do nothing.
    """
    number = _SCHED_SETATTR.get(os.uname().machine)
    with suppress(OSError):
        if number is not None and os.sched_getscheduler(tid) == os.SCHED_OTHER:
            nice = os.getpriority(os.PRIO_PROCESS, tid)
            attributes = _ATTRIBUTES.pack(_ATTRIBUTES.size, os.SCHED_OTHER, 0, nice, 0, slice_ns, 0, 0)
            _foreign()[0](number, tid, attributes, 0)
