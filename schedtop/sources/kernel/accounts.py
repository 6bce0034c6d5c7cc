"""Whether the kernel's own accounting of waits can be read at a switch, as compiler flags for bpf/scheduler/waits.h.

It takes `task_struct.sched_info` (CONFIG_SCHED_INFO) and a way from a task to the clock of its run queue, which leads
through `se.cfs_rq` (CONFIG_FAIR_GROUP_SCHED). Before 5.14 the accounting could be off all the same (sched_info_on() in
kernel/sched/stats.h): then /proc shows three zeros.
"""

from __future__ import annotations

import time
from pathlib import Path

from schedtop.sources.kernel.btf import Btf, BtfError
from schedtop.sources.kernel.offsets import offset_flags

_OWN = Path("/proc/self/schedstat")

_MONOTONIC_COARSE = 6
"""include/uapi/linux/time.h: the clock that ticks."""


def account_flags(btf: Btf, own: Path = _OWN) -> list[str]:
    """Flags that have waits measured by the kernel's accounting, none where it cannot be had; `own`: our schedstat."""
    flags = offset_flags(
        btf,
        TASK_RUN_DELAY=("task_struct", "sched_info.run_delay"),
        TASK_LAST_QUEUED=("task_struct", "sched_info.last_queued"),
        TASK_LAST_ARRIVAL=("task_struct", "sched_info.last_arrival"),
        TASK_PCOUNT=("task_struct", "sched_info.pcount"),
        TASK_CFS_RQ=("task_struct", "se.cfs_rq"),
        CFS_RQ_RQ=("cfs_rq", "rq"),
        RQ_CPU=("rq", "cpu"),
        RQ_CLOCK=("rq", "clock"),
    )
    return flags + _tick_flags(btf) if flags and _is_kept(own) else []


def _is_kept(own: Path) -> bool:
    """Whether the kernel counts how often we have got a CPU: of a process that runs it cannot be zero."""
    try:
        return int(own.read_text().split()[2]) > 0
    except (OSError, ValueError, IndexError):
        return False


def _tick_flags(btf: Btf) -> list[str]:
    """Flags for jiffies, which cost nothing to read, none before kernel 5.6."""
    try:
        helper = btf.enumerator("bpf_func_id", "BPF_FUNC_jiffies64")
    except BtfError:
        return []
    jiffy_ns = round(time.clock_getres(_MONOTONIC_COARSE) * 1e9)
    return [f"-DBPF_JIFFIES64={helper}", f"-DJIFFY_NS={jiffy_ns}"]
