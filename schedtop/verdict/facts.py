"""Facts: what the rules of the verdict ask about, computed once for a View."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from schedtop.base.breath import keep_on
from schedtop.history.view import View
from schedtop.model.containers import is_within
from schedtop.model.frame import Frame
from schedtop.model.host import HIDDEN, INSIDE
from schedtop.model.rows import Integers, Rows
from schedtop.model.sched_class import SchedClass
from schedtop.verdict.limits import (
    ALARM_LOAD,
    BUSY,
    CHOSEN_ALARM_LOAD,
    CHOSEN_SHARE,
    DELAY_LOAD,
    DELAYED_SHARE,
    LITTLE_LOAD,
    MISSING_SHARE,
    ONE_ALARM_LOAD,
    PRESSURE_NOTICE,
    PRESSURE_SPAN_NS,
    STEAL_NOTICE,
)
from schedtop.verdict.short_lived import ShortLived, notable_short_lived
from schedtop.verdict.slow import SlowWaits, asks_to_wait, missing_share, slow_load, slow_waits, urgent

Quota = tuple[str, float]
"""The path of a throttled group ("" if it has no name any more), and the share of its periods in which it was."""


@dataclass(frozen=True, slots=True)
class Sums:
    """What a source of sums alone lacks, in words, and whether it sees every task."""

    lacks: tuple[str, ...]
    sees_all: bool


@dataclass(frozen=True, slots=True, eq=False)
class Delayed:
    """The tasks that wait much of the time without a slow wait, on the CPU with most of that; the longest first."""

    tasks: Rows
    cpu: int
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What the rules ask about, of one View. Ratios are 0..1, by CPU those of the CPUs shown; `None`: unknown.

    `missing`: the share of slow waits that was not seen; `quotas`: the most throttled first; `waiting`: tasks that
    waited on average on the CPUs shown; `sums`: only sums of waits are known, not how long one was.
    `breathe` is for rules that pass through all waits more than once: a minute of them are 10 MB.
    """

    view: View
    slow: SlowWaits
    missing: float
    p99_ns: int | None
    busy: Mapping[int, float]
    idle: Mapping[int, float]
    steal: float | None
    pressure: float | None
    quotas: tuple[Quota, ...]
    waiting: float
    delayed: Delayed
    short_lived: ShortLived | None
    sums: Sums | None
    breathe: Callable[[], object] = keep_on

    @property
    def frame(self) -> Frame:
        """The Frame of the window."""
        return self.view.frame

    @property
    def level(self) -> str:
        """How bad the slow waits are, or all waits where no single one is known; without tasks that asked to wait."""
        load = self.slow.urgent_load if self.sums is None else self.waiting
        is_alarm = load >= (CHOSEN_ALARM_LOAD if self.names_tasks else ALARM_LOAD) or self._is_one_late(load)
        return "alarm" if is_alarm else "notice"

    def _is_one_late(self, load: float) -> bool:
        """Whether one task alone makes so much of this load that it is an alarm."""
        if self.sums is not None or load < ONE_ALARM_LOAD:
            return False
        rows = urgent(self.slow, self.frame.interval_ns).rows
        times = np.bincount(np.unique(rows["tid"], return_inverse=True)[1], rows["wait_ns"])
        return bool(times.max(initial=0) >= ONE_ALARM_LOAD * self.frame.interval_ns)

    @property
    def mostly_seen(self) -> bool:
        """Whether most slow waits were seen."""
        return self.missing <= MISSING_SHARE

    @property
    def queues_unknown(self) -> str:
        """Why it is not known for which CPU a task waits, where single waits are known; empty: it is."""
        return self.frame.unavailable.get("queue_length", "") if self.sums is None else ""

    @property
    def names_tasks(self) -> bool:
        """Whether the filter asks for tasks, not for CPUs alone."""
        return self.view.settings.shown_filter.names_tasks

    @property
    def chosen(self) -> bool:
        """Whether a filter, or the scope of the measurement, leaves some tasks."""
        return self.names_tasks or bool(self.view.host.scope)

    @property
    def full(self) -> bool:
        """Whether every CPU shown is busy."""
        return bool(self.busy) and set(self.busy) == set(self.view.cpu_ids) and min(self.busy.values()) >= BUSY

    @property
    def notable_steal(self) -> bool:
        """Whether the hypervisor takes enough to be felt."""
        return self.steal is not None and self.steal >= STEAL_NOTICE

    @property
    def tasks_there(self) -> Rows:
        """The tasks that were last seen on the CPUs shown, whatever else is filtered."""
        shown = self.view.settings.shown_filter.cpus
        return self.frame.tasks[np.isin(self.frame.tasks["last_cpu"], shown)] if shown else self.frame.tasks

    def run_share(self, tid: int) -> float | None:
        """How much of the window a task ran, `None` if that is not known."""
        rows = self.frame.tasks[self.frame.tasks["tid"] == tid]
        return int(rows["run_ns"].sum()) / max(1, self.frame.interval_ns) if len(rows) else None

    def quota_above(self, cgroup: int) -> Quota | None:
        """The quota that throttles a cgroup most: its own or that of one around it."""
        path = self.frame.cgroups.get(cgroup, "")
        return next((quota for quota in self.quotas if quota[0] and is_within(path, quota[0])), None)


