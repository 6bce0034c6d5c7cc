"""Facts: what the rules of the verdict ask about, computed once for a View."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from schedtop.base.histogram import LOW_NS
from schedtop.base.units import NS_PER_S
from schedtop.history.history import View
from schedtop.model.frame import Frame
from schedtop.model.rows import Integers, Rows, take_rows
from schedtop.model.waits import CAUSES, EVIDENCE

FEW_SLOW = 5  # fewer slow waits show no common cause,
LITTLE_LOAD = 0.1  # unless they are long: so many tasks were waiting on average
ALARM_LOAD = 0.5  # half a task that always waits: a CPU's worth of work is late half of the time
MAIN_SHARE, MAIN_FACTOR = 0.6, 2.0  # the main one has most of the time, or twice that of the next: else it is mixed
MISSING_SHARE = 0.5  # with more unseen than seen, what is seen need not be typical
BUSY = 0.9  # no room left, given the 10 ms steps of /proc/stat
PRESSURE_SPAN_NS = 10 * NS_PER_S  # the kernel brings it up to date every 2 s: shorter spans jump

EXPLANATIONS = {
    "queueing": "others on the CPU",
    "yield": "sched_yield",
    "throttled": "quotas",
    "stolen": "the hypervisor",
    "pinned": "affinity beside an idle CPU",
    "not balanced": "an idle CPU that was not used",
    "idle-cpu": "an idle CPU, affinity unknown",
    "unknown": "a cause that this version does not know",
}
"""What slow waits are weighed by, with words. `queueing` is what just began with a wakeup or a preemption."""

_NAMES = tuple(EXPLANATIONS)


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What the rules ask about, of one View. Ratios are 0..1, by CPU those of the CPUs shown; `None`: unknown.

    `waits`: slow waits shown, `kinds` their places in EXPLANATIONS, `weights` their nanoseconds by that; `main`: the
    explanation that dominates, if one does; `load`: tasks in slow waits on average; `missing`: the share of slow waits
    that was not seen; `quotas`: paths and shares of throttled periods, the largest first.
    """

    view: View
    waits: Rows
    kinds: Integers
    weights: Mapping[str, int]
    main: str
    load: float
    missing: float
    p99_ns: int | None
    busy: Mapping[int, float]
    idle: Mapping[int, float]
    steal: float | None
    pressure: float | None
    quotas: tuple[tuple[str, float], ...]

    @property
    def frame(self) -> Frame:
        """The Frame of the window."""
        return self.view.frame

    @property
    def enough(self) -> bool:
        """Whether there are slow waits enough to speak of a cause."""
        return len(self.waits) >= FEW_SLOW or self.load >= LITTLE_LOAD

    @property
    def level(self) -> str:
        """How bad the slow waits are."""
        return "alarm" if self.load >= ALARM_LOAD else "notice"

    @property
    def full(self) -> bool:
        """Whether every CPU shown is busy."""
        return bool(self.busy) and set(self.busy) == set(self.view.cpu_ids) and min(self.busy.values()) >= BUSY

    @property
    def waiting(self) -> float:
        """Tasks that waited on average on the CPUs shown, by the waits that ended."""
        latency = self.frame.latency
        shown = self.view.settings.shown_filter.cpus
        cpus = [cpu for cpu in shown if cpu < latency.cpus] if shown else slice(None)
        return int(latency.sum_ns[:, cpus].sum(dtype=np.int64)) / max(1, self.frame.interval_ns)

    @property
    def tasks_there(self) -> Rows:
        """The tasks that were last seen on the CPUs shown, whatever else is filtered."""
        shown = self.view.settings.shown_filter.cpus
        return self.frame.tasks[np.isin(self.frame.tasks["last_cpu"], shown)] if shown else self.frame.tasks

    def of(self, name: str) -> Rows:
        """The slow waits of one explanation."""
        return take_rows(self.waits, np.flatnonzero(self.kinds == _NAMES.index(name)))

    def share(self, name: str) -> float:
        """Its share of the time of all slow waits."""
        return self.weights.get(name, 0) / max(1, sum(self.weights.values()))


