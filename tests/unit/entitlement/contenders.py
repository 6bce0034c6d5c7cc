"""Competitions for the tests, from a few words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from schedtop.entitlement.competition import Competition, Contender, Group
from schedtop.model.weights import nice_weight, task_weight


def contender(
    tid: int,
    nice: int = 0,
    cpus: Iterable[int] = (0,),
    groups: tuple[str, ...] = (),
    used: float = 1.0,
    wanted: float = 1.0,
    policy: str = "other",
) -> Contender:
    """A task of a process of its own; it always wants a CPU, if not told otherwise."""
    first = 50 if policy in ("fifo", "rr") else 0
    weight = task_weight(policy, nice)
    return Contender(tid, tid, f"t{tid}", policy, nice, first, weight, frozenset(cpus), groups, used, wanted)


def cgroup(path: str, shares: int = 1024, quota: float | None = None) -> Group:
    """A group of v1."""
    return Group("cgroup", path, shares, quota, f"/sys/fs/cgroup/cpu{path}/cpu.shares", shares)


def autogroup(number: int, nice: int = 0) -> Group:
    """The autogroup of a session."""
    return Group("autogroup", str(number), nice_weight(nice), None, f"/proc/{number}/autogroup", nice)


def compete(
    *contenders: Contender, groups: Mapping[str, Group] | None = None, cpus: int = 1, taken: float = 0.0
) -> Competition:
    """On so many CPUs, of each of which small tasks have `taken` a share."""
    return Competition(10**9, contenders, groups or {}, dict.fromkeys(range(cpus), 1.0 - taken))
