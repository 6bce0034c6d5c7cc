"""Where a kernel tells what but its affinity mask keeps a task on its CPU, as flags for bpf/scheduler/bound.h."""

from __future__ import annotations

from schedtop.sources.kernel.btf import Btf
from schedtop.sources.kernel.offsets import offset_flags
from schedtop.sources.kernel.queue_fields import has_probe_read


def bond_flags(btf: Btf) -> list[str]:
    """Flags that find the task which a CPU switches to, and what binds it; none where that cannot be found.

    A kernel without `migration_disabled` (before 5.11) has no migrate_disable() that lasts longer than a task runs; one
    without `core_enabled` (CONFIG_SCHED_CORE, 5.14) no core scheduling.
    """
    flags = offset_flags(
        btf,
        TASK_CFS_RQ=("task_struct", "se.cfs_rq"),
        CFS_RQ_RQ=("cfs_rq", "rq"),
        RQ_CURRENT=("rq", "curr"),
        TASK_TID=("task_struct", "pid"),
    )
    if not flags or not has_probe_read(btf):
        return []
    flags += offset_flags(btf, TASK_MIGRATION_DISABLED=("task_struct", "migration_disabled"))
    return flags + offset_flags(btf, RQ_CORE_ENABLED=("rq", "core_enabled"))
