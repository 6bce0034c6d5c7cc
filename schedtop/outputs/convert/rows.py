"""The rows of each table that an interval makes: a value for each column of COMMON and TABLES.

A value is a list or an array as long as the table, or a single one for all of its rows; `None`: not available.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from schedtop.base.histogram import HIGH_NS, LOW_NS
from schedtop.base.units import printable
from schedtop.model.containers import HOST, container_label
from schedtop.model.cpus import CPU_COUNTERS
from schedtop.model.frame import Frame
from schedtop.model.rows import PAIR_SUMS, TASK_SUMS, WAIT_KINDS, Rows, other_names
from schedtop.model.sched_class import POLICIES, Policy
from schedtop.model.waits import BEGINNINGS, CAUSES, EVIDENCE
from schedtop.outputs.convert.service import service_name
from schedtop.outputs.scheduler.snapshot import is_available, is_known_of_tasks
from schedtop.recording.lines import Header

Values = dict[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of a recording. `recording`: the name of its file."""

    header: Header
    recording: str
    frame: Frame

    @property
    def day(self) -> date:
        """The day on which it began, UTC."""
        return (_EPOCH + timedelta(microseconds=self.frame.start_time_ns // 1000)).date()


def common_values(interval: Interval) -> Values:
    """What every row begins with."""
    host = interval.header.host
    return {
        "host": host.name,
        "boot_id": host.boot_id or None,
        "kernel": host.kernel,
        "recording": interval.recording,
        "date": interval.day,
        "start_time": interval.frame.start_time_ns // 1000,
        "interval_ns": interval.frame.interval_ns,
    }


def interval_rows(interval: Interval) -> tuple[int, Values]:
    """One row: the sums of the whole host."""
    frame, host = interval.frame, interval.header.host
    latency, pressure = frame.latency.histogram(), _pressure(frame)
    waits = _if(is_available(frame, "latency"), {
        "waits": latency.count, "wait_ns": latency.sum_ns, "max_wait_ns": latency.max_ns,
        "p50_ns": latency.percentile_ns(0.5), "p99_ns": latency.percentile_ns(0.99),
    })  # fmt: skip
    slow = _if(is_available(frame, "slow_waits"), {
        "slow_waits": len(frame.slow_waits), "slow_wait_ns": int(frame.slow_waits["wait_ns"].sum()),
    })  # fmt: skip
    throttled = _if(is_available(frame, "throttling"), {
        name: int(frame.throttling[name].sum()) for name in ("throttled_periods", "throttled_ns")
    })  # fmt: skip
    counters = {name: frame.total(name) if _counted(frame, name) else None for name in CPU_COUNTERS}
    if counters["switches"] is None:
        # Of the whole host the kernel counts them itself.
        counters["switches"] = frame.kernel_switches
    queued = int(frame.cpus.queue_length[frame.cpus.online].sum())
    return 1, {
        "source": host.source,
        "tool_version": interval.header.tool_version,
        "virtualised": host.virtualised,
        "threshold_ns": frame.threshold_ns,
        "cpus": len(frame.cpus.ids),
        "kernel_switches": frame.kernel_switches,
        **counters,
        "queue_length": queued if is_available(frame, "queue_length") else None,
        **waits,
        **slow,
        **throttled,
        **pressure,
        "short_lived": None if "short_lived" in frame.unavailable else int(frame.short_lived["count"].sum()),
        "lost": sum(asdict(frame.loss).values()),
    }


def cpu_rows(interval: Interval) -> tuple[int, Values]:
    """A row for each CPU that is online."""
    frame = interval.frame
    ids = np.array(frame.cpus.ids, np.int64)
    known = ids[ids < frame.latency.cpus]
    waits = {name: np.zeros(len(ids), np.int64) for name in ("waits", "wait_ns", "max_wait_ns")}
    waits["waits"][: len(known)] = frame.latency.counts[:, known].sum(axis=(0, 2), dtype=np.int64)
    waits["wait_ns"][: len(known)] = frame.latency.sum_ns[:, known].sum(axis=0)
    waits["max_wait_ns"][: len(known)] = frame.latency.max_ns[:, known].max(axis=0, initial=0)
    return len(ids), {
        "cpu": ids,
        **{name: frame.cpus.column(name)[ids] if _counted(frame, name) else None for name in CPU_COUNTERS},
        "queue_length": frame.cpus.queue_length[ids] if is_available(frame, "queue_length") else None,
        **_if(is_available(frame, "latency"), waits),
    }


def latency_rows(interval: Interval) -> tuple[int, Values]:
    """A row for each bucket of the histograms of all CPUs that holds a wait: percentiles of any span come of these."""
    frame = interval.frame
    if not is_available(frame, "latency"):
        return 0, {}
    counts = np.array([frame.latency.histogram(kind).counts for kind in WAIT_KINDS])
    kinds, buckets = np.nonzero(counts)
    return len(kinds), {
        "kind": [WAIT_KINDS[kind] for kind in kinds],
        "low_ns": LOW_NS[buckets],
        "high_ns": HIGH_NS[buckets],
        "waits": counts[kinds, buckets],
    }


def task_rows(interval: Interval) -> tuple[int, Values]:
    """A row for each task that ran or waited."""
    frame = interval.frame
    rows = frame.tasks
    if "tasks" in frame.unavailable:
        return 0, {}
    numbers = (*TASK_SUMS, "max_wait_ns", "waiting_ns", "last_cpu")
    known = {name: rows[name] if is_known_of_tasks(frame, name) else None for name in numbers}
    return len(rows), {
        "tid": rows["tid"],
        "tgid": rows["tgid"],
        **_named(frame, rows),
        **known,
        "policy": [_label(POLICIES, policy) or None for policy in rows["policy"].tolist()],
        **{name: _where(rows["policy"] != Policy.UNKNOWN, rows[name]) for name in ("nice", "priority")},
    }


def wait_rows(interval: Interval) -> tuple[int, Values]:
    """A row for each slow wait."""
    frame = interval.frame
    rows = frame.slow_waits
    numbers = ("wait_ns", "tid", "tgid", "cpu", "enqueue_cpu", "covered_ns", "stolen_ns", "throttled_ns",
               "interrupted_ns")  # fmt: skip
    return len(rows), {
        "time": rows["time_ns"] // 1000,
        **{name: rows[name] for name in numbers},
        **_named(frame, rows),
        "began": [_label(BEGINNINGS, kind) for kind in rows["kind"].tolist()],
        "cause": [_label(CAUSES, cause) for cause in rows["cause"].tolist()],
        "evidence": [_label(EVIDENCE, evidence) or None for evidence in rows["evidence"].tolist()],
        **{name: _where(rows[name] >= 0, rows[name]) for name in ("queue_length", "idle_cpu")},
        "blocker": _texts(rows["blocker_comm"][:, 0]),
        "blocker_tid": rows["blocker_tid"][:, 0],
        "blocker_ns": rows["blocker_ns"][:, 0],
        "preemptor": _texts(rows["preemptor_comm"]),
        "waker": _texts(rows["waker_comm"]),
    }  # fmt: skip


def pair_rows(interval: Interval) -> tuple[int, Values]:
    """A row for each pair of a task that waited and another that had its CPU."""
    frame = interval.frame
    rows = frame.pairs
    others = _named(frame, rows, "other_")
    for place in np.flatnonzero(rows["other_interrupt"] != b"").tolist():
        name = _text(other_names(rows[place : place + 1])[0])
        others |= {"other_comm": _put(others["other_comm"], place, name),
                   "other_service": _put(others["other_service"], place, name)}  # fmt: skip
    return len(rows), {**_named(frame, rows, "victim_"), **others, **{name: rows[name] for name in PAIR_SUMS}}


def throttling_rows(interval: Interval) -> tuple[int, Values]:
    """A row for each cgroup with a CPU quota."""
    frame = interval.frame
    rows = frame.throttling
    paths = [frame.cgroups.get(cgroup, "") for cgroup in rows["cgroup_id"].tolist()]
    numbers = ("periods", "throttled_periods", "throttled_ns", "pressure_ns", "quota_ns", "period_ns")
    return len(rows), {
        "cgroup": [printable(path) or None for path in paths],
        "container": _containers(paths),
        # Without a process to name it by, what is in no service is named by its container, or not at all.
        "service": [service_name(path, container_label(path)) for path in paths],
        **{name: rows[name] for name in numbers},
    }


ROWS: Mapping[str, Callable[[Interval], tuple[int, Values]]] = {
    "intervals": interval_rows,
    "cpus": cpu_rows,
    "latency": latency_rows,
    "tasks": task_rows,
    "waits": wait_rows,
    "pairs": pair_rows,
    "throttling": throttling_rows,
}
"""How many rows a table has, and their values."""


def _named(frame: Frame, rows: Rows, role: str = "") -> Values:
    paths = [frame.cgroups.get(cgroup, "") for cgroup in rows[f"{role}cgroup_id"].tolist()]
    comms, processes = (_texts(rows[f"{role}{name}"]) for name in ("comm", "process"))
    names = zip(paths, comms, processes, strict=True)
    return {
        f"{role}comm": comms,
        f"{role}process": processes,
        f"{role}cgroup": [printable(path) or None for path in paths],
        f"{role}container": _containers(paths),
        f"{role}service": [service_name(path, process or comm or "") or None for path, comm, process in names],
    }


def _containers(paths: list[str]) -> list[str | None]:
    labels = map(container_label, paths)
    return [None if label == HOST else label for label in labels]


def _texts(names: Any) -> list[str | None]:
    return [_text(name) or None for name in names.tolist()]


def _text(name: bytes) -> str:
    return printable(name.decode("utf-8", "replace"))


def _where(known: Any, values: Any) -> list[Any]:
    return [value if has else None for has, value in zip(known.tolist(), values.tolist(), strict=True)]


def _put(values: list[Any], place: int, value: Any) -> list[Any]:
    values[place] = value
    return values


def _label(labels: Any, number: int) -> str | None:
    """What a later version may write besides has no label here."""
    return labels[number] if 0 <= number < len(labels) else None


def _counted(frame: Frame, name: str) -> bool:
    return is_available(frame, name.removesuffix("_ns"))


def _pressure(frame: Frame) -> Values:
    pressure = None if "pressure" in frame.unavailable else frame.pressure
    return {
        "pressure_some_ns": pressure.some_ns if pressure else None,
        "pressure_full_ns": pressure.full_ns if pressure else None,
    }


def _if(known: bool, values: Values) -> Values:
    return values if known else dict.fromkeys(values)
