"""The View as data: the JSON contract `schedtop.snapshot/1`, described in docs/snapshot.md."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from schedtop import __version__
from schedtop.base.histogram import BUCKETS, HIGH_NS, LOW_NS, Histogram
from schedtop.base.units import iso_time
from schedtop.history.view import View
from schedtop.model.counts import Overhead
from schedtop.model.cpus import CPU_COUNTERS
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame
from schedtop.model.rows import WAIT_KINDS, Rows, text
from schedtop.model.sched_class import treatments
from schedtop.outputs.plain import json_text
from schedtop.outputs.scheduler.blame import (
    attribution_fields,
    blocking_fields,
    cgroup_name,
    group_fields,
    preemption_fields,
    slow_wait_fields,
    throttling_fields,
)
from schedtop.outputs.scheduler.interrupts import interrupt_fields
from schedtop.outputs.scheduler.queue import queue_fields
from schedtop.outputs.scheduler.short_lived import short_lived_fields, task_ending
from schedtop.outputs.schemas import SNAPSHOT
from schedtop.verdict.engine import judge

SCHEMA = SNAPSHOT

PERCENTILES = {"p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99, "p999_ns": 0.999}

TASK_FIELDS = (
    "tid",
    "tgid",
    "comm",
    "process",
    "cgroup",
    "pid_namespace",
    "run_ns",
    "interrupted_ns",
    "run_delay_ns",
    "max_wait_ns",
    "timeslices",
    "switches",
    "voluntary_switches",
    "involuntary_switches",
    "migrations",
    "cache_migrations",
    "numa_migrations",
    "last_cpu",
    "allowed_cpus",
    "parent_tgid",
    "parent",
    "ended",
    "exit_status",
    "exit_signal",
    "sched_class",
    "policy",
    "priority",
    "nice",
    "weight",
    "cgroup_weight",
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
    "cache_migrations": ("migrations",),
    "numa_migrations": ("migrations",),
    "queue_length": ("latency",),
    "max_wait_ns": ("latency",),
}
_TASK_NEEDS = {
    **_NEEDS,
    "switches": ("task_switches",),
    "voluntary_switches": ("task_switches",),
    "involuntary_switches": ("task_switches",),
    "run_delay_ns": ("run_delay",),
    "parent": ("parents",),
    "parent_tgid": ("parents",),
    "ended": ("exits",),
    "waiting": ("latency",),
}


def to_json(view: View, tasks: int | None = 50) -> str:
    """The snapshot as text, ending with a newline; `tasks` as in `snapshot`."""
    return json_text(snapshot(view, tasks))


def snapshot(view: View, tasks: int | None = 50) -> dict[str, Any]:
    """The View as plain objects; at most `tasks` tasks (`None`: all). What is not available is `None`."""
    frame = view.frame
    blames = "slow_waits" not in frame.unavailable
    return {
        "schema": SCHEMA,
        **origin(view),
        "sched_ext": asdict(frame.sched_ext) if frame.sched_ext else None,
        "verdict": judge(view).as_json(),
        "cpus": [{"cpu": cpu} | _cpu_fields(frame, [cpu]) for cpu in view.cpu_ids],
        "totals": _totals(view),
        "runqueue_latency": _runqueue_latency(view),
        "queue_length": queue_fields(view),
        "interrupts": interrupt_fields(view),
        "tasks": None if "tasks" in frame.unavailable else _tasks(frame, view.tasks[:tasks]),
        "short_lived": None if "short_lived" in frame.unavailable else short_lived_fields(view),
        "slow_waits": slow_wait_fields(view) if blames else None,
        "preemptions": preemption_fields(view.pairs) if blames else None,
        "blockings": blocking_fields(view.pairs) if blames else None,
        "attribution": attribution_fields(frame) if blames else None,
        "groups": group_fields(view, histogram_fields, partial(is_known_of_tasks, frame)),
        "pressure": asdict(frame.pressure) if frame.pressure and "pressure" not in frame.unavailable else None,
        "throttling": None if "throttling" in frame.unavailable else throttling_fields(frame),
        "overhead": _overhead(frame.overhead, frame.interval_ns),
    }


def origin(view: View) -> dict[str, Any]:
    """What every output says of itself: host, kernel, time, version, what was let through, and what was lost."""
    frame = view.frame
    return {
        "tool_version": __version__,
        "host": view.host.name,
        "kernel": view.host.kernel,
        "source": view.host.source,
        "recorded_source": view.host.recorded_source or None,
        "notes": list(view.host.notes),
        "start_time": iso_time(frame.start_time_ns),
        "interval_ns": frame.interval_ns,
        "threshold_ns": frame.threshold_ns,
        "filters": filter_fields(view.settings.shown_filter, view.settings.hidden_tgids, view.host.scope),
        "loss": asdict(frame.loss),
    }


def is_available(frame: Frame, field: str) -> bool:
    """Whether the source could give a field of a CPU."""
    return not any(part in frame.unavailable for part in (field, *_NEEDS.get(field, ())))


def is_known_of_tasks(frame: Frame, field: str) -> bool:
    """Whether the source could give a field of a task: /proc tells switches by task, but not by CPU."""
    needs = _TASK_NEEDS.get(field, ())
    return not any(part in frame.unavailable for part in needs) and (
        field in _TASK_NEEDS or field not in frame.unavailable
    )


def filter_fields(wanted: Filter, hidden_tgids: Iterable[int] = (), scope: str = "") -> dict[str, Any]:
    """`filters` of every output: what alone is shown; all empty: everything."""
    return {
        "comm": list(wanted.comms),
        "tid": list(wanted.tids),
        "tgid": list(wanted.tgids),
        "cpu": list(wanted.cpus),
        "tid_or_tgid": list(wanted.numbers),
        "cgroup": list(wanted.cgroups),
        "pid_namespace": list(wanted.pid_namespaces),
        "class": list(wanted.classes),
        "not_tgid": list(hidden_tgids),
        "scope": scope,
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


def _totals(view: View) -> dict[str, Any]:
    """The fields of all CPUs shown; of the whole host the kernel's own count of switches does where CPUs have none."""
    frame, chosen = view.frame, view.settings.shown_filter
    fields = _cpu_fields(frame, chosen.cpu_ids(range(len(frame.cpus.online))))
    return fields | ({} if chosen.cpus or is_available(frame, "switches") else {"switches": frame.kernel_switches})


