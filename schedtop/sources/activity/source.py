"""Activity on the live kernel: attached while it is open (bpf/activity/activity.h)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

from schedtop.activity import PARTS
from schedtop.activity.activity import Activity
from schedtop.base.units import NS_PER_S
from schedtop.model.host import Host
from schedtop.model.source import SourceError
from schedtop.sources.activity.front_end import choose_activity_front_end
from schedtop.sources.activity.programs import ActivityPrograms
from schedtop.sources.activity.reading import Counts
from schedtop.sources.host import proc
from schedtop.sources.host.cgroups import CgroupNames, cpu_hierarchy, read_mounts
from schedtop.sources.kernel.pid_numbers import pid_numbers
from schedtop.sources.kernel.syscalls import syscall_names
from schedtop.sources.scope import Scope

_ALL = Scope()
NO_NAMES = "the numbers of system calls are not known for this machine"


class LiveActivity:
    """Counts what the tasks of `scope` do, of PARTS those in `only`.

    `source`: `auto`, `btf` or `tracepoint`. Opening compiles the programs, if they were not kept, and attaches them;
    closing detaches. One thread opens it, iterates and closes it.
    """

    def __init__(
        self,
        scope: Scope = _ALL,
        only: tuple[str, ...] = PARTS,
        interval_ns: int = NS_PER_S,
        source: str = "auto",
    ) -> None:
        self._scope, self._only = scope, only
        self._interval_ns = interval_ns
        self._wanted = source
        self._selected = self._counted = 0
        self.host: Host

    def __enter__(self) -> Self:
        front_end = choose_activity_front_end(self._wanted, self._only)
        self.host = replace(proc.identify_host(front_end.name, pid_numbers().note), scope=str(self._scope))
        self._programs = ActivityPrograms(front_end, self._scope, self._only, proc.possible_cpus())
        try:
            self._unavailable = dict(front_end.unavailable)
            for name, why in self._programs.refused.items():
                self._unavailable[front_end.parts[name]] = why
            if not syscall_names():
                self._unavailable["files"] = NO_NAMES
            self._cgroups = CgroupNames(cpu_hierarchy(read_mounts()))
            self._counts = Counts(self._programs, self._only)
            self._programs.begin()
            self._began = time.monotonic_ns()
            if "network" in self._only:
                self._programs.tell_open_connections()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: Any) -> None:
        self._programs.close()

    def select(self, tgid: int) -> None:
        """From the next interval on the system calls of this process are told as well; 0: of none. Of any thread."""
        self._selected = tgid

    def frames(self, stop: threading.Event) -> Iterator[Activity]:
        """What was done in each interval; a last, shorter one when `stop` is set."""
        while not stop.is_set():
            rest = self._began + self._interval_ns - time.monotonic_ns()
            stop.wait(max(0, rest) / NS_PER_S)
            yield self.latest()

    def take(self, duration_ns: int, stop: threading.Event) -> Activity:
        """All of the next `duration_ns` as one; shorter if `stop` is set."""
        total: Activity | None = None
        usual = self._interval_ns
        end = self._began + duration_ns
        self._interval_ns = min(usual, duration_ns)
        for activity in self.frames(stop):
            total = total + activity if total else activity
            rest = end - self._began
            if rest <= 0:
                break
            self._interval_ns = min(usual, rest)
        if total is None:
            raise SourceError("nothing was measured: it was interrupted at once")
        return total

    def latest(self) -> Activity:
        """What was done since the last time, or since the opening."""
        self._programs.look_through_tasks()
        epoch = self._programs.next_interval()
        began, self._began = self._began, time.monotonic_ns()
        selected, self._counted = self._counted, self._selected
        counted = self._counts.take(epoch, selected=bool(selected))
        if selected != self._counted:
            self._counts.select(self._counted)
        return Activity(
            host=self.host,
            start_time_ns=began + time.time_ns() - time.monotonic_ns(),
            end_ns=self._began,
            interval_ns=max(1, self._began - began),
            rows=counted.rows,
            only=self._only,
            connections=counted.connections,
            syscalls=counted.syscalls,
            selected_tgid=selected,
            selected_syscalls=counted.selected_syscalls,
            transitions=counted.transitions,
            latest=counted.latest,
            devices=counted.devices,
            device_names=counted.device_names,
            cgroups=self._cgroups.resolve(
                {*counted.rows["cgroup_id"].tolist(), *counted.connections["cgroup_id"].tolist()}
            ),
            unavailable=MappingProxyType(dict(self._unavailable)),
            loss=counted.loss,
        )
