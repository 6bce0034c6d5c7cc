"""How the scheduler is told to treat tasks, asked of the kernel now."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from schedtop.path.inversion import Inversion
from schedtop.path.traits import Traits
from schedtop.sources.host.topology import online_cpus
from schedtop.sources.kernel.pid_numbers import pid_numbers

_POLICIES = {
    os.SCHED_FIFO: "SCHED_FIFO",
    os.SCHED_RR: "SCHED_RR",
    os.SCHED_BATCH: "SCHED_BATCH",
    os.SCHED_IDLE: "SCHED_IDLE",
    6: "SCHED_DEADLINE",  # include/uapi/linux/sched.h; Python has no name for it
}


def with_traits(found: Inversion | None) -> Inversion | None:
    """The same with those of its tasks that are still there, and with the CPUs that there are."""
    return found and replace(found, traits=MappingProxyType(traits_of(found.tids)), online=tuple(online_cpus()))


def traits_of(tids: Iterable[int]) -> dict[int, Traits]:
    """Those of tasks that are there; `tids` are the host's."""
    numbers, online = pid_numbers(), set(online_cpus())
    known: dict[int, Traits] = {}
    for tid in tids:
        try:
            number = numbers.inside(tid)
            if not number:  # 0 would be ourselves
                continue
            allowed = os.sched_getaffinity(number) & online
            known[tid] = Traits(
                os.getpriority(os.PRIO_PROCESS, number),
                _POLICIES.get(os.sched_getscheduler(number) & ~os.SCHED_RESET_ON_FORK, ""),
                os.sched_getparam(number).sched_priority,
                tuple(sorted(allowed)) if allowed < online else (),
            )
        except OSError:
            continue
    return known
