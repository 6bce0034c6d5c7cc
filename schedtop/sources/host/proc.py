"""What /proc and /sys tell: CPU times, context switches, pressure, our own cost, and what kind of host this is."""

from __future__ import annotations

import os
import platform
import socket
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from schedtop.base.units import NS_PER_S
from schedtop.model.counts import Overhead, Pressure
from schedtop.model.host import Host
from schedtop.sources.host.topology import cpu_list

_TICK_NS = NS_PER_S // os.sysconf("SC_CLK_TCK")
_MOST_TICKS = (1 << 62) // _TICK_NS  # 146 years: more is not told by a kernel
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# Columns of a cpu line in /proc/stat (man 5 proc); guest time is inside user, guest_nice inside nice.
_USER, _NICE, _SYSTEM, _IDLE, _IOWAIT, _IRQ, _SOFTIRQ, _STEAL = range(8)
_BUSY = (_USER, _NICE, _SYSTEM, _IRQ, _SOFTIRQ)


@dataclass(frozen=True, slots=True, eq=False)
class StatReading:
    """/proc/stat at one moment: cumulative times in nanoseconds (in steps of a tick, mostly 10 ms), shape (cpus,).

    `accounted_ns` is the whole that `busy_ns` and `steal_ns` are parts of; `switches` is `ctxt`.
    """

    online: npt.NDArray[np.bool_]
    busy_ns: npt.NDArray[np.int64]
    steal_ns: npt.NDArray[np.int64]
    accounted_ns: npt.NDArray[np.int64]
    switches: int


def parse_stat(text: bytes, possible_cpus: int) -> StatReading:
    """The reading of the text of /proc/stat; CPUs without a line are offline. Raises ValueError."""
    times = np.zeros((possible_cpus, 8), np.int64)
    online = np.zeros(possible_cpus, bool)
    switches = -1
    for line in text.split(b"\n"):
        if line.startswith(b"cpu") and line[3:4].isdigit():
            name, *ticks = line.split(maxsplit=9)
            cpu = int(name[3:])
            if cpu < possible_cpus:
                known = [min(int(tick), _MOST_TICKS) for tick in ticks[:8]]
                times[cpu, : len(known)] = known
                online[cpu] = True
        elif line.startswith(b"ctxt "):
            switches = int(line[5:])
            break
    if switches < 0:
        raise ValueError("/proc/stat has no ctxt line")
    times *= _TICK_NS
    return StatReading(online, times[:, _BUSY].sum(axis=1), times[:, _STEAL], times.sum(axis=1), switches)


def read_stat(possible_cpus: int, path: Path = Path("/proc/stat")) -> StatReading:
    """/proc/stat now."""
    return parse_stat(path.read_bytes(), possible_cpus)


def parse_pressure(text: str) -> Pressure:
    """The totals of a pressure file, which are in microseconds."""
    totals = {"some": 0, "full": 0}
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        _, found, total = rest.partition("total=")
        if kind in totals and found:
            totals[kind] = int(total) * 1000
    return Pressure(totals["some"], totals["full"])


def read_pressure(path: Path = Path("/proc/pressure/cpu")) -> Pressure | None:
    """CPU pressure now, `None` where the kernel does not keep it (no such file, or psi=0)."""
    try:
        return parse_pressure(path.read_text())
    except OSError:
        return None


def possible_cpus(path: Path = Path("/sys/devices/system/cpu/possible")) -> int:
    """How many CPU ids the kernel may ever use."""
    try:
        return max(cpu_list(path.read_text())) + 1
    except (OSError, ValueError):
        return os.cpu_count() or 1


def own_cost(path: Path = Path("/proc/self/statm")) -> Overhead:
    """CPU time of this process since its start, and its resident memory."""
    return Overhead(time.process_time_ns(), int(path.read_bytes().split()[1]) * _PAGE_BYTES)


def is_virtualised(
    cpuinfo: Path = Path("/proc/cpuinfo"), hypervisor: Path = Path("/sys/hypervisor/type")
) -> bool | None:
    """Whether this is a guest: the `hypervisor` flag of x86, or /sys/hypervisor; `None` if it cannot be told."""
    if hypervisor.exists():
        return True
    try:
        with cpuinfo.open("r", encoding="ascii", errors="replace") as file:
            flags = next((line for line in file if line.startswith("flags")), None)
    except OSError:
        return None
    return None if flags is None else "hypervisor" in flags.split()


def identify_host(source: str, note: str = "") -> Host:
    """Name, kernel release and kind of this host, for a source of that name; `note`: what a user must know of it."""
    return Host(socket.gethostname(), platform.release(), source, is_virtualised(), (note,) if note else ())
