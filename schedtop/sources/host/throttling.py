"""Quota statistics of cgroups, from cpu.stat and cpu.pressure of those that have a CPU quota.

Source: Documentation/scheduler/sched-bwc.rst (v1) and Documentation/admin-guide/cgroup-v2.rst (cpu.max, cpu.stat).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from schedtop.base.units import NS_PER_US
from schedtop.model.rows import THROTTLING_DTYPE, Rows
from schedtop.sources.host.proc import parse_pressure

RECHECK_S = 5.0
"""How long it holds that a group has a quota, or none."""

THROTTLED_RECHECK_S = 1.0
"""The same for a group that was throttled since the last call: somebody may be changing its quota."""

MOST_THROTTLED_CHECKS = 50
"""How many of these are looked at again in a call."""

MOST_CHECKS = 500
"""How many groups are looked at for a quota in one call; new ones first, the others wait for the next call."""

MOST_QUOTAS = 400
"""How many groups' statistics are read in a call; with more, those that were found first."""

_NEVER = float("-inf")
_NONE = np.zeros(0, THROTTLING_DTYPE)


Statistics = tuple[int, int, int, int]
"""Periods, throttled periods, throttled ns, pressure ns."""


class Quota(NamedTuple):
    """What a group may run: `quota_ns` in each `period_ns`, and up to `burst_ns` that it has saved (0: none)."""

    quota_ns: int
    period_ns: int
    burst_ns: int

    @property
    def ratio(self) -> float:
        """As a number of CPUs."""
        return self.quota_ns / self.period_ns


class Throttling:
    """Statistics of the groups with a quota below `root`, the mount of v2 (`unified`) or of v1's cpu controller."""

    def __init__(self, root: Path | None, unified: bool) -> None:
        self._root = root
        self._unified = unified
        self._groups: Mapping[int, str] = MappingProxyType({})
        self._paths: dict[int, str] = {}
        # By time of the check, oldest first: what is checked goes to the end, and what never was is at the beginning.
        self._checked: dict[int, float] = {}
        self._quotas: dict[int, Quota] = {}
        self._throttled: dict[int, int] = {}

    def read(self, groups: Mapping[int, str]) -> Rows:
        """Cumulative rows of THROTTLING_DTYPE, shape (groups with a quota,), of `groups` and all that they are inside.

        `groups` has paths relative to the root (`/` is the root) by id, and is not changed afterwards. A group that
        has just got its quota may be found some calls later if there are very many; one that is gone has no row.
        """
        if self._root is None:
            return _NONE
        if groups is not self._groups:
            self._groups = groups
            self._take(dict(groups) | _ancestors(self._root, groups))
        now = time.monotonic()
        self._check(self._due(now), now)
        statistics = dict(self._statistics())
        before, self._throttled = self._throttled, {cgroup: each[1] for cgroup, each in statistics.items()}
        held = (cgroup for cgroup, times in self._throttled.items() if times > before.get(cgroup, times))
        due = (cgroup for cgroup in held if self._checked.get(cgroup, now) + THROTTLED_RECHECK_S <= now)
        self._check(list(islice(due, MOST_THROTTLED_CHECKS)), now)
        rows = [(cgroup, *each, *self._quotas[cgroup]) for cgroup, each in statistics.items() if cgroup in self._quotas]
        return np.array(rows, THROTTLING_DTYPE) if rows else _NONE

    def quotas(self) -> Mapping[int, float]:
        """The quota of each group that has one, by id, as a number of CPUs; as of the last `read`."""
        return MappingProxyType({cgroup: quota.ratio for cgroup, quota in self._quotas.items()})

    @property
    def may_hold_back(self) -> bool:
        """Whether some group may have a quota, as of the last `read`: one has, or not all were looked at yet."""
        return self._root is None or bool(self._quotas) or next(iter(self._checked.values()), 0.0) == _NEVER

    def _take(self, paths: dict[int, str]) -> None:
        self._paths = paths
        known = {cgroup: when for cgroup, when in self._checked.items() if cgroup in paths}
        self._checked = dict.fromkeys(paths.keys() - known.keys(), _NEVER) | known
        self._quotas = {cgroup: quota for cgroup, quota in self._quotas.items() if cgroup in paths}

    def _statistics(self) -> Iterator[tuple[int, Statistics]]:
        for cgroup in list(self._quotas):
            try:
                yield cgroup, read_statistics(self._directory(cgroup), self._unified)
            except (OSError, ValueError):
                self._quotas.pop(cgroup)  # gone; if it is not, the next check finds it again

    def _check(self, due: Iterable[int], now: float) -> None:
        """Looks whether these groups have a quota, and which."""
        for cgroup in due:
            self._checked.pop(cgroup, None)
            self._checked[cgroup] = now
            quota = self._quota(cgroup)
            if quota is None:
                self._quotas.pop(cgroup, None)
            elif cgroup in self._quotas or len(self._quotas) < MOST_QUOTAS:
                self._quotas[cgroup] = quota

    def _due(self, now: float) -> list[int]:
        """The groups that were not looked at for the longest time, within the budget."""
        due: list[int] = []
        for cgroup, checked in self._checked.items():
            if len(due) >= MOST_CHECKS or checked + RECHECK_S > now:
                break
            due.append(cgroup)
        return due

    def _quota(self, cgroup: int) -> Quota | None:
        directory = self._directory(cgroup)
        quota = read_quota(directory, self._unified)
        if quota is None:
            return None
        try:
            # A path is used again by a later group of that name (a restarted service): not this one's quota.
            return quota if os.stat(directory).st_ino == cgroup else None
        except OSError:
            return None

    def _directory(self, cgroup: int) -> str:
        return f"{self._root}{self._paths[cgroup]}"


