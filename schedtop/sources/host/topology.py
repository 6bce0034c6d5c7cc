"""Which CPUs share a core, a last-level cache and a NUMA node, from /sys/devices/system."""

from __future__ import annotations

import os
from pathlib import Path

from schedtop.base.cpu_lists import cpu_list as cpu_list
from schedtop.model.host import Topology


def read_topology(possible_cpus: int, root: Path = Path("/sys/devices/system")) -> Topology:
    """The topology now: of each CPU the smallest CPU that shares its last-level cache, its NUMA node, and the smallest
    CPU of its core (itself where that is not known).

    What is not known makes no crossing: a CPU without cache information (offline, as sysfs drops it then, or a guest
    that is told none) counts to the cache of its node's first CPU that has some, and without any at all the CPUs of a
    node share one; a CPU that no node lists is in node 0 (offline ones are listed nowhere: of one that comes online
    later the place is not known). Never raises. Source: Documentation/ABI/stable/
    sysfs-devices-node and Documentation/ABI/testing/sysfs-devices-system-cpu.
    """
    nodes = _nodes(possible_cpus, root / "node")
    known = {cpu: cache for cpu in range(possible_cpus) if (cache := _cache(root / "cpu" / f"cpu{cpu}")) is not None}
    fallback = {nodes[cpu]: cpu for cpu in reversed(range(possible_cpus))}
    fallback |= {nodes[cpu]: known[cpu] for cpu in sorted(known, reverse=True)}
    caches = tuple(known.get(cpu, fallback[nodes[cpu]]) for cpu in range(possible_cpus))
    return Topology(caches, tuple(nodes), tuple(_core(cpu, root / "cpu") for cpu in range(possible_cpus)))


def _nodes(possible_cpus: int, root: Path) -> list[int]:
    nodes = [0] * possible_cpus
    for directory in _numbered(root, "node"):
        for cpu in _read_list(directory / "cpulist"):
            if cpu < possible_cpus:
                nodes[cpu] = int(directory.name[4:])
    return nodes


def _cache(cpu: Path) -> int | None:
    """The smallest CPU of those that share this one's cache of the highest level."""
    best = (0, 0)
    for index in _numbered(cpu / "cache", "index"):
        sharers = _read_list(index / "shared_cpu_list")
        level = _read_list(index / "level")
        if sharers and level:
            best = max(best, (level[0], -min(sharers)))
    return -best[1] if best[0] else None


def _core(cpu: int, root: Path) -> int:
    """The smallest CPU of its core; `thread_siblings_list` is the older name, from before 5.3."""
    directory = root / f"cpu{cpu}" / "topology"
    siblings = _read_list(directory / "core_cpus_list") or _read_list(directory / "thread_siblings_list")
    return min(siblings, default=cpu)


def _numbered(root: Path, prefix: str) -> list[Path]:
    """Directories such as `node0`, and not `power`."""
    try:
        return sorted(path for path in root.glob(f"{prefix}[0-9]*") if path.name[len(prefix) :].isdecimal())
    except OSError:
        return []


def _read_list(path: Path) -> list[int]:
    try:
        return cpu_list(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return []


def online_cpus(path: Path = Path("/sys/devices/system/cpu/online")) -> tuple[int, ...]:
    """The ids of the CPUs that run; without sysfs those that we may use."""
    try:
        return tuple(sorted(cpu_list(path.read_text())))
    except (OSError, ValueError):
        return tuple(sorted(os.sched_getaffinity(0)))


def present_cpus(path: Path = Path("/sys/devices/system/cpu/present")) -> tuple[int, ...]:
    """The ids of those that run or can be brought up; more may be possible, where a hypervisor adds them."""
    return online_cpus(path)
