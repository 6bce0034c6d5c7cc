"""Slow waits and pairs as the kernel side reports them, with names: rows of `struct slow_wait` and `struct pair`."""

from __future__ import annotations

import numpy as np

from schedtop.model.rows import (
    BLOCKERS,
    PAIR_DTYPE,
    PAIR_SUMS,
    ROLES,
    SLOW_WAIT_DTYPE,
    TREATMENT,
    UNKNOWN,
    Rows,
    take_rows,
)
from schedtop.model.waits import Beginning, Evidence, WokenBy
from schedtop.sources.scheduler.names import TaskNames

MOST_PAIRS = 1024
"""How many pairs an interval keeps, the heaviest."""

_NO_PAIRS = np.zeros(0, PAIR_DTYPE)

WAIT_KINDS_AS_BEGINNINGS = (Beginning.WAKEUP, Beginning.PREEMPTION, Beginning.FORK, Beginning.THROTTLED)
"""In the order of `enum wait_kind`."""

_AS_THEY_ARE = (
    "wait_ns",
    "tid",
    "tgid",
    "comm",
    "cgroup_id",
    "pid_namespace",
    "cpu",
    "enqueue_cpu",
    "allowed_cpus",
    "switches",
    "stolen_ns",
    "throttled_ns",
    "covered_ns",
    "cpu_idle_ns",
    "others_ns",
    "preemptor_tid",
    "preemptor_comm",
    "previous_tid",
    "previous_comm",
    "waker_tid",
    "waker_comm",
    "woken_by",
    *(name for name, _ in TREATMENT),
    "dl_runtime_ns",
    "dl_period_ns",
    "dl_missed_ns",
)


def in_order(events: Rows) -> Rows:
    """Events in the order of time."""
    ordered: Rows = events[np.argsort(events["end_ns"], kind="stable")]
    return ordered


def slow_wait_rows(events: Rows, wall_offset_ns: int, names: TaskNames) -> Rows:
    """SLOW_WAIT_DTYPE rows of events, one each, without their causes.

    `wall_offset_ns`: wall-clock time minus CLOCK_MONOTONIC.
    """
    rows = np.zeros(len(events), SLOW_WAIT_DTYPE)
    rows["time_ns"] = events["end_ns"].astype(np.int64) + wall_offset_ns
    for name in _AS_THEY_ARE:
        rows[name] = events[name]
    # What was interrupted is no waker; ksoftirqd, which does nothing else, is.
    bystander = (rows["woken_by"] != WokenBy.TASK) & ~np.char.startswith(rows["waker_comm"], b"ksoftirqd/")
    rows["waker_tid"][bystander], rows["waker_comm"][bystander] = 0, b""
    for kind, (name, unknown) in enumerate(UNKNOWN.items()):
        lengths = events["queue_length"][:, kind].astype(np.int64)  # which numpy 2.5 does not do for a negative other
        rows[name] = np.where(events["queue_known"] != 0, lengths, unknown)
    rows["process"] = names.processes(rows["tid"], rows["tgid"], rows["comm"])
    rows["kind"] = np.where(events["yielded"] != 0, Beginning.YIELD, np.array(WAIT_KINDS_AS_BEGINNINGS)[events["kind"]])
    rows["evidence"] = np.where(events["sched_ext"] != 0, Evidence.SCHED_EXT, Evidence.NONE)
    rows["evidence"][events["over_runtime"] != 0] = Evidence.DEADLINE_RUNTIME
    # The longest first; the kernel side tells a few more apart than a row keeps.
    order = np.argsort(-events["blocker_ns"].astype(np.int64), axis=1, kind="stable")
    times = np.take_along_axis(events["blocker_ns"].astype(np.int64), order, axis=1)
    tids = np.take_along_axis(events["blocker_tid"], order, axis=1)
    rows["blocker_ns"], rows["blocker_tid"] = times[:, :BLOCKERS], tids[:, :BLOCKERS]
    rows["others_ns"] += times[:, BLOCKERS:].sum(axis=1)
    blockers = names.treated(rows["blocker_tid"].ravel()).reshape(rows["blocker_tid"].shape)
    for name in ("comm", *(name for name, _ in TREATMENT)):
        rows[f"blocker_{name}"] = blockers[name]
    return rows


def pair_rows(pairs: Rows, epoch: int, names: TaskNames) -> tuple[Rows, int]:
    """PAIR_DTYPE rows of the interval `epoch`, and the blocked nanoseconds of the pairs beyond MOST_PAIRS."""
    parity = epoch & 1
    if len(pairs):
        pairs = pairs[pairs["epoch"][:, parity] == (epoch & 0xFFFFFFFF)]
    if not len(pairs):  # also where one that was noted has lost its place, and has a new one in the next interval
        return _NO_PAIRS, 0
    blocked_ns = pairs["blocked_ns"][:, parity].astype(np.int64)
    small_ns = 0
    if len(pairs) > MOST_PAIRS:
        weight = np.maximum(blocked_ns, pairs["preempted_ns"][:, parity].astype(np.int64))
        heaviest = np.argsort(-weight, kind="stable")[:MOST_PAIRS]
        small_ns = int(blocked_ns.sum() - blocked_ns[heaviest].sum())
        pairs = pairs[heaviest]
    rows = np.zeros(len(pairs), PAIR_DTYPE)
    found = names.find(np.concatenate([pairs[f"{role}_tid"] for role in ROLES])).reshape(len(ROLES), -1)
    # A row begins with its two tasks: word by word instead of field by field.
    tasks = found.view(np.uint32).reshape(len(ROLES), len(rows), -1)
    words = rows.view(np.uint32).reshape(len(rows), -1)
    for place in range(len(ROLES)):
        words[:, place * tasks.shape[2] : (place + 1) * tasks.shape[2]] = tasks[place]
    for name in PAIR_SUMS:
        rows[name] = pairs[name][:, parity]
    return take_rows(rows, np.lexsort((rows["other_tid"], rows["victim_tid"]))), small_ns
