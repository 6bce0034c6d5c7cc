"""Where a kernel tells what its scheduling classes make of a task, as flags for bpf/scheduler/btf.c."""

from __future__ import annotations

from schedtop.sources.kernel.btf import Btf
from schedtop.sources.kernel.offsets import offset_flags


def class_flags(btf: Btf) -> list[str]:
    """Flags that find the stopper task of a CPU, and the runtime, period and deadline of a deadline task."""
    flags = offset_flags(
        btf, TASK_CFS_RQ=("task_struct", "se.cfs_rq"), CFS_RQ_RQ=("cfs_rq", "rq"), RQ_STOP=("rq", "stop")
    )
    flags += offset_flags(
        btf,
        DL_RUNTIME=("task_struct", "dl.dl_runtime"),
        DL_PERIOD=("task_struct", "dl.dl_period"),
        DL_DEADLINE=("task_struct", "dl.deadline"),
    )
    if btf.has_field("task_struct", "dl.dl_throttled"):  # a bit of a word
        byte, bit = divmod(btf.bit_offset("task_struct", "dl.dl_throttled"), 8)
        flags += [f"-DDL_THROTTLED_BYTE={byte}", f"-DDL_THROTTLED_BIT={1 << bit}"]
    return flags
