"""How the scheduler is told to treat a task: affinity, policy, and the quota of its cgroup."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from schedtop.base.units import printable
from schedtop.model.rows import text
from schedtop.sources.host.cgroups import cpu_hierarchy, group_directory, mounted_group, read_mounts
from schedtop.sources.host.sched_ext import loaded_scheduler, treatment_beside
from schedtop.sources.host.task_cgroups import cpu_group
from schedtop.sources.host.throttling import quota_ratio, read_statistics
from schedtop.sources.host.topology import cpu_list
from schedtop.sources.host.weights import read_group_weight
from schedtop.sources.task.proc import read_stat, read_status
from schedtop.task import Attributes, Quota


class AttributeReader:
    """How a task is scheduled, with the quota statistics since the last reading."""

    def __init__(self, tgid: int, tid: int, proc: Path = Path("/proc"), mounts: str | None = None) -> None:
        self._tgid, self._tid, self._proc = tgid, tid, proc
        self._root = cpu_hierarchy(read_mounts() if mounts is None else mounts)
        self._top = mounted_group(self._root) if self._root else "/"
        # Only v2 has this file at every directory of the hierarchy.
        self._unified = bool(self._root and (self._root / "cgroup.controllers").exists())
        self._earlier: Quota | None = None
        self._last: Attributes | None = None

    def read(self) -> Attributes | None:
        """As of now; of a task that is gone the last ones, `None` if there are none."""
        now = read_stat(self._tgid, self._tid, self._proc)
        directory = self._proc / str(self._tgid) / "task" / str(self._tid)
        try:
            affinity = printable(read_status(directory).get("Cpus_allowed_list", "").strip())
            cgroup = cpu_group(os.fsdecode((directory / "cgroup").read_bytes()))
        except OSError:
            now = None
        if now is None:
            return self._last
        told = treatment_beside(now.treatment, loaded_scheduler())
        self._last = Attributes(
            affinity,
            _cpu_count(affinity),
            now.policy,
            now.rt_priority,
            now.nice,
            text(os.fsencode(cgroup)),
            self._quota_since(cgroup),
            told.sched_class.label,
            told.weight,
            self._cgroup_weight(cgroup),
            self._slice(directory) if told.is_fair else None,
        )
        return self._last

    def _cgroup_weight(self, cgroup: str) -> int | None:
        """The weight of its group; the root has none, since it has no siblings."""
        if self._root is None or cgroup in ("", "/"):
            return None
        directory = group_directory(self._root, self._top, cgroup)
        return read_group_weight(directory, self._unified) or None if directory else None

    @staticmethod
    def _slice(directory: Path) -> int | None:
        """Its time slice, where the kernel tells (proc_sched_show_task() in kernel/sched/debug.c)."""
        try:
            lines = (directory / "sched").read_bytes().splitlines()
            found = next((line for line in lines if line.startswith(b"se.slice ")), b":")
            return int(found.rpartition(b":")[2]) or None
        except (OSError, ValueError):
            return None

    def _quota_since(self, cgroup: str) -> Quota | None:
        now = self._quota(cgroup)
        earlier, self._earlier = self._earlier, now
        if now is None or earlier is None or earlier.cgroup != now.cgroup:
            return now and replace(now, periods=0, throttled_periods=0, throttled_ns=0)
        changes = {
            name: max(0, getattr(now, name) - getattr(earlier, name))
            for name in ("periods", "throttled_periods", "throttled_ns")
        }
        return replace(now, **changes)

    def _quota(self, cgroup: str) -> Quota | None:
        """Of the group, or the nearest one above that has a quota; with its counters since the group was made."""
        if self._root is None or not cgroup:
            return None
        unified = self._unified
        path = cgroup
        while True:
            directory = group_directory(self._root, self._top, path)
            if directory is None:
                return None
            ratio = quota_ratio(directory, unified)
            if ratio is not None:
                break
            if path in ("/", ""):
                return None
            path = path.rpartition("/")[0] or "/"
        try:
            statistics = read_statistics(directory, unified)
            period = _period_ns(directory, unified)
        except (OSError, ValueError, IndexError):
            return None
        return Quota(text(os.fsencode(path)), round(ratio * period), period, *statistics[:3])


def _cpu_count(affinity: str) -> int:
    """How many CPUs a mask allows, 0 if that cannot be told."""
    try:
        return len(cpu_list(affinity))
    except ValueError:
        return 0


def _period_ns(directory: str, unified: bool) -> int:
    name = "cpu.max" if unified else "cpu.cfs_period_us"
    return int(Path(directory, name).read_text().split()[-1]) * 1000
