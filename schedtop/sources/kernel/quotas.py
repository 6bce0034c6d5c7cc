"""Where a kernel tells how long a quota held a cgroup back, as compiler flags for bpf/scheduler/quota.h.

Each cfs_rq has such a clock, hierarchical: that of 6.6 and later counts while it has tasks, those before at any time;
`throttle_cfs_rq()` and `tg_throttle_down()` in kernel/sched/fair.c.
"""

from __future__ import annotations

from collections.abc import Iterable

from schedtop.sources.kernel.btf import Btf
from schedtop.sources.kernel.offsets import offset_flags

_CLOCKS = (
    # Since, sum, and the clock of the run queue that both are by, best first.
    ("throttled_clock_self", "throttled_clock_self_time", "clock"),  # 6.6: what the accounting of waits goes by
    ("throttled_clock_pelt", "throttled_clock_pelt_time", "clock_pelt"),  # 5.19
    ("throttled_clock_task", "throttled_clock_task_time", "clock_task"),  # 3.6; without stolen time
)


QUOTAS_UNKNOWN = "when a quota came back is not told: no wait is split there, and `throttled` is inferred from cpu.stat"
"""Why slow waits have no `throttled_ns`."""


def tells_quotas(flags: Iterable[str]) -> bool:
    """Whether `quota_flags` are among these."""
    return any(flag.startswith("-DQUOTA_SUM_OFFSET") for flag in flags)


def quota_flags(btf: Btf) -> list[str]:
    """Flags that split a wait at the moment its quota comes back, none where the kernel does not tell it."""
    for since, total, clock in _CLOCKS:
        flags = offset_flags(
            btf,
            TASK_CFS_RQ=("task_struct", "se.cfs_rq"),
            TASK_PRIO=("task_struct", "prio"),
            CFS_RQ_RQ=("cfs_rq", "rq"),
            CFS_RQ_GROUP=("cfs_rq", "tg"),
            GROUP_QUEUES=("task_group", "cfs_rq"),
            QUOTA_COUNT=("cfs_rq", "throttle_count"),
            QUOTA_SINCE=("cfs_rq", since),
            QUOTA_SUM=("cfs_rq", total),
            QUOTA_CLOCK=("rq", clock),
        )
        if flags:
            return flags + (offset_flags(btf, QUOTA_LOST=("rq", "lost_idle_time")) if clock == "clock_pelt" else [])
    return []