def _runqueue_latency(view: View) -> dict[str, Any]:
    if "latency" in view.frame.unavailable:
        return dict.fromkeys((*WAIT_KINDS, "all"))
    return {kind: histogram_fields(view.latency(kind)) for kind in WAIT_KINDS} | {
        "all": histogram_fields(view.latency())
    }


def histogram_fields(histogram: Histogram) -> dict[str, Any]:
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
    unknown = dict.fromkeys(name for name in TASK_FIELDS if not is_known_of_tasks(frame, name))
    if frame.interrupts is None:
        unknown["interrupted_ns"] = None
    tasks = []
    for values, treated in zip(rows.tolist(), treatments(rows), strict=True):
        task = dict(zip(names, values, strict=True))
        task |= {
            "comm": text(task["comm"]),
            "process": text(task["process"]) or None,
            "cgroup": cgroup_name(frame, task["cgroup_id"]),
            "pid_namespace": task["pid_namespace"] or None,
            "allowed_cpus": task["allowed_cpus"] or None,
            "cgroup_weight": task["cgroup_weight"] or None,
            "switches": task["voluntary_switches"] + task["involuntary_switches"],
            **treated.as_json(),
            **task_ending(task, "exit_codes" not in frame.unavailable),
            **unknown,
        }
        tasks.append({name: task[name] for name in TASK_FIELDS})
    return tasks


def _overhead(overhead: Overhead, interval_ns: int) -> dict[str, Any]:
    per_switch = overhead.bpf_ns_per_switch
    return {
        "bpf_ns_per_switch": None if per_switch is None else round(per_switch, 1),
        "cpu_ratio": _ratio(overhead.cpu_ns, interval_ns),
        "rss_bytes": overhead.rss_bytes,
        "nice": overhead.nice,
        "longest_caused_wait_ns": overhead.longest_caused_wait_ns,
        "session_nice": overhead.session_nice,
        "slice_ns": overhead.slice_ns,
        "certain_caused_wait_ns": overhead.certain_caused_wait_ns,
    }


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole > 0 else None
