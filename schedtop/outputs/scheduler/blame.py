"""The blame in a snapshot: slow waits with their blockers, pairs, what could not be attributed, quotas and groups."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from schedtop.base.units import iso_time
from schedtop.history.view import View
from schedtop.model.frame import Frame
from schedtop.model.group_latency import GroupLatency
from schedtop.model.groups import group_members, group_tasks
from schedtop.model.rows import GROUPS, UNKNOWN, WAIT_KINDS, Rows, text
from schedtop.model.sched_class import LEVELS, treatment
from schedtop.model.waits import BEGINNINGS, CAUSES, DISTANCES, DOMAINS, EVIDENCE, WAKERS

GROUP_FIELDS = (
    "tasks",
    "run_ns",
    "run_delay_ns",
    "max_wait_ns",
    "timeslices",
    "voluntary_switches",
    "involuntary_switches",
    "migrations",
    "waiting",
)


def slow_wait_fields(view: View) -> list[dict[str, Any]]:
    """One object a slow wait, in the order of the View."""
    names = view.slow_waits.dtype.names or ()
    return [
        _slow_wait(dict(zip(names, values, strict=True)), row, view.frame)
        for values, row in zip(view.slow_waits.tolist(), view.slow_waits, strict=True)
    ]


def _slow_wait(wait: dict[str, Any], row: np.void, frame: Frame) -> dict[str, Any]:
    queued_ns = wait["wait_ns"] - wait["throttled_ns"]
    return {
        "time": iso_time(wait["time_ns"]),
        "tid": wait["tid"],
        "tgid": wait["tgid"],
        "comm": text(wait["comm"]),
        "cgroup": cgroup_name(frame, wait["cgroup_id"]),
        "pid_namespace": wait["pid_namespace"] or None,
        **treatment(row).as_json(),
        "slice_ns": wait["slice_ns"] or None,
        "deadline": _deadline(wait),
        "cpu": wait["cpu"],
        "enqueue_cpu": wait["enqueue_cpu"],
        "crossed": DOMAINS[wait["domain"]] or None,
        "allowed_cpus": wait["allowed_cpus"] or None,
        "wait_ns": wait["wait_ns"],
        "began": BEGINNINGS[wait["kind"]],
        "cause": CAUSES[wait["cause"]],
        "evidence": EVIDENCE[wait["evidence"]] or None,
        "idle_cpu": wait["idle_cpu"] if wait["idle_cpu"] >= 0 else None,
        "idle_cpu_ns": wait["idle_cpu_ns"],
        "idle_distance": DISTANCES[wait["idle_distance"]] or None,
        "stolen_ns": wait["stolen_ns"],
        "throttled_ns": wait["throttled_ns"],
        "preemptor": task_ref(wait["preemptor_tid"], wait["preemptor_comm"]),
        "previous": task_ref(wait["previous_tid"], wait["previous_comm"]),
        "waker": task_ref(wait["waker_tid"], wait["waker_comm"]),
        "woken_by": woken_by(wait["woken_by"], wait["waker_tid"]),
        "waker_interrupt": text(wait["waker_interrupt"]) or None,
        "waker_raised_by": text(wait["waker_raiser"]) or None,
        "blockers": _blockers(wait, row),
        "other_blockers_ns": wait["others_ns"],
        "own_cpu_idle_ns": wait["cpu_idle_ns"],
        "interrupted_ns": wait["interrupted_ns"] if frame.interrupts is not None else None,
        "switches": wait["switches"],
        **{name: wait[name] if wait[name] != unknown else None for name, unknown in UNKNOWN.items()},
        "blockers_cover_ratio": round(min(1.0, wait["covered_ns"] / queued_ns), 6) if queued_ns else None,
    }


def _deadline(wait: dict[str, Any]) -> dict[str, int] | None:
    """What a deadline task was granted, and by how much its deadline was past when the wait ended."""
    names = ("runtime_ns", "period_ns", "missed_ns")
    return {name: wait[f"dl_{name}"] for name in names} if wait["dl_runtime_ns"] else None


def _weights(wait: dict[str, Any], place: int) -> dict[str, Any]:
    """The weights of a blocker and its victim where they meet (1024 is nice 0, and a cgroup's if nothing is set)."""
    found: dict[str, Any] = {}
    for role, prefix in (("blocker", ""), ("victim", "victim_")):
        level = LEVELS[wait[f"{role}_level"][place]] or None
        told = wait["blocker_level"][place]
        found[f"{prefix}weight_level"] = level
        found[f"{prefix}weight_there"] = int(wait[f"{role}_weight"][place]) if told else None
    return found


def _blockers(wait: dict[str, Any], row: np.void) -> list[dict[str, Any]]:
    """Tasks, and sources of interrupts, which have no tid but may have been raised; the longest first."""
    tasks = zip(*(wait[f"blocker_{name}"].tolist() for name in ("tid", "comm", "ns")), strict=True)
    interrupts = zip(*(wait[name].tolist() for name in ("interrupt", "interrupt_ns", "interrupt_raiser")), strict=True)
    found: list[dict[str, Any]] = [
        {"tid": tid, "comm": text(comm), "run_ns": ns}
        | treatment(row, "blocker_", place).as_json()
        | {"slice_ns": int(wait["blocker_slice_ns"][place]) or None}
        | _weights(wait, place)
        for place, (tid, comm, ns) in enumerate(tasks)
        if ns
    ]
    found += [
        {"tid": None, "comm": text(name), "run_ns": ns, "raised_by": text(raiser) or None}
        for name, ns, raiser in interrupts
        if ns
    ]
    return sorted(found, key=lambda blocker: -int(blocker["run_ns"]))


def preemption_fields(pairs: Rows) -> list[dict[str, Any]]:
    """Victims and preemptors; the longest sum of waits first."""
    chosen = pairs[pairs["preemptions"] > 0]
    chosen = chosen[np.argsort(-chosen["preempted_ns"], kind="stable")]
    return [
        {**_pair(row, "preemptor"), "count": int(row["preemptions"]), "wait_ns": int(row["preempted_ns"])}
        for row in chosen
    ]


def blocking_fields(pairs: Rows) -> list[dict[str, Any]]:
    """Victims and blockers; the longest first."""
    chosen = pairs[pairs["blocked_ns"] > 0]
    chosen = chosen[np.argsort(-chosen["blocked_ns"], kind="stable")]
    return [
        {**_pair(row, "blocker"), "count": int(row["waits"]), "blocked_ns": int(row["blocked_ns"])} for row in chosen
    ]


def attribution_fields(frame: Frame) -> dict[str, Any]:
    """How the waits that ended are made up: attributed to blockers, or why not."""
    parts = asdict(frame.attribution)
    unattributed = sum(parts.values()) - parts["looked_at_ns"] - parts["over_budget_ns"]
    return {
        "ended_wait_ns": frame.ended_wait_ns,
        "attributed_ns": parts["looked_at_ns"] - unattributed,
        "short_ns": frame.ended_wait_ns - parts["looked_at_ns"] - parts["over_budget_ns"],
        **{name: value for name, value in parts.items() if name != "looked_at_ns"},
    }


def throttling_fields(frame: Frame) -> list[dict[str, Any]]:
    """Cgroups with a quota, the most throttled first."""
    rows = frame.throttling[np.argsort(-frame.throttling["throttled_ns"], kind="stable")]
    return [
        {
            "cgroup": cgroup_name(frame, int(row["cgroup_id"])),
            **{name: int(row[name]) for name in ("periods", "throttled_periods", "throttled_ns", "pressure_ns")},
        }
        for row in rows
    ]


def group_fields(view: View, histogram: Any, is_known: Callable[[str], bool]) -> list[dict[str, Any]] | None:
    """The groups that tasks are shown by, largest run delay first; `None` if they are shown alone.

    `histogram`: turns a Histogram into fields; `is_known`: whether the source could give a field of tasks.
    """
    kind, frame = view.settings.group, view.frame
    known: GroupLatency | None = frame.groups if frame.groups and frame.groups.kind == GROUPS[kind] else None
    if kind == "thread" and known is None:
        return None
    rows = group_tasks(view.tasks, kind, frame.cgroups)
    rows = rows[np.argsort(-rows["run_delay_ns"], kind="stable")]
    groups = []
    for row in rows:
        latency, by_kind = None, None
        if known:
            members = group_members([int(row["id"])], kind, frame.cgroups)
            latency = histogram(known.histogram(members, int(row["max_wait_ns"])))
            by_kind = _by_kind(known, members, histogram)
        fields = {name: int(row[name]) if is_known(name) else None for name in GROUP_FIELDS}
        groups.append(
            {"by": kind, "id": int(row["id"]), "name": text(row["name"]), **fields, "runqueue_latency": latency,
             "latency_by_kind": by_kind}
        )  # fmt: skip
    return groups


def _by_kind(known: GroupLatency, members: Sequence[int], histogram: Any) -> dict[str, Any] | None:
    """The waits of a group by kind, without the longest of each, which is not kept; `None` of old recordings."""
    if not known.has_kinds:
        return None
    return {kind: histogram(known.histogram(members, kind=kind)) | {"max_ns": None} for kind in WAIT_KINDS}


def cgroup_name(frame: Frame, number: int) -> str | None:
    """A cgroup's path, `None` if it is not known."""
    path = frame.cgroups.get(number)
    # A directory's name may be any bytes.
    return None if path is None else text(os.fsencode(path))


def task_ref(tid: int, comm: bytes) -> dict[str, Any] | None:
    """A task by its tid and name, `None` for no task."""
    return {"tid": tid, "comm": text(comm)} if tid else None


def woken_by(number: int, waker_tid: int) -> str | None:
    """What woke a task in a word, `None` where nothing did, or it is not known."""
    return WAKERS[number] if number or waker_tid else None


def _pair(row: np.void, role: str) -> dict[str, Any]:
    if row["other_interrupt"]:
        return {"victim": _treated_ref(row, "victim"), role: {"tid": None, "comm": text(row["other_interrupt"])}}
    return {"victim": _treated_ref(row, "victim"), role: _treated_ref(row, "other")}


def _treated_ref(row: np.void, role: str) -> dict[str, Any] | None:
    """One of a pair by its tid and name, with its class and what follows from that."""
    task = task_ref(int(row[f"{role}_tid"]), row[f"{role}_comm"])
    return task and task | treatment(row, f"{role}_").as_json()
