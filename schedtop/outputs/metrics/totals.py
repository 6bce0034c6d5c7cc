"""Frames added up since the start, as what a metrics endpoint serves: counters that only grow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from schedtop.activity.activity import Activity
from schedtop.base.histogram import BUCKETS
from schedtop.base.units import NS_PER_S, printable
from schedtop.history.view import ViewSettings
from schedtop.model.counts import Loss, Overhead, Pressure
from schedtop.model.cpus import CPU_COUNTERS
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.model.interrupts import InterruptTable, merge_interrupts
from schedtop.model.queue_lengths import QueueTable, merge_queues
from schedtop.model.rows import WAIT_KINDS, Integers, Rows, text
from schedtop.model.short_lived import by_command
from schedtop.model.waits import CAUSES
from schedtop.outputs.metrics.activity import ActivityTotals, PublishedActivity
from schedtop.outputs.metrics.groups import GroupCounts, GroupTotals
from schedtop.outputs.metrics.labels import labels_of

GROUP_COUNTERS = ("run_delay_ns", "run_ns", "involuntary_switches")
"""What is kept of a group: fields of TASK_DTYPE."""

QUOTA_COUNTERS = ("periods", "throttled_periods", "throttled_ns", "pressure_ns")
"""What is kept of a cgroup with a quota: fields of THROTTLING_DTYPE."""

GROUP_ENTRY_NS = 60 * NS_PER_S // 100
"""A group that ran or waited for one hundredth of a CPU during the last minute gets a series."""

COMMAND_COUNTERS = ("count", "run_ns", "run_delay_ns")
"""What is kept of a command with short-lived processes: fields of COMMAND_DTYPE."""

ENDINGS = ("succeeded", "failed", "killed", "unknown")
"""How short-lived processes end: fields of COMMAND_DTYPE."""

QUOTA_ENTRY_NS = 1
"""Every throttled group gets a series."""


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """All counters since `start_time_ns` at the end of an interval; never changed afterwards.

    `counters`: shape (cpus, len(CPU_COUNTERS)); `cpus`: those that were ever online and are let through, the others'
    rows mean nothing; `latency`: shape (len(WAIT_KINDS), BUCKETS); `wait_sum_ns`: shape (len(WAIT_KINDS),);
    `slow_waits` and `slow_wait_ns`: shape (len(CAUSES),). `last` is the last Frame, for its gauges and what it lacks.
    """

    host: Host
    settings: ViewSettings
    by: str
    start_time_ns: int
    observed_ns: int
    intervals: int
    last: Frame
    cpus: list[int]
    counters: Integers
    latency: Integers
    wait_sum_ns: Integers
    slow_waits: Integers
    slow_wait_ns: Integers
    kernel_switches: int | None
    pressure: Pressure | None
    loss: Loss
    overhead: Overhead
    groups: GroupCounts
    quotas: GroupCounts
    commands: GroupCounts
    short_lived: Integers
    """Of short-lived processes and threads, shape (2, len(COMMAND_COUNTERS))."""
    endings: Integers
    """How short-lived processes ended, shape (len(ENDINGS),)."""
    queue: QueueTable | None = None
    """All samples of the run queues so far, `None` if there are none."""
    interrupts: InterruptTable | None = None
    """All interrupts so far that were timed, but not what raised them; `None` if none were."""
    activity: PublishedActivity | None = None
    """What tasks did, `None` if that is not counted."""


class Totals:
    """Adds Frames up. Only the thread that collects uses it; others get what `publish` gives."""

    def __init__(self, host: Host, settings: ViewSettings, by: str, most: int) -> None:
        """`by`: `cgroup`, `process` or `container`; `most`: how many of them have series of their own."""
        self._host, self._settings, self._by = host, settings, by
        self._first: Frame | None = None
        self._intervals = self._observed_ns = 0
        self._counters = np.zeros((0, len(CPU_COUNTERS)), np.int64)
        self._online = np.zeros(0, bool)
        self._latency = np.zeros((len(WAIT_KINDS), BUCKETS), np.int64)
        self._wait_sum_ns = np.zeros(len(WAIT_KINDS), np.int64)
        self._slow_waits = np.zeros(len(CAUSES), np.int64)
        self._slow_wait_ns = np.zeros(len(CAUSES), np.int64)
        self._kernel_switches: int | None = None
        self._pressure: Pressure | None = None
        self._loss, self._overhead = Loss(), Overhead()
        self._queue: QueueTable | None = None
        self._interrupts: InterruptTable | None = None
        self._groups = GroupTotals(len(GROUP_COUNTERS), most, GROUP_ENTRY_NS)
        self._quotas = GroupTotals(len(QUOTA_COUNTERS), most, QUOTA_ENTRY_NS)
        self._commands = GroupTotals(len(COMMAND_COUNTERS), most, GROUP_ENTRY_NS)
        self._short_lived = np.zeros((2, len(COMMAND_COUNTERS)), np.int64)
        self._endings = np.zeros(len(ENDINGS), np.int64)
        self._activity = ActivityTotals(by, most, settings.hidden_tgids)

    def add(self, frame: Frame, activity: Activity | None = None) -> Published:
        """Adds the next Frame, and what tasks did meanwhile if that is counted; what there is then."""
        self._first = self._first or frame
        self._intervals += 1
        self._observed_ns += frame.interval_ns
        self._add_cpus(frame)
        self._add_waits(frame)
        if frame.kernel_switches is not None:
            self._kernel_switches = (self._kernel_switches or 0) + max(0, frame.kernel_switches)
        if frame.pressure is not None:
            grown = Pressure(max(0, frame.pressure.some_ns), max(0, frame.pressure.full_ns))
            self._pressure = self._pressure + grown if self._pressure else grown
        self._queue = merge_queues((self._queue, frame.queue))
        timed = frame.interrupts
        # Tasks that raise softirqs come and go: they would be ever more.
        timed = timed and replace(timed, raised=timed.raised[:0])
        self._interrupts = merge_interrupts((self._interrupts, timed))
        self._loss += frame.loss
        self._overhead += frame.overhead
        self._add_groups(frame)
        self._add_short_lived(frame)
        published = self._publish(self._first, frame)
        return replace(published, activity=self._activity.add(activity)) if activity else published

    def _add_cpus(self, frame: Frame) -> None:
        table = frame.cpus
        more = len(table.online) - len(self._online)
        if more > 0:
            self._counters = np.vstack((self._counters, np.zeros((more, len(CPU_COUNTERS)), np.int64)))
            self._online = np.append(self._online, np.zeros(more, bool))
        # What a counter must never do is run backwards, whatever a source gives.
        self._counters[: len(table.online)] += np.maximum(table.counters, 0)
        self._online[: len(table.online)] |= table.online

    def _add_waits(self, frame: Frame) -> None:
        cpus = self._settings.filter.cpu_ids(range(frame.latency.counts.shape[1]))
        self._latency += frame.latency.counts[:, cpus].sum(axis=1, dtype=np.int64)
        self._wait_sum_ns += np.maximum(frame.latency.sum_ns[:, cpus], 0).sum(axis=1, dtype=np.int64)
        rows = self._settings.rows(frame.slow_waits, "cpu", frame.cgroups)
        np.add.at(self._slow_waits, rows["cause"], 1)
        np.add.at(self._slow_wait_ns, rows["cause"], rows["wait_ns"])

    def _add_groups(self, frame: Frame) -> None:
        rows = self._settings.rows(frame.tasks, "last_cpu", frame.cgroups)
        labels, counts = sums_by_label(rows, self._by, frame.cgroups)
        weights = counts[:, GROUP_COUNTERS.index("run_delay_ns")] + counts[:, GROUP_COUNTERS.index("run_ns")]
        self._groups.add(frame.interval_ns, labels, counts, weights)
        quotas = frame.throttling
        names = [printable(frame.cgroups.get(cgroup, "")) for cgroup in quotas["cgroup_id"].tolist()]
        held = np.stack([np.maximum(quotas[name], 0) for name in QUOTA_COUNTERS], axis=1)
        self._quotas.add(frame.interval_ns, names, held, quotas["throttled_ns"])

    def _add_short_lived(self, frame: Frame) -> None:
        commands = by_command(self._settings.short_lived(frame.short_lived, frame.cgroups))
        counts = np.stack([np.maximum(commands[name], 0) for name in COMMAND_COUNTERS], axis=1)
        np.add.at(self._short_lived, commands["is_thread"], counts)
        own = commands["is_thread"] == 0
        self._endings += [int(np.maximum(commands[name][own], 0).sum()) for name in ENDINGS]
        # Those of many commands have no name, and so no series of their own.
        labels = [text(name) for name in commands["comm"][own].tolist()]
        weights = counts[own][:, COMMAND_COUNTERS.index("run_ns")]
        self._commands.add(frame.interval_ns, labels, counts[own], weights)

    def _publish(self, first: Frame, last: Frame) -> Published:
        return Published(
            host=self._host,
            settings=self._settings,
            by=self._by,
            start_time_ns=first.start_time_ns,
            observed_ns=self._observed_ns,
            intervals=self._intervals,
            last=last,
            cpus=self._settings.filter.cpu_ids(np.flatnonzero(self._online).tolist()),
            counters=self._counters.copy(),
            latency=self._latency.copy(),
            wait_sum_ns=self._wait_sum_ns.copy(),
            slow_waits=self._slow_waits.copy(),
            slow_wait_ns=self._slow_wait_ns.copy(),
            kernel_switches=self._kernel_switches,
            pressure=self._pressure,
            loss=self._loss,
            overhead=self._overhead,
            groups=self._groups.counts(),
            quotas=self._quotas.counts(),
            commands=self._commands.counts(),
            short_lived=self._short_lived.copy(),
            endings=self._endings.copy(),
            queue=self._queue,
            interrupts=self._interrupts,
        )


def sums_by_label(rows: Rows, by: str, cgroups: Mapping[int, str]) -> tuple[list[str], Integers]:
    """Labels of the groups of rows of TASK_DTYPE, and their GROUP_COUNTERS, shape (labels, counters)."""
    labels, places = labels_of(rows, by, cgroups)
    sums = np.zeros((len(labels), len(GROUP_COUNTERS)), np.int64)
    for index, name in enumerate(GROUP_COUNTERS):
        np.add.at(sums[:, index], places, np.maximum(rows[name], 0))
    return labels, sums
