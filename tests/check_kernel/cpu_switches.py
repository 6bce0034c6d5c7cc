"""The switches of each CPU by another counter of the kernel, perf's `context-switches`; `ctxt` is their sum.

/proc has no number of switches for each CPU but in /proc/schedstat (CONFIG_SCHEDSTATS), which many kernels lack.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from typing import Self

from schedtop.base.cpu_lists import cpu_list
from schedtop.sources.kernel.bpf_syscall import NUMBERS

_TYPE_SOFTWARE, _CONTEXT_SWITCHES, _CLOEXEC, _ATTR_BYTES = 1, 3, 8, 112
_ONLINE = "/sys/devices/system/cpu/online"


class CpuSwitches:
    """Counts from here to the end of the block. `why_not`: why there are no counters, if so."""

    def __init__(self) -> None:
        self.why_not = ""
        self._counters: dict[int, int] = {}

    def __enter__(self) -> Self:
        with open(_ONLINE) as file:
            cpus = cpu_list(file.read())
        try:
            for cpu in cpus:
                self._counters[cpu] = _counter(cpu)
        except OSError as error:
            self.why_not = f"no perf counters: {error.strerror}"
            self._close()
        return self

    def __exit__(self, *exc: object) -> None:
        self._close()

    def _close(self) -> None:
        for counter in self._counters.values():
            os.close(counter)
        self._counters = {}

    def read(self) -> dict[int, int]:
        """By CPU, so far."""
        return {cpu: int.from_bytes(os.read(counter, 8), "little") for cpu, counter in self._counters.items()}


def _counter(cpu: int) -> int:
    attr = bytearray(_ATTR_BYTES)
    struct.pack_into("<2IQ", attr, 0, _TYPE_SOFTWARE, _ATTR_BYTES, _CONTEXT_SWITCHES)
    buffer = (ctypes.c_char * _ATTR_BYTES).from_buffer(attr)
    number = NUMBERS[platform.machine()][1]
    libc = ctypes.CDLL(None, use_errno=True)
    found = libc.syscall(number, buffer, -1, cpu, -1, _CLOEXEC)
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(found)
