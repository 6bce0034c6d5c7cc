"""How a task is scheduled, from the text of /proc/TID/stat."""

from __future__ import annotations

from dataclasses import dataclass

from schedtop.model.sched_class import Policy, SchedClass, Treatment

_POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline", 7: "ext"}

# Fields from the state on (man 5 proc, there numbered from 3).
_PRIORITY, _NICE, _RT_PRIORITY, _POLICY = 15, 16, 37, 38

_FIFO_99 = -100


@dataclass(frozen=True, slots=True)
class Scheduling:
    """`policy`: `other`, `fifo`, `rr`, `batch`, `idle`, `deadline`, `ext`; `nice` -20..19; `rt_priority` 0 unless fifo
    or rr; `treatment`: the same as the model has it."""

    policy: str
    nice: int
    rt_priority: int
    treatment: Treatment


def stat_fields(line: bytes) -> list[str]:
    """The fields of a line of /proc/TID/stat, from the state on: a name may hold blanks and brackets."""
    return line.rpartition(b")")[2].decode("ascii", "replace").split()


def scheduling_of(fields: list[str]) -> Scheduling:
    """By the fields of `stat_fields`. Raises ValueError, IndexError where the line is cut off."""
    effective, nice, priority, policy = (int(fields[place]) for place in (_PRIORITY, _NICE, _RT_PRIORITY, _POLICY))
    words = _POLICIES.get(policy, f"policy {policy}")
    return Scheduling(words, nice, priority, treatment_of(effective, nice, policy))


def treatment_of(priority: int, nice: int, policy: int) -> Treatment:
    """By the numbers of /proc/TID/stat. `priority` is task_prio() of the kernel: real-time tasks are below 0.

    A task of a sched_ext scheduler passes for a fair one, and a stopper for one of the policy `fifo`.
    """
    known = Policy.known(policy + 1) or Policy.UNKNOWN
    if priority < _FIFO_99:
        return Treatment(SchedClass.DEADLINE, known, 0, nice)
    if priority < 0:
        return Treatment(SchedClass.RT, known, -1 - priority, nice)
    return Treatment(SchedClass.FAIR, known, 0, nice)
