"""The View as data: the JSON contract `schedtop.snapshot/1`, described in docs/snapshot.md."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import asdict
from typing import Any

import numpy as np

from schedtop import __version__
from schedtop.histogram import BUCKETS, HIGH_NS, LOW_NS, Histogram
from schedtop.history import Filter, View
from schedtop.model import Frame, Overhead
from schedtop.rows import CAUSES, WAIT_KINDS, Rows, text
from schedtop.tables import CPU_COUNTERS
from schedtop.units import iso_time

SCHEMA = "schedtop.snapshot/1"

PERCENTILES = {"p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99, "p999_ns": 0.999}

TASK_FIELDS = (
    "tid",
    "tgid",
    "comm",
    "process",
    "cgroup",
    "run_ns",
    "run_delay_ns",
    "max_wait_ns",
    "timeslices",
    "switches",
    "voluntary_switches",
    "involuntary_switches",
    "migrations",
    "last_cpu",
)
"""The fields of a task, in this order."""

_CPU_SUMS = CPU_COUNTERS[: CPU_COUNTERS.index("idle_ns")]
# What a field needs beside itself: without wakeup events a wait is known only if it began with a preemption.
_NEEDS = {
    "voluntary_switches": ("switches",),
    "involuntary_switches": ("switches",),
    "wakeups": ("latency",),
    "migrations_in": ("migrations",),
    "migrations_out": ("migrations",),
    "queue_length": ("latency",),
    "run_delay_ns": ("latency",),
    "max_wait_ns": ("latency",),
}


def to_json(view: View, tasks: int | None = 50) -> str:
    """The snapshot as text, ending with a newline; `tasks` as in `snapshot`."""
    return json.dumps(snapshot(view, tasks), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def snapshot(view: View, tasks: int | None = 50) -> dict[str, Any]:
    """The View as plain objects; at most `tasks` tasks (`None`: all). What is not available is `None`."""
    frame = view.frame
    slow_waits = None if "slow_waits" in frame.unavailable else view.slow_waits
    return {
        "schema": SCHEMA,
        "tool_version": __version__,
        "host": view.host.name,
        "kernel": view.host.kernel,
        "source": view.host.source,
        "start_time": iso_time(frame.start_time_ns),
        "interval_ns": frame.interval_ns,
        "threshold_ns": frame.threshold_ns,
        "filters": _filters(view.settings.filter) | {"not_tgid": list(view.settings.hidden_tgids)},
        "cpus": [{"cpu": cpu} | _cpu_fields(frame, [cpu]) for cpu in view.cpu_ids],
        "totals": _cpu_fields(frame, view.settings.filter.cpu_ids(range(len(frame.cpus.online)))),
        "runqueue_latency": _runqueue_latency(view),
        "tasks": None if "tasks" in frame.unavailable else _tasks(frame, view.tasks[:tasks]),
        "slow_waits": None if slow_waits is None else _slow_waits(slow_waits),
        "preemptions": None if slow_waits is None else _preemptions(slow_waits),
        "pressure": asdict(frame.pressure) if frame.pressure and "pressure" not in frame.unavailable else None,
        "throttling": None,
        "loss": asdict(frame.loss),
        "overhead": _overhead(frame.overhead, frame.interval_ns),
    }


def is_available(frame: Frame, field: str) -> bool:
    """Whether the source could give a field of a CPU or a task."""
    return not any(part in frame.unavailable for part in (field, *_NEEDS.get(field, ())))


def _filters(wanted: Filter) -> dict[str, list[Any]]:
    return {
        "comm": list(wanted.comms),
        "tid": list(wanted.tids),
        "tgid": list(wanted.tgids),
        "cpu": list(wanted.cpus),
        "tid_or_tgid": list(wanted.numbers),
    }


def _cpu_fields(frame: Frame, cpus: list[int]) -> dict[str, Any]:
    """The fields of some CPUs together."""
    known = [cpu for cpu in cpus if cpu < len(frame.cpus.online)]
    sums = frame.cpus.counters[known].sum(axis=0, dtype=np.int64)
    fields: dict[str, Any] = {
        name: int(sums[index]) if is_available(frame, name) else None for index, name in enumerate(_CPU_SUMS)
    }
    whole = int(sums[CPU_COUNTERS.index("accounted_ns")])
    for name in ("busy", "steal"):
        part = int(sums[CPU_COUNTERS.index(f"{name}_ns")])
        fields[f"{name}_ratio"] = _ratio(part, whole) if is_available(frame, name) else None
    queued = int(frame.cpus.queue_length[known].sum())
    fields["queue_length"] = queued if is_available(frame, "queue_length") else None
    return fields


def _runqueue_latency(view: View) -> dict[str, Any]:
    if "latency" in view.frame.unavailable:
        return dict.fromkeys((*WAIT_KINDS, "all"))
    return {kind: _histogram(view.latency(kind)) for kind in WAIT_KINDS} | {"all": _histogram(view.latency())}


def _histogram(histogram: Histogram) -> dict[str, Any]:
    """Count, sum, percentiles and the buckets that hold anything; the last bucket has no upper edge."""
    used = np.flatnonzero(histogram.counts).tolist()
    return {
        "count": histogram.count,
        "sum_ns": histogram.sum_ns,
        "max_ns": histogram.max_ns if used else None,
        **{name: histogram.percentile_ns(ratio) for name, ratio in PERCENTILES.items()},
        "buckets": [
            {
                "low_ns": int(LOW_NS[index]),
                "high_ns": int(HIGH_NS[index]) if index < BUCKETS - 1 else None,
                "count": int(histogram.counts[index]),
            }
            for index in used
        ],
    }


def _tasks(frame: Frame, rows: Rows) -> list[dict[str, Any]]:
    names = rows.dtype.names or ()
    unknown = dict.fromkeys(name for name in TASK_FIELDS if not is_available(frame, name))
    tasks = []
    for values in rows.tolist():
        task = dict(zip(names, values, strict=True))
        cgroup = frame.cgroups.get(task["cgroup_id"])
        task |= {
            "comm": text(task["comm"]),
            "process": text(task["process"]) or None,
            # A directory's name may be any bytes.
            "cgroup": None if cgroup is None else text(os.fsencode(cgroup)),
            "switches": task["voluntary_switches"] + task["involuntary_switches"],
            **unknown,
        }
        tasks.append({name: task[name] for name in TASK_FIELDS})
    return tasks


def _slow_waits(rows: Rows) -> list[dict[str, Any]]:
    names = rows.dtype.names or ()
    waits = []
    for values in rows.tolist():
        wait = dict(zip(names, values, strict=True))
        waits.append(
            {
                "time": iso_time(wait["time_ns"]),
                "tid": wait["tid"],
                "tgid": wait["tgid"],
                "comm": text(wait["comm"]),
                "cpu": wait["cpu"],
                "enqueue_cpu": wait["enqueue_cpu"],
                "wait_ns": wait["wait_ns"],
                "cause": CAUSES[wait["kind"]],
                "preemptor": _task_ref(wait["preemptor_tid"], wait["preemptor_comm"]),
                "previous": _task_ref(wait["previous_tid"], wait["previous_comm"]),
                "waker": _task_ref(wait["waker_tid"], wait["waker_comm"]),
                "blockers": [],
                "blockers_cover_ratio": None,
            }
        )
    return waits


def _preemptions(rows: Rows) -> list[dict[str, Any]]:
    """Who took the CPU from whom, over the slow waits that began so; longest sum of waits first."""
    chosen = rows[(rows["kind"] == CAUSES.index("preemption")) & (rows["preemptor_tid"] != 0)]
    counts: Counter[tuple[Any, ...]] = Counter()
    waits_ns: Counter[tuple[Any, ...]] = Counter()
    for wait_ns, *pair in chosen[["wait_ns", "tid", "comm", "preemptor_tid", "preemptor_comm"]].tolist():
        counts[tuple(pair)] += 1
        waits_ns[tuple(pair)] += wait_ns
    return [
        {"victim": _task_ref(*pair[:2]), "preemptor": _task_ref(*pair[2:]), "count": counts[pair], "wait_ns": wait_ns}
        for pair, wait_ns in waits_ns.most_common()
    ]


def _task_ref(tid: int, comm: bytes) -> dict[str, Any] | None:
    return {"tid": tid, "comm": text(comm)} if tid else None


def _overhead(overhead: Overhead, interval_ns: int) -> dict[str, Any]:
    per_switch = overhead.bpf_ns_per_switch
    return {
        "bpf_ns_per_switch": None if per_switch is None else round(per_switch, 1),
        "cpu_ratio": _ratio(overhead.cpu_ns, interval_ns),
        "rss_bytes": overhead.rss_bytes,
    }


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole > 0 else None
