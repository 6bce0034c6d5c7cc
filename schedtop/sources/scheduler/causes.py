"""Why a wait was slow: the evidence of each cause, and which one it is (docs/blame.md)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from schedtop.model.containers import is_within
from schedtop.model.host import Topology
from schedtop.model.rows import Integers, Rows
from schedtop.model.waits import CAUSE_BY_BEGINNING, DOMAINS, Beginning, Cause, Evidence

MOST = 0.5
"""The share of a wait that is `most of it`."""

TICK_NS = 10_000_000
"""The resolution of /proc/stat (USER_HZ is 100)."""

CPU_ANY = -1


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


def assign_causes(rows: Rows, throttled: npt.NDArray[np.bool_] | None = None) -> None:
    """Fills `cause` from the evidence, exclusively: throttled, stolen, interrupts, an idle CPU, else how it began.

    `throttled`: inferred for each row, `None` where the kernel tells itself.
    """
    held_back = rows["throttled_ns"]
    began = CAUSE_BY_BEGINNING[rows["kind"]]
    # Its quota came back soon: then it waited for others like a task that was preempted.
    began = np.where((began == Cause.THROTTLED) & (held_back > 0), Cause.PREEMPTION, began)
    idle = (rows["idle_cpu"] >= 0) & (rows["idle_cpu_ns"] >= MOST * rows["wait_ns"])
    stolen = rows["stolen_ns"] >= MOST * rows["wait_ns"]
    told = (held_back > 0) & (held_back >= MOST * rows["wait_ns"])
    cause = np.where(idle, Cause.IDLE_CPU, began)
    cause = np.where(rows["interrupted_ns"] >= MOST * np.maximum(1, rows["wait_ns"]), Cause.INTERRUPTS, cause)
    cause = np.where(stolen, Cause.STOLEN, cause)
    cause = np.where(told | (began == Cause.THROTTLED), Cause.THROTTLED, cause)
    rows["evidence"][(cause != Cause.IDLE_CPU) & (rows["evidence"] != Evidence.SCHED_EXT)] = Evidence.NONE
    if throttled is not None:
        cause[throttled] = Cause.THROTTLED
        rows["evidence"][throttled] = Evidence.INFERRED
    rows["cause"] = cause
