"""Which CPUs the kernel leaves alone when it balances tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from schedtop.base.cpu_lists import cpu_list
from schedtop.sources.host.cgroups import mount_fields


@dataclass(frozen=True, slots=True)
class Isolation:
    """`isolated`: CPUs in no scheduling domain, which nothing is moved to or from; `nohz_full`: those without a tick.

    An idle one of the latter asks for no tasks, and none looks for work on its behalf.
    """

    isolated: frozenset[int] = frozenset()
    nohz_full: frozenset[int] = frozenset()

    @property
    def apart(self) -> frozenset[int]:
        """Those that cannot be expected to take a task from another CPU."""
        return self.isolated | self.nohz_full


def read_isolation(cpu: Path = Path("/sys/devices/system/cpu"), hierarchies: Iterable[Path] = ()) -> Isolation:
    """The isolation now; `hierarchies`: where cgroups are mounted. Never raises: what is not told is not isolated.

    By the command line (`isolcpus`, `nohz_full`), and of cgroup v2 by partitions of type `isolated` (kernel 6.7 and
    later say which). Source: Documentation/ABI/testing/sysfs-devices-system-cpu and admin-guide/cgroup-v2.rst.
    """
    partitions = (_read(root / "cpuset.cpus.isolated") for root in hierarchies)
    return Isolation(_read(cpu / "isolated").union(*partitions), _read(cpu / "nohz_full"))


def _read(path: Path) -> frozenset[int]:
    try:
        return frozenset(cpu_list(path.read_text(encoding="ascii")))
    except (OSError, ValueError):  # `(null)` where the kernel was not told of any
        return frozenset()


def unified_hierarchies(mounts: str) -> list[Path]:
    """Where cgroup v2 is mounted, by the text of /proc/self/mounts."""
    return [Path(fields[1]) for fields in mount_fields(mounts) if len(fields) > 2 and fields[2] == "cgroup2"]