def quota_ratio(directory: str, unified: bool) -> float | None:
    """The CPU quota of the group of that directory, as a number of CPUs; `None` if it has none or is gone."""
    quota = read_quota(directory, unified)
    return quota and quota.ratio


def read_quota(directory: str, unified: bool) -> Quota | None:
    """The CPU quota of the group of that directory; `None` if it has none or is gone."""
    try:
        if unified:
            quota, period = _read(f"{directory}/cpu.max").split()
        else:
            quota = _read(f"{directory}/cpu.cfs_quota_us").strip()
            period = b"1" if quota.startswith(b"-") else _read(f"{directory}/cpu.cfs_period_us")
        if quota == b"max" or int(quota) <= 0 or int(period) <= 0:
            return None
        return Quota(int(quota) * NS_PER_US, int(period) * NS_PER_US, _burst_ns(directory, unified))
    except (OSError, ValueError):
        return None


def _burst_ns(directory: str, unified: bool) -> int:
    try:
        return int(_read(f"{directory}/cpu.{'max.burst' if unified else 'cfs_burst_us'}")) * NS_PER_US
    except (OSError, ValueError):
        return 0  # before 5.14


def read_statistics(directory: str, unified: bool) -> Statistics:
    """Periods, throttled periods, throttled ns and pressure ns (0 where it is not kept) of a group since it was made.

    Raises OSError when the group is gone, ValueError when the file is not what it should be.
    """
    statistics = {}
    for line in _read(f"{directory}/cpu.stat").splitlines():
        name, _, value = line.partition(b" ")
        statistics[name] = int(value)
    throttled_ns = statistics.get(b"throttled_usec", 0) * 1000 if unified else statistics.get(b"throttled_time", 0)
    pressure_ns = 0
    if unified:
        try:
            pressure_ns = parse_pressure(_read(f"{directory}/cpu.pressure").decode("ascii", "replace")).some_ns
        except OSError:
            pressure_ns = 0  # not kept: psi=0, or cgroup.pressure is 0
    return statistics.get(b"nr_periods", 0), statistics.get(b"nr_throttled", 0), throttled_ns, pressure_ns


def _ancestors(root: Path, groups: Mapping[int, str]) -> dict[int, str]:
    """The groups that those of `groups` are inside of and that are not among them: a quota there throttles too."""
    known = set(groups.values())
    found: dict[int, str] = {}
    for path in groups.values():
        for parent in _parents(path):
            if parent in known:
                break  # its own are looked at on its own turn, or were
            known.add(parent)
            try:
                found[os.stat(f"{root}{parent}").st_ino] = parent
            except OSError:
                continue  # gone
    return found


def _parents(path: str) -> Iterator[str]:
    while path != "/" and path:
        path = path.rpartition("/")[0] or "/"
        yield path


def _read(path: str) -> bytes:
    # Plain system calls: three times as fast as a file object, and this is done for hundreds of groups at once.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)