def gather(view: View, breathe: Callable[[], object] = keep_on) -> Facts:
    """The Facts of a View; `breathe` is called in between."""
    frame, ids, sums = view.frame, view.cpu_ids, _sums(view)
    slow, delayed = _waits(view, breathe)
    breathe()
    busy = _busy(frame, ids)
    quotas, waiting = _quotas(frame), _waiting(view, sums)
    breathe()
    return Facts(
        view=view,
        slow=slow,
        missing=missing_share(frame),
        p99_ns=None if view.settings.shown_filter.names_tasks else view.latency().percentile_ns(0.99),
        busy=busy,
        idle=_idle(frame, ids) if sums is None else _idle_by_accounts(frame, ids) if busy else {},
        steal=frame.ratio("steal_ns", ids),
        pressure=_pressure(view.series),
        quotas=quotas,
        waiting=waiting,
        delayed=delayed,
        short_lived=notable_short_lived(view),
        sums=sums,
        breathe=breathe,
    )


def _sums(view: View) -> Sums | None:
    gone = view.frame.unavailable
    if "latency" not in gone or {"tasks", "run_delay"} & gone.keys():
        return None
    why = gone.get("slow_waits", gone["latency"]).partition(":")[0]
    partial = [note for note in view.host.notes if note in (HIDDEN, INSIDE)]
    return Sums((f"not known: single waits and the tasks that had the CPU ({why})", *partial), not partial)


def _busy(frame: Frame, ids: Sequence[int]) -> dict[int, float]:
    if "busy" in frame.unavailable:
        return {}
    pairs = zip(*(frame.cpus.column(name)[ids].tolist() for name in ("busy_ns", "accounted_ns")), strict=True)
    return {cpu: busy / whole for cpu, (busy, whole) in zip(ids, pairs, strict=True) if whole}


def _idle(frame: Frame, ids: Sequence[int]) -> dict[int, float]:
    if "switches" in frame.unavailable:
        return {}
    shares = np.minimum(1.0, frame.cpus.column("idle_ns")[ids] / max(1, frame.interval_ns)).tolist()
    return dict(zip(ids, shares, strict=True))


def _idle_by_accounts(frame: Frame, ids: Sequence[int]) -> dict[int, float]:
    """What is neither busy nor stolen, by the kernel's own accounts."""
    whole = np.maximum(frame.cpus.column("accounted_ns")[ids], 1)
    used = frame.cpus.column("busy_ns")[ids] + frame.cpus.column("steal_ns")[ids]
    return dict(zip(ids, np.clip(1 - used / whole, 0, 1).tolist(), strict=True))


