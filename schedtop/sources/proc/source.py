"""The running kernel without privileges: what /proc tells every user. The rest is named as what needs them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from schedtop.base.units import NS_PER_S
from schedtop.model.cpus import CpuTable
from schedtop.model.frame import Frame
from schedtop.model.host import HIDDEN, INSIDE, Host
from schedtop.sources.host import proc
from schedtop.sources.host.cgroups import CgroupNames, cpu_hierarchy, has_v1_cpu_controller, read_mounts
from schedtop.sources.host.own_cost import OwnCost
from schedtop.sources.host.pid_numbers import shows_host
from schedtop.sources.host.reading import nothing_seen
from schedtop.sources.host.sched_ext import SchedExt, note_ext
from schedtop.sources.host.task_cgroups import TaskCgroups
from schedtop.sources.host.throttling import Throttling
from schedtop.sources.host.topology import read_topology
from schedtop.sources.kernel.findings import privileges
from schedtop.sources.proc.births import UnseenTasks
from schedtop.sources.proc.names import ProcPeople
from schedtop.sources.proc.polling import TaskPolling
from schedtop.sources.proc.reading import ProcReading, difference
from schedtop.sources.proc.task_files import read_file
from schedtop.sources.scope import Scope
from schedtop.sources.ticks import Ticks

BUDGET_RATIO = 0.08
"""So much of one CPU the look at all tasks may take."""

FIRST_LOOKS = 3
"""At most so many looks go before the first interval, until one is quick."""

UNPRIVILEGED = "needs privileges: run `sudo schedtop`"
NOT_CHOSEN = "not in /proc: choose another --source"
LOST = (
    "latency",
    "slow_waits",
    "switches",
    "migrations",
    "queue_length",
    "queue",
    "interrupts",
    "activity",
    "short_lived",
    "exits",
    "exit_codes",
    "parents",
)
"""Parts of a Frame that are not in /proc. `switches` are those by CPU: tasks have theirs in `task_switches`."""

WITHOUT_PRIVILEGES = "without privileges"


class ProcSource:
    """Polls /proc once an interval. `first_ns`: the length of the first one, if it is to be shorter."""

    def __init__(
        self,
        interval_ns: int,
        threshold_ns: int,
        first_ns: int | None = None,
        scope: Scope = Scope(),  # noqa: B008
    ) -> None:
        self.interval_ns = interval_ns
        self.threshold_ns = threshold_ns
        self._first_ns = min(first_ns or interval_ns, interval_ns)
        self._scope = scope
        self._budget_ns = int(interval_ns * BUDGET_RATIO)
        self._ticks = Ticks(interval_ns)
        self.host: Host

    def __enter__(self) -> Self:
        self._possible_cpus = proc.possible_cpus()
        host = proc.identify_host("proc")
        self._sees_all = True
        notes = list(self._visible())
        why = NOT_CHOSEN
        if privileges.programs().state != "ok":
            notes.insert(0, WITHOUT_PRIVILEGES + (": use sudo" if os.geteuid() else ""))
            why = UNPRIVILEGED
        self.host = replace(
            host, topology=read_topology(self._possible_cpus), scope=str(self._scope), notes=(*host.notes, *notes)
        )
        lost = dict.fromkeys(LOST, why)
        if not _counts_delays():
            lost |= dict.fromkeys(("tasks", "run_delay", "task_switches"), "this kernel keeps no /proc/PID/schedstat")
        self._unavailable = MappingProxyType(lost)
        root = cpu_hierarchy(read_mounts())
        self._cgroups = CgroupNames(root)
        self._cgroups.walk()
        self._throttling = Throttling(root, unified=not has_v1_cpu_controller())
        self._polling, self._own = TaskPolling(TaskCgroups(root).look_up), OwnCost()
        self._sched_ext = SchedExt()
        self._people = ProcPeople(self._polling.table, self._scope, self._cgroups)
        return self

    def __exit__(self, *exc: Any) -> None:
        self._polling.close()
        self._own.close()

    def _visible(self) -> Iterator[str]:
        """What this process cannot see of the host's tasks, in words."""
        if not os.access("/proc/1/schedstat", os.R_OK) and _counts_delays():
            self._sees_all = False
            yield HIDDEN
        elif not shows_host():
            self._sees_all = False
            yield INSIDE

    def set_threshold(self, threshold_ns: int) -> None:
        """Sets the threshold that the Frames carry; there are no single waits to compare with it."""
        self.threshold_ns = threshold_ns

    def set_grouping(self, kind: str) -> None:
        """There are no histograms."""

    def set_sampling(self, on: bool) -> None:
        """Run queues cannot be sampled."""

    def set_interrupts(self, on: bool) -> None:
        """Interrupts cannot be timed."""

    def set_measuring(self, on: bool) -> None:
        """There are no kernel programs to measure."""

    def frames(self, stop: threading.Event) -> Iterator[Frame]:
        """Frames of the live kernel, one each interval; a late tick skips to the next deadline and is counted."""
        earlier = self._begin()
        for _ in self._ticks.until(stop, earlier.time_ns + self._first_ns):
            later = self._read()
            yield difference(earlier, later, self.threshold_ns, self._unavailable)
            earlier = later

    def _begin(self) -> ProcReading:
        # The tasks first: it may take long when there are many, and no interval has begun yet. What they do meanwhile
        # is of no interval; the next look is quicker.
        if "tasks" not in self._unavailable:
            self._polling.begin(_begun(_read_stat_file()))
            for _ in range(FIRST_LOOKS):
                began_ns = time.monotonic_ns()
                self._polling.look(_begun(_read_stat_file()), self._budget_ns)
                if time.monotonic_ns() - began_ns < self._first_ns * BUDGET_RATIO:
                    break
        first = self._moment()
        self._unseen = UnseenTasks(first.begun)
        return first

    def _read(self) -> ProcReading:
        reading = self._moment()
        if "tasks" in self._unavailable:
            return reading
        look = self._polling.look(reading.begun, self._budget_ns)
        note_ext(look.rows, reading.sched_ext)
        unseen = self._unseen.unseen(reading.begun, look.born) if self._sees_all else 0
        return replace(reading, look=look, lives_unseen=unseen, tasks=self._people.chosen(look.rows))

    def _moment(self) -> ProcReading:
        """All but the tasks, now."""
        time_ns, wall_ns, text = time.monotonic_ns(), time.time_ns(), _read_stat_file()
        cgroups = self._cgroups.resolve(())
        return ProcReading(
            time_ns=time_ns,
            wall_ns=wall_ns,
            stat=proc.parse_stat(text, self._possible_cpus),
            begun=_begun(text),
            pressure=proc.read_pressure(),
            throttling=self._throttling.read(cgroups),
            cgroups=cgroups,
            own=self._own.now(),
            late_ticks=self._ticks.late,
            sched_ext=self._sched_ext.since_last(),
        )


def lost_frame() -> Frame:
    """An empty Frame in which each of LOST is missing, with its own name as the reason: to see what needs it."""
    return Frame(
        start_time_ns=0,
        end_ns=NS_PER_S,
        interval_ns=NS_PER_S,
        cpus=CpuTable.empty(1),
        threshold_ns=0,
        kernel_switches=0,
        unavailable=MappingProxyType({part: part for part in LOST}),
        **nothing_seen(1),
    )


def _read_stat_file() -> bytes:
    return Path("/proc/stat").read_bytes()


def _begun(stat: bytes) -> int:
    """How many tasks have begun since boot, by the text of /proc/stat: 0 where it does not say."""
    place = stat.find(b"\nprocesses ")
    return int(stat[place:].split(None, 2)[1]) if place >= 0 else 0


def _counts_delays() -> bool:
    """Whether the kernel keeps the times of tasks: our own have run, so they are not zero."""
    return read_file("/proc/self/schedstat").split()[:1] not in ([], [b"0"])
