"""Competition: the tasks that wanted the CPUs in one window, and the groups that their weights count in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FAIR = ("other", "batch", "idle")
"""Policies of the fair class: they share by weight."""

FIRST = ("fifo", "rr", "deadline")
"""Policies that come before the fair class: what they use, it never has."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One task in the window. `used` and `wanted` (ran, or waited to): the share of the window, 0..1.

    `groups`: keys of `Competition.groups`, outermost first; none: it competes at the root. `cpus`: where it may run.
    `weight`: of its policy and nice value; it counts against what is in the same group alone.
    """

    tid: int
    tgid: int
    comm: str
    policy: str
    nice: int
    rt_priority: int
    weight: int
    cpus: frozenset[int]
    groups: tuple[str, ...]
    used: float
    wanted: float

    @property
    def is_fair(self) -> bool:
        """Whether weights decide what it gets."""
        return self.policy in FAIR


@dataclass(frozen=True, slots=True)
class Group:
    """A cgroup (`cgroup`, `name` its path) or the autogroup of a session (`autogroup`, `name` its number).

    `weight`: in the unit of nice weights, against what is beside the group. `quota`: how many CPUs it may use in all,
    `None`: no quota. `file`: what sets the weight, `setting`: the value there now: cpu.weight, cpu.shares, or a nice
    value.
    """

    kind: str
    name: str
    weight: int
    quota: float | None
    file: str
    setting: int

    @property
    def words(self) -> str:
        """What it is called in a sentence."""
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Competition:
    """All that is known of a window of `interval_ns`.

    `capacity`: of each CPU, the share of the window that is there for the contenders: what small tasks used, which are
    not among them, is off it.
    """

    interval_ns: int
    contenders: tuple[Contender, ...]
    groups: Mapping[str, Group]
    capacity: Mapping[int, float]