def _pressure(series: Sequence[Frame]) -> float | None:
    """For how much of the last span some task waits, if that is much: without slow waits and delayed tasks in it.

    What is left of these has been told.
    """
    frames: list[Frame] = []
    span_ns = some_ns = 0
    for frame in reversed(series):
        if frame.pressure is None or "pressure" in frame.unavailable:
            return None
        frames.append(frame)
        span_ns, some_ns = span_ns + frame.interval_ns, some_ns + frame.pressure.some_ns
        if span_ns >= PRESSURE_SPAN_NS:
            break
    else:
        return None
    share = some_ns / span_ns
    # Last, because it passes through all tasks.
    return None if share < PRESSURE_NOTICE or any(map(_has_late_tasks, frames)) else share


def _has_late_tasks(frame: Frame) -> bool:
    if slow_load(frame) >= LITTLE_LOAD:
        return True
    much, enough = _much_delayed(frame.tasks["run_delay_ns"], frame.interval_ns)
    return enough and bool(much.any())


def _much_delayed(delays: Integers, interval_ns: int) -> tuple[npt.NDArray[np.bool_], bool]:
    """Which of these run delays a task notices, and whether all of them together are more than wakeups make."""
    return delays >= DELAYED_SHARE * interval_ns, int(delays.sum()) >= DELAY_LOAD * interval_ns


def _quotas(frame: Frame) -> tuple[Quota, ...]:
    rows = frame.throttling[(frame.throttling["periods"] > 0) & (frame.throttling["throttled_periods"] > 0)]
    shares = np.minimum(1, rows["throttled_periods"] / rows["periods"]).tolist()
    groups = zip((frame.cgroups.get(group, "") for group in rows["cgroup_id"].tolist()), shares, strict=True)
    return tuple(sorted(groups, key=lambda item: -item[1]))


def _waiting(view: View, sums: Sums | None) -> float:
    """By the waits that ended, or else by the run delays of the tasks."""
    if sums is not None:
        return int(view.tasks["run_delay_ns"].sum()) / max(1, view.frame.interval_ns)
    latency, shown = view.frame.latency, view.settings.shown_filter.cpus
    cpus = [cpu for cpu in shown if cpu < latency.cpus] if shown else slice(None)
    return int(latency.sum_ns[:, cpus].sum(dtype=np.int64)) / max(1, view.frame.interval_ns)


def _waits(view: View, breathe: Callable[[], object]) -> tuple[SlowWaits, Delayed]:
    """The waits of tasks that did not ask to wait, if they wait enough to be spoken of; else all.

    Of tasks that wait much in short turns a few of these are slow by chance, and say less than how much they wait.
    """
    slow = slow_waits(view, breathe)
    breathe()
    others = urgent(slow, view.frame.interval_ns)
    breathe()
    if others.left_out:
        if others.load < LITTLE_LOAD:
            others = replace(others, by_chance=True)
        delayed = _delayed(view, others, view.tasks[~asks_to_wait(view.tasks)])
        if others.load >= LITTLE_LOAD or len(delayed.tasks):
            return others, delayed
    return slow, _delayed(view, slow, view.tasks)


def _delayed(view: View, slow: SlowWaits, among: Rows) -> Delayed:
    """Of chosen tasks also those that wait as long as they run, and no less than a service notices.

    A deadline task says itself what is too late.
    """
    frame, delays = view.frame, among["run_delay_ns"]
    much, enough = _much_delayed(delays, frame.interval_ns)
    if view.settings.shown_filter.names_tasks:
        late = (delays >= CHOSEN_SHARE * frame.interval_ns) & (delays >= among["run_ns"])
        much |= late & (among["sched_class"] != SchedClass.DEADLINE)
        enough = True
    tasks = among[much]
    if slow.enough or "tasks" in frame.unavailable or not len(tasks) or not enough:
        return Delayed(tasks[:0], 0, 0.0)
    cpu = int(np.argmax(np.bincount(np.maximum(tasks["last_cpu"], 0), tasks["run_delay_ns"])))
    tasks = tasks[tasks["last_cpu"] == cpu]
    share = int(tasks["run_delay_ns"].sum()) / max(1, len(tasks)) / max(1, frame.interval_ns)
    return Delayed(tasks[np.argsort(-tasks["run_delay_ns"], kind="stable")], cpu, share)
