"""The live kernel as a Source: paces the readings of BPF maps and /proc, and turns them into Frames."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from schedtop.base.breath import Breath
from schedtop.base.units import NS_PER_S
from schedtop.model.ext_scheduler import ExtScheduler
from schedtop.model.frame import Frame
from schedtop.model.group_latency import GroupLatency
from schedtop.model.host import Host, Topology
from schedtop.model.rows import ROLES, SLOW_WAIT_DTYPE, Integers, Rows, copy_rows, rows_where
from schedtop.sources.host import proc
from schedtop.sources.host.cgroups import CgroupNames, cpu_hierarchy, has_v1_cpu_controller, read_mounts
from schedtop.sources.host.isolation import read_isolation, unified_hierarchies
from schedtop.sources.host.sched_ext import EXT_TAKES, SchedExt, ext_queues, note_ext
from schedtop.sources.host.task_cgroups import TaskCgroups
from schedtop.sources.host.throttling import Throttling
from schedtop.sources.host.topology import read_topology
from schedtop.sources.interrupts.timing import InterruptTiming
from schedtop.sources.kernel.front_end import SAMPLER, FrontEnd, choose_front_end
from schedtop.sources.kernel.kept_btf import reading_once
from schedtop.sources.kernel.pid_numbers import pid_numbers
from schedtop.sources.scheduler.blamed import in_order, pair_rows, slow_wait_rows
from schedtop.sources.scheduler.caused import OwnTasks, caused
from schedtop.sources.scheduler.causes import note_domains
from schedtop.sources.scheduler.cut import copy_at_cut
from schedtop.sources.scheduler.ended_waits import EndedWaits
from schedtop.sources.scheduler.group_reader import GroupReader
from schedtop.sources.scheduler.idle import IdleTimes
from schedtop.sources.scheduler.idle_cpus import Reach, note_idle_cpus
from schedtop.sources.scheduler.interrupted_pairs import with_interrupts
from schedtop.sources.scheduler.interrupting import note_interrupts
from schedtop.sources.scheduler.ledger import Moment, TaskLedger, queue_length
from schedtop.sources.scheduler.names import Affinities, TaskNames
from schedtop.sources.scheduler.noted import ChangedSlots, Noted
from schedtop.sources.scheduler.process_names import ProcessNames
from schedtop.sources.scheduler.programs import Limits, Programs, build, ring_lasts_ns
from schedtop.sources.scheduler.reading import Reading, SinceLast, difference
from schedtop.sources.scheduler.running import Running
from schedtop.sources.scheduler.short_lived import ShortLivedReader
from schedtop.sources.scheduler.slices import Slices
from schedtop.sources.scheduler.weights import (
    MOST_OF_TASKS,
    WeightFiles,
    note_group_weights,
    note_session_weights,
    note_weights,
)
from schedtop.sources.scope import Scope
from schedtop.sources.ticks import Ticks

GROUPINGS = ("", "tid", "tgid", "cgroup_id", "pid_namespace")
"""Id fields of `rows.GROUPS` by number: `enum grouping` of bpf/scheduler/maps.h."""

DRAIN_NS, SHORTEST_DRAIN_NS = NS_PER_S, NS_PER_S // 4
"""The ring buffer is emptied and idle periods are taken at least this often, however long the interval.

