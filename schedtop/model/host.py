"""Host: what does not change while a source is open, and how its CPUs lie."""

from __future__ import annotations

from dataclasses import dataclass

from schedtop.base.units import printable


@dataclass(frozen=True, slots=True)
class Topology:
    """Which CPUs share a last-level cache, a NUMA node and a core: a number for each CPU id, equal where they do.

    `cores` is empty where it is not known (older recordings do not tell).
    """

    caches: tuple[int, ...]
    nodes: tuple[int, ...]
    cores: tuple[int, ...] = ()

    def crossing(self, one: int, other: int) -> str:
        """What lies between two CPUs: one of DOMAINS (`numa`, `cache`, or nothing)."""
        known = range(len(self.caches))
        if one not in known or other not in known:
            return ""
        if self.nodes[one] != self.nodes[other]:
            return "numa"
        return "cache" if self.caches[one] != self.caches[other] else ""


@dataclass(frozen=True, slots=True)
class Host:
    """What does not change while a source is open."""

    name: str
    kernel: str
    source: str
    virtualised: bool | None = None
    notes: tuple[str, ...] = ()
    topology: Topology | None = None
    scope: str = ""
    """Which tasks alone are looked at (a filter in the kernel), in words; empty: all."""

    rt_ratio: float | None = None
    """The share of each CPU that real-time tasks may use together (fair server, before 6.12 sched_rt_runtime_us); 1:
    all, `None`: not known."""

    weight_file: str = ""
    """Which file sets the weight of a cgroup, with `{}` for its path; empty: not known."""

    recorded_source: str = ""
    """Of a recording that is played: the source that it was made through."""

    boot_id: str = ""
    """The kernel's number of this boot (/proc/sys/kernel/random/boot_id): hosts may share a name; empty: not known."""

    @property
    def is_this(self) -> bool:
        """Whether the tasks are real, and now on the host that we run on."""
        return bool(self.boot_id) and not self.recorded_source

    def __post_init__(self) -> None:
        """All of it is shown and written everywhere, and a scope may be the path of a group that anybody has named."""
        for name in ("name", "kernel", "source", "scope", "weight_file", "recorded_source", "boot_id"):
            object.__setattr__(self, name, printable(getattr(self, name)))
        object.__setattr__(self, "notes", tuple(map(printable, self.notes)))


HIDDEN = "only your own processes are visible: /proc is mounted with hidepid"
INSIDE = "only the tasks of this pid namespace are visible; CPUs and pressure are the host's"
"""Notes of a Host with tasks that are not seen: nothing may be said of all tasks then."""
