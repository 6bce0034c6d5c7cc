"""The slice of a thread of the fair class, as the kernel tells it (`sched_getattr(2)`). As a program: its own."""

from __future__ import annotations

import ctypes
import os


class _Attributes(ctypes.Structure):
    """struct sched_attr."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


def slice_ns(tid: int) -> int:
    """0 on kernels before 6.12, where no task has one of its own. Raises OSError if there is no such thread."""
    attributes = _Attributes()
    number = {"x86_64": 315, "aarch64": 275}[os.uname().machine]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, tid, ctypes.byref(attributes), ctypes.sizeof(attributes), 0):
        raise OSError(ctypes.get_errno(), "sched_getattr")
    return int(attributes.runtime)


if __name__ == "__main__":
    print(slice_ns(0))
