"""What /proc/TID/stat tells of how the scheduler is told to treat a task."""

from __future__ import annotations

from schedtop.model.sched_class import Policy, SchedClass, Treatment

_FIFO_99 = -100


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