A second is what the idle periods of a CPU have room for; a ring that may be full earlier is emptied more often.
"""

GIVE_BACK_INTERVALS = 60
"""What was not read of the task table for so many intervals is not kept mapped."""

COLLECT_NS = NS_PER_S // 10
"""Interrupts, while they are timed, are taken out of their rings this often: they may come by the 100,000 a second."""

NO_SLOW_WAITS = np.zeros(0, SLOW_WAIT_DTYPE)


class LiveSource:
    """The running kernel. Opening compiles and attaches the programs; only the thread that takes Frames reads them.

    `interval_ns`: the length of a Frame, `first_ns`: that of the first one, if it is to be shorter: it
    begins when the source is opened, and lasts at least that long; `source`: `auto`,
    `btf` or `tracepoint`; `scope`: tasks with waits that count; `topology`: another one than the kernel's, for tests;
    `groups`: their histograms may be asked for.
    """

    def __init__(
        self,
        interval_ns: int,
        threshold_ns: int,
        source: str = "auto",
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        first_ns: int | None = None,
        scope: Scope = Scope(),  # noqa: B008 (frozen)
        topology: Topology | None = None,
        groups: bool = True,
    ) -> None:
        self.interval_ns = interval_ns
        self.threshold_ns = threshold_ns
        self._wanted = source
        self._limits = limits
        self._first_ns = min(first_ns or interval_ns, interval_ns)
        self._is_paced = first_ns is not None
        self._scope = scope
        self._topology = topology
        self._groups = groups
        self._measures = False
        self._grouping = ""
        self._samples = False
        self._times_interrupts = False
        self.host: Host

    def __enter__(self) -> LiveSource:
        self._possible_cpus = proc.possible_cpus()
        with reading_once():
            front_end = choose_front_end(self._wanted)
            compiled = build(front_end, self._possible_cpus, self._limits, self._scope.flags(front_end))
        topology = self._topology or read_topology(self._possible_cpus)
        self.host = replace(
            proc.identify_host(front_end.name, pid_numbers().note), topology=topology, scope=str(self._scope)
        )
        self.host = replace(self.host, notes=(*self.host.notes, *front_end.notes))
        self._unavailable = MappingProxyType(front_end.unavailable)
        self._infers_throttling = not front_end.tells_throttled
        self._open_cgroups(front_end)
        self._processes = ProcessNames()
        self._affinities, self._slices = Affinities(), Slices(pid_numbers().inside)
        self._running, self._idle = Running(), IdleTimes()
        self._sched_ext, self._group_reader = SchedExt(), GroupReader()
        self._own_tasks = OwnTasks(pid_numbers().own)
        self._epoch = 1
        self._ticks = Ticks(self.interval_ns, self._wait_until)
        self._last_read_ns = 0
        self._breath = Breath()
        self._programs = Programs(front_end, compiled, self.threshold_ns, self._groups)
        if why := self._programs.refused.get(SAMPLER):
            self._unavailable = MappingProxyType({**self._unavailable, "queue": why})
        self._programs.config["epoch"], self._programs.config["interval_ns"] = self._epoch, self.interval_ns
        self._programs.config["quotas"] = True  # until we know
        self._drain_ns = max(
            SHORTEST_DRAIN_NS, min(DRAIN_NS, ring_lasts_ns(compiled, self._possible_cpus, self._limits))
        )
        self._ledger, self._ended_waits = TaskLedger(len(self._programs.tasks)), EndedWaits()
        self._files = proc.HostFiles(self._possible_cpus)
        self._noted = Noted(self._programs.changes)
        self._changed = ChangedSlots(self._noted, len(self._programs.tasks))
        self._short_lived = ShortLivedReader(self._programs)
        self._later_waits = self._programs.slow_waits()
        self._interrupts = InterruptTiming(self._possible_cpus, self._programs.interrupting_fd)
        self._programs.domains["cache"] = topology.caches
        self._programs.domains["node"] = topology.nodes
        # For the eye: what happens while the screen is built is in the first Frame.
        self._opened = self._read() if self._first_ns < self.interval_ns else None
        return self

    def _open_cgroups(self, front_end: FrontEnd) -> None:
        mounts = read_mounts()
        self._hierarchies = unified_hierarchies(mounts)
        root = cpu_hierarchy(mounts)
        self._cgroups = CgroupNames(root)
        self._cgroups.walk()
        self._throttling = Throttling(root, unified=not has_v1_cpu_controller())
        self._weights = WeightFiles(root, unified=not has_v1_cpu_controller())
        self._task_cgroups = None if front_end.name == "btf" else TaskCgroups(root, numbers=pid_numbers())

    def __exit__(self, *exc: Any) -> None:
        self._interrupts.close()
        self._programs.close()
        self._files.close()

    def set_threshold(self, threshold_ns: int) -> None:
        """Asks for another slow-wait threshold; the kernel side has it from the next reading on."""
        self.threshold_ns = threshold_ns

    def set_grouping(self, kind: str) -> None:
        """Asks for a histogram of each group; the kernel side keeps them from the next reading on."""
        self._grouping = kind

    def set_sampling(self, on: bool) -> None:
        """Asks for samples of the run queues, or no longer; they are taken from the next reading on."""
        self._samples = on

    def set_interrupts(self, on: bool) -> None:
        """Asks for the time that interrupts take, or no longer; they are timed from the next reading on."""
        self._times_interrupts = on

    def set_measuring(self, on: bool) -> None:
        """Asks the kernel to time our programs, or no longer; it does from the next reading on."""
        self._measures = on

    def frames(self, stop: threading.Event) -> Iterator[Frame]:
        """Frames of the live kernel, one each interval; a late tick skips to the next deadline and is counted."""
        earlier, self._opened = self._opened or self._read(), None
        for _ in self._ticks.until(stop, earlier.time_ns + self._first_ns):
            self._breath.begin()
            later = self._read()
            self._breath.take()
            frame = difference(earlier, later, breathe=self._breath.take)
            self._breath.take()
            yield frame
            earlier = later

    def _wait_until(self, deadline: int, stop: threading.Event) -> bool:
        """Empties the rings as often as they need it until then; false if `stop` came first."""
        while (rest := deadline - time.monotonic_ns()) > 0:
            wait_ns = min(self._drain_ns, COLLECT_NS) if self._times_interrupts else self._drain_ns
            if stop.wait(min(rest, wait_ns) / NS_PER_S):
                return False
            if deadline > time.monotonic_ns():
                self._programs.drain()
                self._idle.collect(self._programs.timelines)
                self._interrupts.collect(self._breath.take)
        return not stop.is_set()

    def _read(self) -> Reading:
        programs, epoch = self._programs, self._epoch
        sched_ext = self._loaded_ext()  # first: no wait of the next interval is to be blamed without it
        threshold_ns = self._begin_epoch(epoch + 1)
        not_of_ext = dict.fromkeys(EXT_TAKES, ext_queues(sched_ext)) if sched_ext else {}
        interrupts = self._interrupts.read(epoch)
        # One after the other: what is switched in between is in one of the two alone.
        cpus, stat = copy_at_cut(programs.cpus, programs.cuts, epoch), self._files.stat()
        sampled_cpus, queues = self._sample_queues(stat)
        self._running.clear_left(cpus, stat.online)
        groups = self._group_latency()
        time_ns, wall_ns = time.monotonic_ns(), time.time_ns()
        tasks, names, queued = self._tasks(time_ns, epoch, stat)
        if epoch % GIVE_BACK_INTERVALS == 1:  # and at the first, which compares them all
            programs.tasks.give_back()
        if interrupted := self._interrupts.interrupted(epoch):
            # In both orders something may fall between them: not more than the task has run.
            tasks["interrupted_ns"] = np.minimum(interrupted.of(tasks["tid"].astype(np.int64)), tasks["run_ns"])
        self._breath.take()
        kernel_pairs = programs.pairs(self._noted.pairs(epoch), self._breath.take)
        self._breath.take()
        pairs, small_pairs_ns = pair_rows(kernel_pairs, epoch, names)
        self._breath.take()
        pairs = self._with_interrupts(pairs, tasks, time_ns)
        if self._task_cgroups:
            for role in ROLES:
                pairs[f"{role}_cgroup_id"] = self._task_cgroups.ids(pairs[f"{role}_tid"].tolist())
        self._breath.take()
        cgroups = self._cgroups.resolve(set(tasks["cgroup_id"].tolist()))
        self._weights.begin(time.monotonic_ns(), MOST_OF_TASKS)
        note_group_weights(tasks, cgroups, self._weights)
        self._breath.take()
        short_lived = self._short_lived.read(epoch, self._breath.take)
        note_session_weights(short_lived, tasks, cgroups, pid_numbers().inside, self._weights)
        self._breath.take()
        slow_waits = self._slow_waits(epoch, wall_ns - time_ns, names, stat)
        self._breath.take()
        since_last = SinceLast(
            tasks=tasks,
            short_lived=short_lived,
            slow_waits=slow_waits,
            pairs=pairs,
            small_pairs_ns=small_pairs_ns,
            caused=caused(kernel_pairs, epoch, self._own_tasks, tasks, self._limits.pairs),
        )
        if self._task_cgroups:  # tracepoints tell the priority alone
            note_ext(tasks, sched_ext)
            note_ext(pairs, sched_ext, [f"{role}_" for role in ROLES])
            note_ext(since_last.slow_waits, sched_ext, ("", "blocker_"))
        self._breath.take()
        return Reading(
            time_ns=time_ns,
            wall_ns=wall_ns,
            epoch=epoch,
            cpus=cpus,
            since_last=since_last,
            threshold_ns=threshold_ns,
            stat=stat,
            pressure=self._files.pressure(),
            own=self._files.own_cost(programs.run_ns()),
            late_ticks=self._ticks.late,
            events_missed=programs.misses(by_turns=self._is_paced) + self._interrupts.misses(),
            waits_ungrouped=self._group_reader.waits_ungrouped,
            queue_length=queued,
            throttling=self._quota_statistics(cgroups),
            groups=groups,
            queues=queues,
            sampled_cpus=sampled_cpus,
            interrupts=interrupts and interrupts.named(names.comms),
            infers_throttling=self._infers_throttling,
            sched_ext=sched_ext,
            cgroups=cgroups,
            unavailable=MappingProxyType({**self._unavailable, **not_of_ext}) if not_of_ext else self._unavailable,
        )

    def _with_interrupts(self, pairs: Rows, tasks: Rows, time_ns: int) -> Rows:
        """Pairs of the interval that ends now, with interrupts as blockers if they were timed in it."""
        since_ns, self._last_read_ns = self._last_read_ns, time_ns
        reader = self._interrupts.reader
        if reader is None or not len(pairs):
            return pairs
        reader.spans.collect(self._breath.take)
        return with_interrupts(pairs, tasks, reader, since_ns, time_ns, self._breath.take)

    def _quota_statistics(self, cgroups: Mapping[int, str]) -> Rows:
        """Of the cgroups with a quota; the kernel side looks for throttled tasks only if there may be some."""
        statistics = self._throttling.read(cgroups)
        self._programs.config["quotas"] = self._throttling.may_hold_back
        return statistics

    def _begin_epoch(self, epoch: int) -> int:
        """Hands the kernel side what was asked for; the threshold that held until now.

        From here on it notes longest waits and pairs under the new epoch; those of the one before stay.
        """
        self._changed.look_back(epoch - 1)
        self._breath.take()
        self._epoch = epoch
        config = self._programs.config
        threshold_ns = int(config["threshold_ns"][0])
        config["epoch"], config["threshold_ns"] = epoch, self.threshold_ns
        config["grouping"] = GROUPINGS.index(self._grouping) if self._groups else 0
        self._measure()
        self._time_interrupts(epoch)
        return threshold_ns

    def _time_interrupts(self, epoch: int) -> None:
        """Has interrupts timed from here on if that is wanted, and possible."""
        self._interrupts.begin_epoch(epoch, self._times_interrupts)
        if (why := self._interrupts.why_not) and "interrupts" not in self._unavailable:
            self._unavailable = MappingProxyType({**self._unavailable, "interrupts": why})

    def _loaded_ext(self) -> ExtScheduler | None:
        """The sched_ext scheduler that is loaded, if one is; the kernel side is told."""
        found = self._sched_ext.since_last()
        self._programs.config["sched_ext"] = found is not None
        return found

    def _measure(self) -> None:
        """Has our programs timed if that is wanted, and permitted."""
        try:
            self._programs.measure(self._measures and "overhead" not in self._unavailable)
        except OSError as error:
            why = f"the kernel does not let us time its programs, that needs CAP_SYS_ADMIN ({error.strerror})"
            self._unavailable = MappingProxyType({**self._unavailable, "overhead": why})

    def _sample_queues(self, stat: proc.StatReading) -> tuple[tuple[int, ...], Rows | None]:
        """Has the run queues sampled if that is wanted: of which CPUs, and the samples so far (`None`: not sampled)."""
        was_sampled = bool(self._programs.sampled_cpus)
        try:
            cpus = self._programs.sample(stat.cpus if self._samples and "queue" not in self._unavailable else ())
        except OSError as error:
            why = f"the kernel does not let us sample the run queues: {error.strerror}"
            self._unavailable = MappingProxyType({**self._unavailable, "queue": why})
            cpus = self._programs.sample(())
        return cpus, copy_rows(self._programs.queues) if cpus or was_sampled else None

    def _tasks(self, time_ns: int, epoch: int, stat: proc.StatReading) -> tuple[Rows, TaskNames, Integers]:
        """The tasks that did something (TASK_DTYPE), the names of all, and how many wait on each CPU."""
        programs = self._programs
        slots = programs.tasks
        running_tids = self._running.now(programs.cpus, stat.online)["current_tid"].astype(np.int64)
        moved, rows = self._ledger.moved(slots, running_tids, self._changed.among(epoch, running_tids))
        overflow = programs.overflow(self._breath.take)
        now = Moment.of(time_ns, epoch, self._running.now(programs.cpus, stat.online))
        self._changed.waiting = moved[rows["wait_start_ns"] != 0]
        self._ended_waits.drop(rows, slots, moved, time_ns, pid_numbers().inside, self._breath.take)
        names = TaskNames(slots, overflow, self._processes)
        queued = queue_length(np.concatenate((rows, overflow)) if len(overflow) else rows, len(programs.cpus))
        queued[~stat.online] = 0
        if self._scope:
            chosen = rows["flags"] & programs.selected_flag != 0
            moved, rows = moved[chosen], rows_where(rows, chosen)
            overflow = overflow[overflow["flags"] & programs.selected_flag != 0]
        # From here on all is of copies.
        self._breath.take()
        tasks = self._ledger.settle(moved, rows, overflow, now)
        self._breath.take()
        tasks["process"] = names.processes(tasks["tid"], tasks["tgid"], tasks["comm"])
        self._affinities.note(tasks, time_ns)
        if self._task_cgroups:
            tasks["cgroup_id"] = self._task_cgroups.ids(tasks["tid"].tolist())
        return tasks, names, queued

    def _slow_waits(self, epoch: int, wall_offset_ns: int, names: TaskNames, stat: proc.StatReading) -> Rows:
        """The slow waits of the interval `epoch`, as in the histograms; later ones are of the next one."""
        events = self._programs.slow_waits()
        if not len(events) and not len(self._later_waits):
            return NO_SLOW_WAITS
        events = np.concatenate((self._later_waits, events))
        now = events["epoch"] <= epoch & 0xFFFFFFFF
        self._later_waits = events[~now]
        events = in_order(events[now])
        rows = slow_wait_rows(events, wall_offset_ns, names)
        self._breath.take()
        if len(rows):
            if reader := self._interrupts.reader:
                reader.spans.collect(self._breath.take)
                note_interrupts(rows, events, reader, names.comms, self._breath.take)
            if self._task_cgroups:
                rows["cgroup_id"] = self._task_cgroups.ids(rows["tid"].tolist())
            self._note_weights(rows, names)
            self._slices.note(rows, time.monotonic_ns(), self._breath)
            self._breath.take()
            # In this order: what ends in between is in neither, so that no idle period counts twice.
            self._idle.collect(self._programs.timelines)
            now_ns = time.monotonic_ns()
            ends = rows["time_ns"] - wall_offset_ns
            running = self._running.now(self._programs.cpus, stat.online)
            self._breath.take()
            reach = self._reach()
            self._breath.take()
            idle = self._idle.during(ends - rows["wait_ns"], ends, running, now_ns, reach.ranks(rows["cpu"]))
            self._breath.take()
            note_idle_cpus(rows, events["bonds"], idle, reach)
            self._breath.take()
            note_domains(rows, self.host.topology)
        return rows

    def _note_weights(self, rows: Rows, names: TaskNames) -> None:
        """What the victims and blockers of slow waits weigh where they meet."""
        blockers = names.treated(rows["blocker_tid"].ravel())
        if self._task_cgroups:
            blockers["cgroup_id"] = self._task_cgroups.ids(blockers["tid"].tolist())
        self._weights.begin(time.monotonic_ns())
        paths = self._cgroups.resolve(blockers["cgroup_id"].tolist())
        shaped = blockers.reshape(rows["blocker_tid"].shape)
        note_weights(rows, shaped, paths, pid_numbers().inside, self._weights, self._breath)

    def _reach(self) -> Reach:
        """Where the scheduler may put tasks now: partitions of cgroups come and go."""
        topology = self.host.topology or read_topology(self._possible_cpus)
        return Reach(topology, self._possible_cpus, read_isolation(hierarchies=self._hierarchies))

    def _group_latency(self) -> GroupLatency | None:
        """The cumulative latency of the groups that were asked for, if the front end can tell them apart."""
        if not self._groups or not self._grouping or (self._task_cgroups and self._grouping not in ("tid", "tgid")):
            return None
        return self._group_reader.read(self._programs, self._grouping, GROUPINGS.index(self._grouping))
