"""Who competes for the CPUs: weights, groups and affinity of the tasks that wanted one, read from /proc when asked.

A task in no cgroup of the cpu controller is in the autogroup of its session, if autogroups are on. Source:
task_wants_autogroup() of kernel/sched/autogroup.c, and man 7 sched, "The autogroup feature".
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from schedtop.entitlement.competition import Competition, Contender, Group
from schedtop.entitlement.times import Times
from schedtop.model.rows import text
from schedtop.model.weights import (
    IDLE_WEIGHT,
    nice_weight,
    shares_of_cpu_weight,
    task_weight,
)
from schedtop.sources.host.cgroups import cpu_hierarchy, group_directory, mounted_group, read_mounts
from schedtop.sources.host.task_cgroups import cpu_group
from schedtop.sources.host.task_stat import scheduling_of, stat_fields
from schedtop.sources.host.throttling import quota_ratio

MOST_CONTENDERS = 100
"""How many tasks are looked up, those that wanted most; what the others used is taken off their CPUs."""

LEAST_WANTED = 0.002
"""What ran and waited for less of the window is not looked up either, unless it is asked for."""


class CompetitionReader:
    """Reads the Competition of a window, one file at a time for as many tasks as matter. Not shared by threads."""

    def __init__(self, proc: Path = Path("/proc"), mounts: str | None = None) -> None:
        self._proc = proc
        self._root = cpu_hierarchy(read_mounts() if mounts is None else mounts)
        self._top = mounted_group(self._root) if self._root else "/"
        self._groups: dict[str, Group] = {}

    def read(self, times: Times, tids: Iterable[int]) -> Competition:
        """Of a window; `tids` are among the contenders however little they wanted.

        Weights are those of now. Raises ValueError with one sentence where a group's weight cannot be read.
        """
        self._groups = {}
        interval_ns, rows, asked = max(1, times.interval_ns), times.rows, set(tids)
        wanted_ns = rows["run_ns"] + rows["run_delay_ns"]
        autogroups = self._autogroups_on()
        contenders: list[Contender] = []
        small_ns = dict(times.small_ns)
        for place in (-wanted_ns).argsort(kind="stable").tolist():
            row, one = rows[place], None
            matters = len(contenders) < MOST_CONTENDERS and wanted_ns[place] >= LEAST_WANTED * interval_ns
            if matters or int(row["tid"]) in asked:
                one = self._contender(row, interval_ns, autogroups)
            if one is not None:
                if not (one.is_fair or row["migrations"] or one.tid in asked):
                    one = replace(one, cpus=frozenset({int(row["last_cpu"])}))  # what it used, it used there
                contenders.append(one)
            else:  # too small, or gone meanwhile: what it used is not there for the others
                cpu = int(row["last_cpu"])
                small_ns[cpu] = small_ns.get(cpu, 0) + int(row["run_ns"])
        capacity = {cpu: max(0.0, 1.0 - small_ns.get(cpu, 0) / interval_ns) for cpu in times.cpus}
        return Competition(interval_ns, tuple(contenders), self._groups, capacity)

    def key_of(self, path: str) -> str:
        """The key of a cgroup below the mount in the Competition. Raises ValueError where its weight does not count."""
        path = path if self._top == "/" else f"{self._top}{path}"
        names = [name for name in path.split("/") if name]
        if not names:
            raise ValueError("the root cgroup has no weight: it has all that there is")
        keys = self._cgroups(path)
        if len(keys) < len(names):
            last = f"/{'/'.join(names[: len(keys)])}"
            raise ValueError(f"the cpu controller is not enabled for {path}: its tasks count one by one in {last}")
        return keys[-1]

    def _contender(self, row: Any, interval_ns: int, autogroups: bool) -> Contender | None:
        tid, tgid = int(row["tid"]), int(row["tgid"])
        directory = self._proc / str(tgid) / "task" / str(tid)
        try:
            stat = scheduling_of(stat_fields((directory / "stat").read_bytes()))
            path = cpu_group(os.fsdecode((directory / "cgroup").read_bytes()))
            cpus = frozenset(os.sched_getaffinity(tid))
        except (OSError, ValueError, IndexError):
            return None
        groups = self._cgroups(path)
        if not groups and autogroups:
            groups = self._autogroup(tgid)
        used = min(1.0, int(row["run_ns"]) / interval_ns)
        wanted = min(1.0, used + int(row["run_delay_ns"]) / interval_ns)
        weight = task_weight(stat.policy, stat.nice)
        name = text(row["comm"])
        return Contender(tid, tgid, name, stat.policy, stat.nice, stat.rt_priority, weight, cpus, groups, used, wanted)

    def _cgroups(self, path: str) -> tuple[str, ...]:
        """The keys of the groups of the cpu controller that a path lies in, outermost first; read at first sight."""
        if self._root is None or not path:
            return ()
        names = [name for name in path.split("/") if name]
        keys = []
        for depth in range(1, len(names) + 1):
            group = "/" + "/".join(names[:depth])
            if f"cgroup {group}" not in self._groups:
                found = self._cgroup(group)
                if found is None:  # on v2 the controller ends here: what is below is one with its parent
                    break
                self._groups[f"cgroup {group}"] = found
            keys.append(f"cgroup {group}")
        return tuple(keys)

    def _cgroup(self, path: str) -> Group | None:
        assert self._root is not None
        directory = group_directory(self._root, self._top, path)
        if directory is None:
            raise ValueError(f"the weight of the cgroup {path} is not to be seen from here")
        for name in ("cpu.weight", "cpu.shares"):
            file = Path(directory, name)
            try:
                setting = int(file.read_text())
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                raise ValueError(f"the weight of the cgroup {path} cannot be read: {error}") from error
            unified = name == "cpu.weight"
            weight = shares_of_cpu_weight(setting) if unified else setting
            with suppress(OSError):
                weight = IDLE_WEIGHT if Path(directory, "cpu.idle").read_text().strip() == "1" else weight
            return Group("cgroup", text(os.fsencode(path)), weight, quota_ratio(directory, unified), str(file), setting)
        return None

    def _autogroups_on(self) -> bool:
        try:
            return (self._proc / "sys/kernel/sched_autogroup_enabled").read_text().strip() == "1"
        except OSError:
            return False

    def _autogroup(self, tgid: int) -> tuple[str, ...]:
        """`/autogroup-91 nice 5`; a kernel thread has none."""
        file = self._proc / str(tgid) / "autogroup"
        try:
            name, _, nice = file.read_text().strip().rpartition(" nice ")
            number = int(name.rpartition("-")[2])
            setting = int(nice)
        except (OSError, ValueError):
            return ()
        key = f"autogroup {number}"
        if key not in self._groups:
            self._groups[key] = Group("autogroup", str(number), nice_weight(setting), None, str(file), setting)
        return (key,)
