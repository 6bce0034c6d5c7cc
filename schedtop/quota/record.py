"""What quotas did to cgroups, added up from Frames: periods, the threads that ran, and the waits for a quota."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from schedtop.model.containers import is_within
from schedtop.model.frame import Frame
from schedtop.model.rows import TASK_DTYPE, Rows, merge_tasks, rows_where
from schedtop.model.waits import Cause

HELD_DTYPE = np.dtype(
    [
        ("refill_ns", "<i8"),
        ("held_ns", "<i8"),
        ("tid", "<u4"),
        ("cpu", "<i4"),
        ("allowed_cpus", "<u4"),
        ("padding", "<u4"),
    ]
)
"""A thread that a quota held back: until `refill_ns` (wall clock, the quota came back), for `held_ns`, on `cpu`.
`allowed_cpus`: as in SLOW_WAIT_DTYPE."""

MOST_HELD = 100_000
"""How many such waits are kept of a group: the last ones. What is known of the others is in `cpu.stat`."""

USUAL_PERIOD_NS = 100_000_000
"""The period of a quota unless it is set (`default_cfs_period()` in kernel/sched/fair.c)."""

NEARLY_ALL = 0.9
"""A group that is throttled in so many of its periods runs its quota in each of them."""


@dataclass(frozen=True, slots=True, eq=False)
class QuotaRecord:
    """A cgroup that its quota throttled, in `interval_ns`.

    `periods`, `throttled_periods` and `throttled_ns` (summed over CPUs) are those of its cpu.stat. `quota_ns` in each
    `period_ns`, 0: not known; `inferred`: both are told by what it ran. `tasks`: TASK_DTYPE rows of the threads in it
    and below; `held`: HELD_DTYPE rows of those that waited for its quota, as far as single waits are known.
    `enclosing`: the quotas of the groups around it, as numbers of CPUs by path. `cpus`: how many CPUs are online.
    """

    cgroup_id: int
    path: str
    interval_ns: int
    periods: int
    throttled_periods: int
    throttled_ns: int
    quota_ns: int
    period_ns: int
    burst_ns: int
    tasks: Rows
    held: Rows
    cpus: int
    enclosing: Mapping[str, float]
    inferred: bool

    @property
    def run_ns(self) -> int:
        """What its threads ran."""
        return int(self.tasks["run_ns"].sum())


class _Sums:
    """What is known of one group since it was throttled first, or since its quota was changed."""

    def __init__(self, settings: tuple[int, ...]) -> None:
        self.settings = settings
        self.interval_ns = self.periods = self.throttled_periods = self.throttled_ns = 0
        self.tasks = np.zeros(0, TASK_DTYPE)
        self._held: list[Rows] = []

    @property
    def held(self) -> Rows:
        """All waits for the quota."""
        if len(self._held) > 1:
            self._held = [np.concatenate(self._held)[-MOST_HELD:]]
        return self._held[0] if self._held else np.zeros(0, HELD_DTYPE)

    def add(self, row: np.void, interval_ns: int, tasks: Rows, held: Rows) -> None:
        """What happened in one more interval."""
        self.interval_ns += interval_ns
        self.periods += int(row["periods"])
        self.throttled_periods += int(row["throttled_periods"])
        self.throttled_ns += int(row["throttled_ns"])
        self.tasks = merge_tasks([self.tasks, tasks]) if len(self.tasks) else tasks
        if len(held):
            self._held.append(held)


class QuotaRecords:
    """Adds up Frames, in order of time. A group whose quota is changed starts anew: the advice is about the last."""

    def __init__(self) -> None:
        self._sums: dict[int, _Sums] = {}
        self._paths: dict[int, str] = {}
        self._quotas: dict[int, tuple[int, ...]] = {}
        self._cpus = 0
        self.intervals = 0
        self.changed: set[int] = set()
        """The groups whose quota was changed meanwhile."""

    def add(self, frame: Frame) -> None:
        """One more interval."""
        self.intervals += 1
        self._cpus = max(1, int(frame.cpus.online.sum()))
        rows = {int(row["cgroup_id"]): row for row in frame.throttling}
        for group, row in rows.items():
            settings = (int(row["quota_ns"]), int(row["period_ns"]), int(row["burst_ns"]))
            self._paths[group] = frame.cgroups.get(group, self._paths.get(group, ""))
            if self._quotas.setdefault(group, settings) != settings:
                self._quotas[group] = settings
                self.changed |= {group} & self._sums.keys()
                self._sums.pop(group, None)
            if row["throttled_periods"] and group not in self._sums:
                self._sums[group] = _Sums(settings)
        if not self._sums:
            return
        held = self._held_by(frame)
        for group, sums in self._sums.items():
            if group in rows:
                tasks = _of_groups(frame.tasks, cgroups_inside(frame, self._paths[group], group))
                sums.add(rows[group], frame.interval_ns, tasks, held.get(group, np.zeros(0, HELD_DTYPE)))

    def records(self) -> tuple[QuotaRecord, ...]:
        """The throttled groups, the one with the most throttled time first."""
        made = [self._record(group, sums) for group, sums in self._sums.items() if sums.throttled_periods]
        return tuple(sorted(made, key=lambda record: (-record.throttled_ns, -record.throttled_periods, record.path)))

    def _record(self, group: int, sums: _Sums) -> QuotaRecord:
        path = self._paths[group]
        quota_ns, period_ns, burst_ns = sums.settings
        inferred = quota_ns <= 0 or period_ns <= 0
        if inferred:
            quota_ns, period_ns = _inferred(sums)
        return QuotaRecord(
            cgroup_id=group,
            path=path,
            interval_ns=sums.interval_ns,
            periods=sums.periods,
            throttled_periods=sums.throttled_periods,
            throttled_ns=sums.throttled_ns,
            quota_ns=quota_ns,
            period_ns=period_ns,
            burst_ns=burst_ns,
            tasks=sums.tasks,
            held=sums.held,
            cpus=self._cpus,
            enclosing=MappingProxyType(self._around(group, path)),
            inferred=inferred,
        )

    def _around(self, group: int, path: str) -> dict[str, float]:
        return {
            self._paths[other]: quota_ns / period_ns
            for other, (quota_ns, period_ns, _) in self._quotas.items()
            if other != group and period_ns > 0 and self._paths[other] and is_within(path, self._paths[other])
        }

    def _held_by(self, frame: Frame) -> dict[int, Rows]:
        """The waits for a quota, by the group that it is of: the nearest around the thread that was throttled."""
        waits = frame.slow_waits
        waits = rows_where(waits, (waits["throttled_ns"] > 0) | (waits["cause"] == Cause.THROTTLED))
        owners = {group: self._owner(frame, group) for group in set(waits["cgroup_id"].tolist())}
        placed = np.array([owners[group] for group in waits["cgroup_id"].tolist()], np.int64)
        return {owner: _held(waits[placed == owner]) for owner in set(owners.values()) if owner >= 0}

    def _owner(self, frame: Frame, group: int) -> int:
        """The throttled group that a group is, or is inside of; -1: none is known."""
        if group in self._sums:
            return group
        path = frame.cgroups.get(group, "")
        around = [other for other in self._sums if self._paths[other] and is_within(path, self._paths[other])]
        return max(around, key=lambda other: len(self._paths[other]), default=-1)


def records_of(frame: Frame) -> tuple[QuotaRecord, ...]:
    """Of a Frame alone, which may be several merged ones."""
    records = QuotaRecords()
    records.add(frame)
    return records.records()


def _held(waits: Rows) -> Rows:
    rows = np.zeros(len(waits), HELD_DTYPE)
    # Where it is inferred, the whole wait is.
    rows["held_ns"] = np.where(waits["throttled_ns"] > 0, waits["throttled_ns"], waits["wait_ns"])
    rows["refill_ns"] = waits["time_ns"] - waits["wait_ns"] + rows["held_ns"]
    rows["tid"], rows["cpu"], rows["allowed_cpus"] = waits["tid"], waits["enqueue_cpu"], waits["allowed_cpus"]
    return rows


def cgroups_inside(frame: Frame, path: str, group: int) -> list[int]:
    """The cgroups of tasks that are this one or below it."""
    present = np.unique(frame.tasks["cgroup_id"]).tolist()
    return [other for other in present if other == group or is_within(frame.cgroups.get(other, ""), path or "\0")]


def _of_groups(tasks: Rows, groups: list[int]) -> Rows:
    return rows_where(tasks, np.isin(tasks["cgroup_id"], groups))


def _inferred(sums: _Sums) -> tuple[int, int]:
    """Quota and period of a recording that lacks them: known if it ran all of its quota in nearly every period."""
    if not sums.periods or sums.throttled_periods < NEARLY_ALL * sums.periods:
        return 0, 0
    period_ns = sums.interval_ns // sums.periods
    if abs(period_ns - USUAL_PERIOD_NS) < (1 - NEARLY_ALL) * USUAL_PERIOD_NS:
        period_ns = USUAL_PERIOD_NS
    return int(sums.tasks["run_ns"].sum()) * period_ns // sums.interval_ns, period_ns