def gather(view: View) -> Facts:
    """The Facts of a View."""
    frame = view.frame
    waits = take_rows(view.slow_waits, np.flatnonzero(view.slow_waits["wait_ns"] >= max(1, frame.threshold_ns)))
    kinds = _kinds(waits)
    totals = np.bincount(kinds, waits["wait_ns"], len(_NAMES)).astype(np.int64).tolist()
    weights = {name: ns for name, ns in zip(_NAMES, totals, strict=True) if ns > 0}
    ids = view.cpu_ids
    return Facts(
        view=view,
        waits=waits,
        kinds=kinds,
        weights=weights,
        main=_main(weights),
        load=sum(weights.values()) / max(1, frame.interval_ns),
        missing=_missing(frame),
        p99_ns=None if view.settings.shown_filter.names_tasks else view.latency().percentile_ns(0.99),
        busy=_busy(frame, ids),
        idle=_idle(frame, ids),
        steal=frame.ratio("steal_ns", ids),
        pressure=_pressure(view.series),
        quotas=_quotas(frame),
    )


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


def _kinds(waits: Rows) -> Integers:
    """The place in EXPLANATIONS of each wait."""
    table = np.full((len(CAUSES) + 1, len(EVIDENCE) + 1), _NAMES.index("unknown"))
    for place, name in enumerate(CAUSES):
        table[place] = _NAMES.index(name if name in EXPLANATIONS else "queueing")
    for name in ("pinned", "not balanced"):
        table[CAUSES.index("idle-cpu"), EVIDENCE.index(name)] = _NAMES.index(name)
    # What a later version may write is the last row and column.
    cause = np.where((waits["cause"] >= 0) & (waits["cause"] < len(CAUSES)), waits["cause"], len(CAUSES))
    evidence = np.where((waits["evidence"] >= 0) & (waits["evidence"] < len(EVIDENCE)), waits["evidence"], -1)
    kinds: Integers = table[cause, evidence]
    return kinds


def _main(weights: Mapping[str, int]) -> str:
    ordered = sorted(weights.items(), key=lambda item: -item[1])
    if not ordered:
        return ""
    name, most = ordered[0]
    second = ordered[1][1] if len(ordered) > 1 else 0
    return name if most >= MAIN_SHARE * sum(weights.values()) or most >= MAIN_FACTOR * second else ""


def _missing(frame: Frame) -> float:
    """By what the kernel side counted as lost, and by the histogram, which counts all but throttled waits."""
    seen = int((frame.slow_waits["wait_ns"] >= frame.threshold_ns).sum())
    counts = frame.latency.histogram().counts[np.searchsorted(LOW_NS, frame.threshold_ns) :]
    loss = frame.loss
    lost = loss.ring_dropped + loss.slow_waits_suppressed + loss.slow_waits_forgotten
    lost = max(lost, int(counts.sum(dtype=np.int64)) - seen)
    return lost / (lost + seen) if lost >= FEW_SLOW else 0.0


def _pressure(series: Sequence[Frame]) -> float | None:
    span_ns = some_ns = 0
    for frame in reversed(series):
        if frame.pressure is None or "pressure" in frame.unavailable:
            return None
        span_ns, some_ns = span_ns + frame.interval_ns, some_ns + frame.pressure.some_ns
        if span_ns >= PRESSURE_SPAN_NS:
            return some_ns / span_ns
    return None


def _quotas(frame: Frame) -> tuple[tuple[str, float], ...]:
    rows = frame.throttling[(frame.throttling["periods"] > 0) & (frame.throttling["throttled_periods"] > 0)]
    shares = np.minimum(1, rows["throttled_periods"] / rows["periods"]).tolist()
    groups = zip((frame.cgroups.get(group, "") for group in rows["cgroup_id"].tolist()), shares, strict=True)
    return tuple(sorted(groups, key=lambda item: -item[1]))
