"""What /proc and /sys tell: CPU times, context switches, pressure, our own cost, and what kind of host this is."""

from __future__ import annotations

import os
import platform
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from schedtop.base.units import NS_PER_S
from schedtop.model.counts import Overhead, Pressure
from schedtop.model.host import Host
from schedtop.model.kernels import has_fair_server
from schedtop.sources.host.cgroups import cpu_hierarchy, has_v1_cpu_controller, read_mounts
from schedtop.sources.host.own_cost import OwnCost
from schedtop.sources.host.topology import cpu_list

_TICK_NS = NS_PER_S // os.sysconf("SC_CLK_TCK")
_MOST_TICKS = (1 << 62) // _TICK_NS  # 146 years: more is not told by a kernel
_NO_TICKS = (0,) * 8  # an old kernel has fewer columns


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

    @property
    def cpus(self) -> tuple[int, ...]:
        """The CPUs that are online."""
        return tuple(self.online.nonzero()[0].tolist())


def parse_stat(text: bytes, possible_cpus: int) -> StatReading:
    """The reading of the text of /proc/stat; CPUs without a line are offline. Raises ValueError."""
    online = [False] * possible_cpus
    busy, steal, accounted = ([0] * possible_cpus for _ in range(3))
    # The line of interrupts between the CPUs and ctxt is the longest by far: it is not looked through.
    head, found, rest = text.partition(b"\nctxt ")
    if not found:
        raise ValueError("/proc/stat has no ctxt line")
    switches = int(rest.split(b"\n", 1)[0])
    for line in head.partition(b"\nintr ")[0].split(b"\n"):
        if line.startswith(b"cpu") and line[3:4].isdigit():
            name, *ticks = line.split(maxsplit=9)
            cpu = int(name[3:])
            if cpu < possible_cpus:
                # man 5 proc; the guest time that follows is inside user, guest_nice inside nice.
                user, nice, system, idle, iowait, irq, softirq, stolen = [*map(int, ticks[:8]), *_NO_TICKS][:8]
                busy[cpu], steal[cpu] = user + nice + system + irq + softirq, stolen
                accounted[cpu] = busy[cpu] + idle + iowait + stolen
                online[cpu] = True
    return StatReading(np.array(online), _nanoseconds(busy), _nanoseconds(steal), _nanoseconds(accounted), switches)


def _nanoseconds(ticks: list[int]) -> npt.NDArray[np.int64]:
    return np.array([min(number, _MOST_TICKS) * _TICK_NS for number in ticks], np.int64)


def read_stat(possible_cpus: int, path: Path = Path("/proc/stat")) -> StatReading:
    """/proc/stat now."""
    return parse_stat(path.read_bytes(), possible_cpus)


def cpu_times(earlier: StatReading, later: StatReading) -> dict[str, npt.NDArray[np.int64]]:
    """How `busy_ns`, `steal_ns` and `accounted_ns` grew, shape (cpus,), never negative.

    A CPU that was offline has no line, and returns with the times of its whole life: of the interval in which it comes
    or goes nothing is known. iowait may run backwards (man 5 proc).
    """
    both = earlier.online & later.online
    return {
        name: np.where(both, np.maximum(getattr(later, name) - getattr(earlier, name), 0), 0)
        for name in ("busy_ns", "steal_ns", "accounted_ns")
    }


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


class HostFiles:
    """The files of /proc that are read each time, kept open: opening one takes longer than reading it."""

    def __init__(self, possible_cpus: int, proc: Path = Path("/proc")) -> None:
        """Raises OSError where there is no /proc."""
        self._possible_cpus = possible_cpus
        self._files: list[int] = []
        self._stat, self._own = self._open(proc / "stat"), OwnCost(proc)
        self._pressure: int | None = None
        with suppress(OSError):  # a kernel that does not keep it
            self._pressure = self._open(proc / "pressure" / "cpu")
        self._room = 1 << 14

    def close(self) -> None:
        """Closes them all; none can be read afterwards."""
        while self._files:
            os.close(self._files.pop())
        self._own.close()

    def stat(self) -> StatReading:
        """/proc/stat now. Raises OSError."""
        # More than a read gives at a time would be of two moments.
        while len(text := os.pread(self._stat, self._room, 0)) == self._room:
            self._room *= 2
        return parse_stat(text, self._possible_cpus)

    def pressure(self) -> Pressure | None:
        """CPU pressure now, `None` where the kernel does not keep it."""
        if self._pressure is None:
            return None
        try:
            return parse_pressure(os.pread(self._pressure, 4096, 0).decode("ascii", "replace"))
        except OSError:
            return None

    def own_cost(self, bpf_ns: int | None = None) -> Overhead:
        """What this process costs, and its priority; BPF time as given. Raises OSError."""
        return self._own.now(bpf_ns)

    def _open(self, path: Path) -> int:
        self._files.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        return self._files[-1]


def possible_cpus(path: Path = Path("/sys/devices/system/cpu/possible")) -> int:
    """How many CPU ids the kernel may ever use."""
    try:
        return max(cpu_list(path.read_text())) + 1
    except (OSError, ValueError):
        return os.cpu_count() or 1


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
    notes = (note,) if note else ()
    return Host(
        socket.gethostname(),
        platform.release(),
        source,
        is_virtualised(),
        notes,
        rt_ratio=rt_ratio(),
        weight_file=weight_file(),
        boot_id=boot_id(),
    )


def boot_id(file: Path = Path("/proc/sys/kernel/random/boot_id")) -> str:
    """The kernel's number of this boot, empty if it is not told."""
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


_FAIR_SERVER = Path("/sys/kernel/debug/sched/fair_server")
_KEPT_BY_FAIR_SERVER = 0.05
"""50 ms of each second if nothing is set: fair_server_init() of kernel/sched/fair.c."""


def rt_ratio(
    kernel: Path = Path("/proc/sys/kernel"), release: str = "", fair_server: Path = _FAIR_SERVER
) -> float | None:
    """The share of a CPU that real-time tasks may use, `None` if it is not told; 1: there is no limit.

    Before 6.12 sched_rt_runtime_us of each sched_rt_period_us, Documentation/scheduler/sched-rt-group.rst; since then
    what the fair server leaves, whatever these say.
    """
    if has_fair_server(release or platform.release()):
        return _beside_fair_server(fair_server)
    try:
        runtime, period = (int((kernel / f"sched_rt_{name}_us").read_text()) for name in ("runtime", "period"))
        return min(1.0, runtime / period) if runtime >= 0 else 1.0
    except (OSError, ValueError, ZeroDivisionError):
        return None


def _beside_fair_server(directory: Path) -> float | None:
    """The usual share where debugfs does not show it, `None` where CPUs have different ones."""
    try:
        kept = {int((cpu / "runtime").read_text()) / int((cpu / "period").read_text()) for cpu in directory.iterdir()}
    except (OSError, ValueError, ZeroDivisionError):
        kept = set()
    if len(kept) > 1:
        return None
    return max(0.0, 1 - next(iter(kept), _KEPT_BY_FAIR_SERVER))


def weight_file() -> str:
    """Which file sets the weight of a cgroup, with `{}` for its path; empty: there is none."""
    try:
        root = cpu_hierarchy(read_mounts())
        name = "cpu.shares" if has_v1_cpu_controller() else "cpu.weight"
    except OSError:
        return ""
    return f"{root}{{}}/{name}" if root else ""
