"""Where the fields lie that several front ends read, as compiler flags: offsets from the running kernel's BTF."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from schedtop.sources.kernel.btf import Btf, BtfError


def offset_flags(btf: Btf, **fields: tuple[str, str]) -> list[str]:
    """A flag for the offset of each (struct, field), all of them or none."""
    if not all(btf.has_field(*place) for place in fields.values()):
        return []
    return [f"-D{name}_OFFSET={btf.offset(*place)}" for name, place in fields.items()]


def queued_flag(btf: Btf) -> str:
    """The type of task_struct.on_rq: a byte since 7.3, an int before. The verifier refuses a load that is wider."""
    return f"-DTASK_ON_RQ_TYPE=u{8 * btf.integer_bytes('task_struct', 'on_rq')}"


def cgroup_flags(btf: Btf, v1: bool) -> list[str]:
    """Flags that find a task's cgroup (bpf/cgroup.h); `v1`: that of the cpu controller. Raises BtfError."""

    def offset(struct: str, *names: str) -> int:
        return btf.offset(struct, next((name for name in names if btf.has_field(struct, name)), names[0]))

    flags = [
        f"-DCGROUP_NODE_OFFSET={offset('cgroup', 'kn')}",
        f"-DNODE_ID_OFFSET={offset('kernfs_node', 'id')}",
        f"-DCSS_SET_DEFAULT_CGROUP_OFFSET={offset('css_set', 'dfl_cgrp')}",
        f"-DCGROUP_LEVEL_OFFSET={offset('cgroup', 'level')}",
        f"-DCGROUP_ANCESTORS_OFFSET={offset('cgroup', 'ancestors', 'ancestor_ids')}",
    ]
    if not btf.has_field("cgroup", "ancestors"):  # before 6.1 they were the ids themselves
        flags.append("-DCGROUP_ANCESTORS_ARE_IDS")
    if v1:
        subsystem = btf.offset("css_set", "subsys") + 8 * btf.enumerator("cgroup_subsys_id", "cpu_cgrp_id")
        flags.append(f"-DCSS_SET_SUBSYS_OFFSET={subsystem}")
        flags.append(f"-DCSS_CGROUP_OFFSET={offset('cgroup_subsys_state', 'cgroup')}")
    return flags


def namespace_flags(btf: Btf) -> list[str]:
    """Flags that find a task's pid namespace (bpf/pid_namespace.h), none in a kernel without namespaces."""
    return offset_flags(
        btf,
        TASK_NSPROXY=("task_struct", "nsproxy"),
        NSPROXY_PID=("nsproxy", "pid_ns_for_children"),
        PID_NAMESPACE_ID=("pid_namespace", "ns.inum"),
    )


_JIT = Path("/proc/sys/net/core/bpf_jit_enable")
_CALLERS = ("x86_64", "aarch64")  # of those with bpf_jit_supports_kfunc_call(), the ones that we know


def verifier_flags(btf: Btf, jit: Path = _JIT) -> list[str]:
    """Flags for functions of the kernel that spare its verifier work, or a program calls (bpf/memory.h, timeline.h).

    A program may call functions of the kernel only where it is compiled to machine code.
    """
    if platform.machine() not in _CALLERS:
        return []
    with suppress(OSError):  # another user may not read it, and a container has none
        if jit.read_text().strip() == "0":
            return []
    flags = []
    with suppress(BtfError):  # since 6.2
        flags += [f"-DRDONLY_CAST={btf.function_id('bpf_rdonly_cast')}", f"-DTASK_TYPE={btf.type_id('task_struct')}"]
        # Begins with a number of eight bytes (include/linux/time64.h), so that any address can be read as one.
        flags.append(f"-DU64_TYPE={btf.type_id('timespec64')}")
    with suppress(BtfError):  # since 6.4
        ids = {step: btf.function_id(f"bpf_iter_num_{step}") for step in ("new", "next", "destroy")}
        flags += [f"-DITER_NUM_{step.upper()}={number}" for step, number in ids.items()]
    return flags


INTERRUPTS_UNKNOWN = "neither BTF nor /proc/kallsyms says where the CPU counts its interrupts: they bear a task's name"
"""Why wakers may be bystanders."""


_LAYOUT = ["-DINTERRUPTS_ARE_DISABLED_BY_COUNT"]
"""Since 7.3 preempt_count also counts local_interrupt_disable(), where hard interrupts were counted before."""


def interrupt_flags(btf: Btf) -> list[str]:
    """-D flags that find the count which says whether an interrupt is being handled, none where it cannot be found.

    Some architectures have it in thread_info. Where it is a variable of each CPU, it lies at a fixed distance from the
    run queue, which the current task leads to.
    """
    layout = _LAYOUT if _distance(btf, "local_interrupt_disable_state") is not None else []
    for field in ("thread_info.preempt_count", "thread_info.preempt.count"):
        if btf.has_field("task_struct", field):
            return [f"-DTASK_PREEMPT_COUNT_OFFSET={btf.offset('task_struct', field)}", *layout]
    distance = _preempt_count(btf)
    flags = offset_flags(btf, TASK_CFS_RQ=("task_struct", "se.cfs_rq"), CFS_RQ_RQ=("cfs_rq", "rq"))
    return [*flags, f"-DRQ_TO_PREEMPT_COUNT=({distance}LL)", *layout] if flags and distance is not None else []


def _preempt_count(btf: Btf) -> int | None:
    """How far behind the run queue x86 has it: from 6.2 to 6.14 within pcpu_hot."""
    if not btf.has_field("pcpu_hot", "preempt_count"):
        return _distance(btf, "__preempt_count")
    hot = _distance(btf, "pcpu_hot")
    return None if hot is None else hot + btf.offset("pcpu_hot", "preempt_count")


def _distance(btf: Btf, variable: str) -> int | None:
    try:
        return btf.per_cpu_distance(variable, "runqueues")
    except BtfError:
        return None


def tells_interrupts(flags: Iterable[str]) -> bool:
    """Whether `interrupt_flags` are among these."""
    return any(flag.startswith(("-DTASK_PREEMPT_COUNT_OFFSET", "-DRQ_TO_PREEMPT_COUNT")) for flag in flags)
