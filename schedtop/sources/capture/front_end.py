"""The two ways to capture: bpf/capture/btf.c and bpf/capture/tracepoint.c, with what they need of this kernel."""

from __future__ import annotations

import platform
import sys
from functools import partial

from schedtop.model.source import SourceError
from schedtop.sources.kernel.btf import Btf, BtfError
from schedtop.sources.kernel.findings.tracing import no_tracepoint
from schedtop.sources.kernel.front_end import (
    FrontEnd,
    choose,
    kernel_interrupt_flags,
    read_records,
    record_flags,
    yield_flags,
)
from schedtop.sources.kernel.offsets import interrupt_flags, offset_flags, verifier_flags
from schedtop.sources.kernel.quotas import quota_flags

EVENTS = {
    "sched_switch": "sched",
    "sched_waking": "sched",
    "sched_wakeup_new": "sched",
    "sched_migrate_task": "sched",
}
"""The tracepoints of a capture, with their categories."""


PATH_UNKNOWN = "the kernel's tracepoints do not tell where tasks are blocked, nor which of them a quota holds back"
"""What a path lacks without BTF."""

_TS_COMPAT = 2
"""thread_info.status of x86: in a system call of a 32-bit program (arch/x86/include/asm/thread_info.h)."""


def choose_capture_front_end(wanted: str = "auto", *, path: bool = False) -> FrontEnd:
    """The front end for this kernel; `wanted` is `auto`, `btf` or `tracepoint`. Raises SourceError.

    `path`: with what the path across tasks needs beside the events, as far as the kernel tells it.
    """
    return choose(wanted, partial(_btf_front_end, path=path), _tracepoint_front_end)


def tells_path(front_end: FrontEnd) -> bool:
    """Whether it was chosen with what the path needs."""
    return "-DTELLS_PATH" in front_end.flags


def _path_flags(btf: Btf) -> list[str]:
    """Flags of bpf/capture/path.h."""
    flags = ["-DTELLS_PATH", *yield_flags(btf), *quota_flags(btf)]
    flags += [f"-DTASK_MM_OFFSET={btf.offset('task_struct', 'mm')}"]
    flags += offset_flags(btf, TASK_STACK=("task_struct", "stack"))
    flags += offset_flags(btf, TASK_THROTTLED=("task_struct", "throttled"))
    on_cpu = offset_flags(btf, TASK_ON_CPU=("task_struct", "on_cpu"))
    # A byte since 7.3, as on_rq: the verifier refuses a load that is wider.
    flags += [*on_cpu, f"-DTASK_ON_CPU_TYPE=u{8 * btf.integer_bytes('task_struct', 'on_cpu')}"] if on_cpu else []
    if platform.machine() == "x86_64":
        flags += offset_flags(btf, TASK_STATUS=("task_struct", "thread_info.status"))
        flags += [f"-DCOMPAT_STATUS={_TS_COMPAT}"]
    if btf.has_field("task_struct", "in_iowait") and sys.byteorder == "little":
        byte, bit = divmod(btf.bit_offset("task_struct", "in_iowait"), 8)
        flags += [f"-DTASK_IOWAIT_BYTE={byte}", f"-DTASK_IOWAIT_BIT={1 << bit}"]
    return flags


def _btf_front_end(btf: Btf, *, path: bool) -> FrontEnd:
    def offset(*fields: str) -> int:
        known = next((field for field in fields if btf.has_field("task_struct", field)), fields[0])
        return btf.offset("task_struct", known)

    offsets = {
        "TID": offset("pid"),
        "TGID": offset("tgid"),
        "COMM": offset("comm"),
        "PRIO": offset("prio"),
        "STATE": offset("__state", "state"),
        "EXIT_STATE": offset("exit_state"),
        "CPU": offset("thread_info.cpu", "cpu"),
    }
    flags = [f"-DTASK_{name}_OFFSET={value}" for name, value in offsets.items()]
    if btf.argument_count("btf_trace_sched_switch") >= 5:
        flags.append("-DSWITCH_HAS_STATE")
    more = (_path_flags(btf) if path else []) + interrupt_flags(btf) + verifier_flags(btf)
    more += offset_flags(btf, RQ_CURRENT=("rq", "curr"))
    flags += [flag for flag in dict.fromkeys(more) if flag not in flags]
    events = {event: btf.typedef_id(f"btf_trace_{event}") for event in EVENTS if btf.has_typedef(f"btf_trace_{event}")}
    iterators = _iterators(btf) if path else {}
    flags += ["-DHAVE_ITER_TASK"] if iterators else []
    return FrontEnd("btf", tuple(flags), events, _missing(events), iterators=iterators)


def _iterators(btf: Btf) -> dict[str, int]:
    """What looks at all tasks for those that have a CPU, where the kernel has that (5.8)."""
    try:
        return {"task": btf.function_id("bpf_iter_task")} if btf.has_field("task_struct", "on_cpu") else {}
    except BtfError:
        return {}


def _tracepoint_front_end() -> FrontEnd:
    present, events = read_records(EVENTS)
    if "sched_switch" not in present:
        raise SourceError(no_tracepoint("sched_switch").error)
    flags = (*record_flags("capture/tracepoint.c", present), *kernel_interrupt_flags())
    return FrontEnd("tracepoint", flags, events, _missing(events))


def _missing(events: dict[str, int]) -> tuple[str, ...]:
    return tuple(event for event in EVENTS if event not in events)
