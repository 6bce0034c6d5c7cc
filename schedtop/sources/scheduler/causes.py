"""Why a wait was slow: the evidence of each cause, and which one it is (docs/blame.md)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from schedtop.model.containers import is_within
from schedtop.model.host import Topology
from schedtop.model.rows import Integers, Rows
from schedtop.model.sched_class import Level, SchedClass
from schedtop.model.waits import CAUSE_BY_BEGINNING, DOMAINS, Beginning, Cause, Evidence

MOST = 0.5
"""The share of a wait that is `most of it`."""

TICK_NS = 10_000_000
"""The resolution of /proc/stat (USER_HZ is 100)."""

CPU_ANY = -1

Mask = npt.NDArray[np.bool_]

_BESIDE_IDLE = (Cause.BEHIND_RT, Cause.BEHIND_DEADLINE, Cause.LOWER_WEIGHT)
"""Causes that keep it as evidence that another CPU was idle meanwhile."""


def stolen_at_least(rows: Rows, steal_ns: Integers, interval_ns: int) -> npt.NDArray[np.int64]:
    """What the hypervisor had of each slow wait at least, by the steal of its CPU in the whole interval.

    What was stolen may lie outside of the wait, but no more of it than there was time. A task of sched_ext has no CPU
    to be stolen from. `steal_ns`: shape (cpus,).
    """
    outside = np.maximum(0, interval_ns - rows["wait_ns"])
    stolen = steal_ns[np.minimum(rows["cpu"], len(steal_ns) - 1)] - outside - TICK_NS
    stolen[rows["evidence"] == Evidence.SCHED_EXT] = 0
    least: npt.NDArray[np.int64] = np.clip(stolen, 0, rows["wait_ns"])
    return least


def infer_throttled(rows: Rows, throttling: Rows, paths: Mapping[int, str]) -> npt.NDArray[np.bool_]:
    """Which waits look like a throttled cgroup, where the kernel did not say so (`throttled_ns` is 0).

    The task could run and its CPU was idle for most of the wait, which else does not happen, and its group (or one
    above it) was throttled in the interval for as long, summed over CPUs.
    """
    throttled = np.zeros(len(rows), bool)
    times = {
        paths[int(group)]: int(ns)
        for group, ns in zip(throttling["cgroup_id"], throttling["throttled_ns"], strict=True)
        if int(group) in paths and ns
    }
    idle = rows["cpu_idle_ns"] >= MOST * rows["wait_ns"]
    began = (rows["kind"] == Beginning.PREEMPTION) | (rows["kind"] == Beginning.WAKEUP)
    for index in np.flatnonzero(idle & began & (rows["throttled_ns"] == 0)):
        path = paths.get(int(rows["cgroup_id"][index]), "")
        above = max((ns for group, ns in times.items() if is_within(path, group)), default=0)
        throttled[index] = above >= MOST * rows["wait_ns"][index]
    return throttled


def note_domains(rows: Rows, topology: Topology | None) -> None:
    """Fills `domain`: what lies between the CPU where a wait began and the one where it ended."""
    if topology is None:
        return
    moved = np.flatnonzero(rows["enqueue_cpu"] != rows["cpu"])
    ways = np.stack((rows["enqueue_cpu"][moved], rows["cpu"][moved]), axis=1)
    distinct, places = np.unique(ways, axis=0, return_inverse=True)
    crossed = np.array([DOMAINS.index(topology.crossing(*way)) for way in distinct.tolist()], np.int32)
    rows["domain"][moved] = crossed[places.ravel()]


WEIGHT_FACTOR = 2
"""A blocker that has so many times the weight of its victim outweighs it: more than half of the wait is due to that."""


def _had_ns(rows: Rows, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """How long those of the blockers had the CPU in each wait; `chosen`: shape (rows, BLOCKERS)."""
    had: npt.NDArray[np.int64] = np.where(chosen, rows["blocker_ns"], 0).sum(axis=1)
    return had


def outranked(rows: Rows) -> tuple[Mask, Mask, Mask]:
    """Which waits real-time tasks, deadline tasks, and fair ones with more weight were most of; shape (rows,) each.

    A real-time task waits behind those of its priority and above. Of a victim whose class is not known nothing is said.
    """
    own, others = rows["sched_class"][:, None], rows["blocker_sched_class"]
    most = MOST * np.maximum(1, rows["wait_ns"])
    above = (others == SchedClass.RT) & (own != SchedClass.UNKNOWN) & (own < SchedClass.RT)
    above |= (
        (others == SchedClass.RT) & (own == SchedClass.RT) & (rows["blocker_priority"] >= rows["priority"][:, None])
    )
    by_rt = _had_ns(rows, above)
    known = (own != SchedClass.UNKNOWN) & (own <= SchedClass.DEADLINE)
    by_deadline = _had_ns(rows, (others == SchedClass.DEADLINE) & known)
    heavier = (rows["blocker_level"] != Level.UNKNOWN) & (
        rows["blocker_weight"] >= WEIGHT_FACTOR * rows["victim_weight"].astype(np.int64)
    )
    higher = (by_rt + by_deadline >= most) & (by_rt + by_deadline > 0)
    return higher & (by_rt >= by_deadline), higher & (by_deadline > by_rt), _had_ns(rows, heavier) >= most


def lacks_rt_runtime(rows: Rows) -> Mask:
    """Which waits are of real-time tasks that were taken off their CPU for fair ones, or for nothing.

    The scheduler does that when real-time tasks have used up sched_rt_runtime_us (or what their cgroup has of it), or
    when the fair server of kernel 6.12 and later gives fair tasks their share: dl_server in kernel/sched/deadline.c.
    """
    others = rows["blocker_sched_class"]
    lower = _had_ns(rows, (others == SchedClass.FAIR) | (others == SchedClass.EXT)) + rows["cpu_idle_ns"]
    began = rows["kind"] == Beginning.PREEMPTION
    lacks: Mask = (rows["sched_class"] == SchedClass.RT) & began & (lower >= MOST * np.maximum(1, rows["wait_ns"]))
    return lacks


def assign_causes(rows: Rows, throttled: npt.NDArray[np.bool_] | None = None) -> None:
    """Fills `cause` from the evidence, exclusively, see docs/blame.md.

    In this order: throttled, stolen, interrupts, behind a deadline or real-time task, an idle CPU that the scheduler
    could have used, lower weight, another idle CPU, else how it began.

    `throttled`: inferred for each row, `None` where the kernel tells itself.
    """
    held_back = rows["throttled_ns"]
    began = CAUSE_BY_BEGINNING[rows["kind"]]
    # Its quota came back soon: then it waited for others like a task that was preempted.
    began = np.where((began == Cause.THROTTLED) & (held_back > 0), Cause.PREEMPTION, began)
    idle = (rows["idle_cpu"] >= 0) & (rows["idle_cpu_ns"] >= MOST * rows["wait_ns"])
    stolen = rows["stolen_ns"] >= MOST * rows["wait_ns"]
    told = (held_back > 0) & (held_back >= MOST * rows["wait_ns"])
    over_runtime, lacks_runtime = rows["evidence"] == Evidence.DEADLINE_RUNTIME, lacks_rt_runtime(rows)
    behind_rt, behind_deadline, lighter = outranked(rows)
    cause = np.where(idle, Cause.IDLE_CPU, began)
    cause = np.where(lighter & ~(idle & (rows["evidence"] == Evidence.NOT_BALANCED)), Cause.LOWER_WEIGHT, cause)
    cause = np.where(behind_rt, Cause.BEHIND_RT, np.where(behind_deadline, Cause.BEHIND_DEADLINE, cause))
    cause = np.where(rows["interrupted_ns"] >= MOST * np.maximum(1, rows["wait_ns"]), Cause.INTERRUPTS, cause)
    cause = np.where(stolen, Cause.STOLEN, cause)
    out_of_runtime = (over_runtime | lacks_runtime) & ~stolen
    quota = told | (began == Cause.THROTTLED)
    cause = np.where(quota | out_of_runtime, Cause.THROTTLED, cause)
    beside_idle = idle & np.isin(cause, _BESIDE_IDLE)
    rows["evidence"][(cause != Cause.IDLE_CPU) & ~beside_idle & (rows["evidence"] != Evidence.SCHED_EXT)] = (
        Evidence.NONE
    )
    rows["evidence"][out_of_runtime & ~quota] = np.where(over_runtime, Evidence.DEADLINE_RUNTIME, Evidence.RT_RUNTIME)[
        out_of_runtime & ~quota
    ]
    if throttled is not None:
        cause[throttled] = Cause.THROTTLED
        rows["evidence"][throttled] = Evidence.INFERRED
    rows["cause"] = cause
