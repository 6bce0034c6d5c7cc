"""The live kernel as a Source: paces the readings of BPF maps and /proc, and turns them into Frames."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from schedtop.model import Frame, Host
from schedtop.rows import Rows, take_rows
from schedtop.sources import proc
from schedtop.sources.bpf import Limits, Programs, build
from schedtop.sources.cgroups import CgroupNames, cpu_hierarchy
from schedtop.sources.frontend import choose_front_end
from schedtop.sources.reading import Moment, Reading, TaskLedger, difference, queue_length
from schedtop.units import NS_PER_S

DRAIN_NS = NS_PER_S // 4
"""The ring buffer is emptied at least this often, however long the interval."""


class LiveSource:
    """The running kernel. Opening compiles and attaches the programs; only the thread that takes Frames reads them.

    `interval_ns`: the length of a Frame, `first_ns`: that of the first one, if it is to be shorter; `source`: `auto`,
    `btf` or `tracepoint`.
    """

    def __init__(
        self,
        interval_ns: int,
        threshold_ns: int,
        source: str = "auto",
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        first_ns: int | None = None,
    ) -> None:
        self.interval_ns = interval_ns
        self.threshold_ns = threshold_ns
        self._wanted = source
        self._limits = limits
        self._first_ns = min(first_ns or interval_ns, interval_ns)
        self._measures = False
        self._grouping = ""
        self.host: Host

    def __enter__(self) -> LiveSource:
        front_end = choose_front_end(self._wanted)
        self._possible_cpus = proc.possible_cpus()
        self.host = proc.identify_host(front_end.name)
        self._unavailable = MappingProxyType(front_end.unavailable)
        self._ledger = TaskLedger(self._limits.task_slots)
        self._cgroups = CgroupNames(cpu_hierarchy(Path("/proc/self/mounts").read_text()))
        self._processes = proc.ProcessNames()
        self._epoch = 1
        self._late_ticks = 0
        compiled = build(front_end, self._possible_cpus, self._limits)
        self._programs = Programs(front_end, compiled, self.threshold_ns)
        self._programs.config["epoch"] = self._epoch
        return self

    def __exit__(self, *exc: Any) -> None:
        self._programs.close()

    def set_threshold(self, threshold_ns: int) -> None:
        """Asks for another slow-wait threshold; the kernel side has it from the next reading on."""
        self.threshold_ns = threshold_ns

    def set_grouping(self, kind: str) -> None:
        """Asks for a histogram of each group; the kernel side keeps them from the next reading on."""
        self._grouping = kind

    def set_measuring(self, on: bool) -> None:
        """Asks the kernel to time our programs, or no longer; it does from the next reading on."""
        self._measures = on

    def frames(self, stop: threading.Event) -> Iterator[Frame]:
        """Frames of the live kernel, one each interval; a late tick skips to the next deadline and is counted."""
        earlier = self._read()
        deadline = earlier.time_ns + self._first_ns
        while self._wait_until(deadline, stop):
            later = self._read()
            yield difference(earlier, later)
            earlier = later
            deadline += self.interval_ns
            missed = max(0, (time.monotonic_ns() - deadline) // self.interval_ns + 1)
            self._late_ticks += missed
            deadline += missed * self.interval_ns

    def _wait_until(self, deadline: int, stop: threading.Event) -> bool:
        """False if `stop` came first."""
        while (rest := deadline - time.monotonic_ns()) > 0:
            if stop.wait(min(rest, DRAIN_NS) / NS_PER_S):
                return False
            self._programs.drain()
        return not stop.is_set()

    def _read(self) -> Reading:
        programs, epoch = self._programs, self._epoch
        self._epoch += 1
        # From here on the kernel notes longest waits under the next epoch, and leaves those of this one alone.
        programs.config["epoch"] = self._epoch
        threshold_ns = int(programs.config["threshold_ns"][0])
        programs.config["threshold_ns"] = self.threshold_ns
        programs.measure(self._measures)
        cpus = programs.cpus.copy()
        time_ns, wall_ns = time.monotonic_ns(), time.time_ns()
        slots = programs.tasks
        moved = self._ledger.moved(slots, programs.cpus["current_tid"].astype(np.int64))
        rows, overflow = take_rows(slots, moved), programs.overflow()
        tasks = self._ledger.settle(moved, rows, overflow, Moment.of(time_ns, epoch, programs.cpus.copy()))
        tasks["process"] = self._process_names(tasks, slots)
        return Reading(
            time_ns=time_ns,
            wall_ns=wall_ns,
            epoch=epoch,
            cpus=cpus,
            tasks=tasks,
            slow_waits=programs.slow_waits(),
            threshold_ns=threshold_ns,
            stat=proc.read_stat(self._possible_cpus),
            pressure=proc.read_pressure(),
            own=replace(proc.own_cost(), bpf_ns=programs.run_ns()),
            late_ticks=self._late_ticks,
            queue_length=queue_length(np.concatenate((rows, overflow)) if len(overflow) else rows, len(cpus)),
            cgroups=self._cgroups.resolve(np.unique(tasks["cgroup_id"]).tolist()),
            unavailable=self._unavailable,
        )

    def _process_names(self, tasks: Rows, slots: Rows) -> Any:
        """The comm of each task's thread group leader: from the leader's slot, else from /proc."""
        leads = tasks["tid"] == tasks["tgid"]
        leaders = tasks["tgid"].astype(np.int64) & (len(slots) - 1)
        names = np.where(leads, tasks["comm"], slots["comm"][leaders])
        for index in np.flatnonzero((slots["tid"][leaders] != tasks["tgid"]) & ~leads):
            names[index] = self._processes.name(int(tasks["tgid"][index]))
        return names
