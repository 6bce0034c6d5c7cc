"""Why a wait was slow: the evidence of each cause, and which one it is (docs/blame.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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


def note_idle_cpus(
    rows: Rows,
    cpus: Integers,
    idle_ns: Integers,
    complete: bool,
    online: int,
    affinity: Callable[[int], set[int]],
) -> None:
    """Fills `idle_cpu`, `idle_cpu_ns` and, where that is most of the wait, the `evidence` of an idle CPU.

    `cpus`: ids of the CPUs that were idle, `idle_ns`: for how long in each wait, shape (rows, cpus); `complete`:
    there are no others; `online`: how many CPUs there are; `affinity`: which of them a task may use, or OSError. A CPU
    that the task may use is named before one that it may not. A task of sched_ext waits for no CPU in particular.
    """
    rows["idle_cpu"] = CPU_ANY
    if not len(cpus):
        return
    elsewhere = np.where(cpus[None, :] == rows["cpu"][:, None], 0, idle_ns)
    long_idle = elsewhere >= MOST * rows["wait_ns"][:, None]
    long_idle[rows["evidence"] == Evidence.SCHED_EXT] = False
    moments = np.flatnonzero(long_idle.any(axis=1))
    allowed, known = _allowed(rows[moments], cpus, online, affinity)
    free = long_idle[moments] & allowed & known[:, None]
    is_free: npt.NDArray[np.bool_] = np.logical_or.reduce(free, axis=1)
    idle = elsewhere[moments]
    best = np.argmax(np.where(is_free[:, None] & ~free, -1, idle), axis=1)
    rows["idle_cpu"][moments] = cpus[best]
    rows["idle_cpu_ns"][moments] = idle[np.arange(len(moments)), best]
    evidence = np.where(is_free, Evidence.NOT_BALANCED, Evidence.PINNED)
    # Of CPUs that are not in the list, one may have been idle that the mask allows.
    known &= is_free | complete | (rows["allowed_cpus"][moments] == 1)
    rows["evidence"][moments] = np.where(known, evidence, Evidence.NONE)


def _allowed(
    rows: Rows, cpus: Integers, online: int, affinity: Callable[[int], set[int]]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which of the CPUs each task may use, shape (rows, cpus), and whether that is still known, shape (rows,)."""
    allowed: npt.NDArray[np.bool_] = np.equal(cpus[None, :], rows["cpu"][:, None])
    allowed |= (rows["allowed_cpus"] >= online)[:, None]
    known = np.ones(len(rows), bool)
    some = (rows["allowed_cpus"] != 1) & (rows["allowed_cpus"] < online)
    for tid in np.unique(rows["tid"][some]).tolist():
        mine = some & (rows["tid"] == tid)
        try:
            allowed[mine] = np.isin(cpus, list(affinity(tid)))
        except OSError:
            known[mine] = False
    return allowed, known


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
    """Fills `cause` from the evidence, exclusively: throttled, stolen, an idle CPU, else how the wait began.

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
    cause = np.where(stolen, Cause.STOLEN, cause)
    cause = np.where(told | (began == Cause.THROTTLED), Cause.THROTTLED, cause)
    rows["evidence"][(cause != Cause.IDLE_CPU) & (rows["evidence"] != Evidence.SCHED_EXT)] = Evidence.NONE
    if throttled is not None:
        cause[throttled] = Cause.THROTTLED
        rows["evidence"][throttled] = Evidence.INFERRED
    rows["cause"] = cause
