"""How the task view sees a task on this kernel: bpf/task/btf.c or tracepoint.c, and what they need."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from schedtop.model.source import SourceError
from schedtop.sources.kernel.btf import Btf, BtfError
from schedtop.sources.kernel.call_flags import argument_flags, file_flags, socket_flags
from schedtop.sources.kernel.findings.tracing import no_tracepoint
from schedtop.sources.kernel.front_end import Hook, choose, kernel_interrupt_flags, read_records, record_flags
from schedtop.sources.kernel.offsets import INTERRUPTS_UNKNOWN, interrupt_flags, offset_flags, queued_flag
from schedtop.sources.kernel.quotas import quota_flags

MANDATORY = ("sched_switch",)

TRACEPOINTS = {
    "sched_switch": "states",
    "sched_waking": "wakers",
    "sched_wakeup_new": "new threads",
    "sched_migrate_task": "migrations",
    "sched_process_exit": "exits",
    "sched_process_exec": "new program of another thread",
    "sys_enter": "syscalls",
    "sys_exit": "syscalls",
    "inet_sock_set_state": "connections",
    "sock_send_length": "network",
    "sock_recv_length": "network",
}
"""Tracepoints, and the part of a TaskFrame that is not there without each."""

RECORDS = {
    "sched_switch": "sched",
    "sched_waking": "sched",
    "sched_migrate_task": "sched",
    "sched_process_exec": "sched",
    "sys_enter": "raw_syscalls",
    "sys_exit": "raw_syscalls",
    "inet_sock_set_state": "sock",
    "sock_send_length": "sock",
    "sock_recv_length": "sock",
}
"""Those that the front end without BTF uses, with their categories."""

_NEEDS_BTF = "without the kernel's BTF it cannot be told"

UNDER_WAY = "iter_task"
"""The program that tells what a quota has taken of the waits under way."""

QUOTA_RETURN = "return of its quota"

NETWORK_FUNCTIONS = ("inet_sendmsg", "inet_recvmsg", "inet6_sendmsg", "inet6_recvmsg")
"""What tells traffic before the tracepoints of sockets (6.3)."""


@dataclass(frozen=True, slots=True)
class TaskFrontEnd:
    """How to compile (`flags`) and where to attach. `parts`: what is missing without each of the `hooks`.

    `unavailable`: parts that this kernel cannot give at all, with why.
    """

    name: str
    flags: tuple[str, ...]
    hooks: dict[str, Hook]
    parts: dict[str, str]
    unavailable: dict[str, str]


def choose_task_front_end(wanted: str = "auto") -> TaskFrontEnd:
    """The front end for this kernel; `wanted` is `auto`, `btf` or `tracepoint`. Raises SourceError."""
    return choose(wanted, btf_task_front_end, tracepoint_task_front_end)


def tracepoint_task_front_end() -> TaskFrontEnd:
    """The front end for perf tracepoints. Raises SourceError."""
    present, events = read_records(RECORDS)
    hooks = {f"tracepoint_{event}": Hook("tracepoint", number) for event, number in events.items()}
    if "sched_switch" not in present:
        raise SourceError(no_tracepoint("sched_switch").error)
    unavailable = {
        TRACEPOINTS[event]: f"this kernel has no tracepoint {event}" for event in RECORDS if event not in present
    }
    unavailable |= dict.fromkeys(("throttled", "io kinds", "fault time", "exit codes"), _NEEDS_BTF)
    interrupts = kernel_interrupt_flags()
    if not interrupts:
        unavailable["woken_by"] = INTERRUPTS_UNKNOWN
    parts = {f"tracepoint_{event}": TRACEPOINTS[event] for event in present}
    flags = (*record_flags("task/tracepoint.c", present), *interrupts, "-DNEW_THREADS_ARE_YOUNG")
    return TaskFrontEnd("tracepoint", flags, hooks, parts, unavailable)


def btf_task_front_end(btf: Btf, machine: str = "") -> TaskFrontEnd:
    """The front end for a kernel with that BTF. Raises BtfError where it lacks a field that nothing can replace."""
    unavailable: dict[str, str] = {}
    flags = _task_flags(btf)
    quotas = quota_flags(btf)
    flags += quotas
    if not quotas and not btf.has_field("task_struct", "throttled"):
        unavailable["throttled"] = "this kernel does not tell it: it is in runnable"
    interrupts = interrupt_flags(btf)
    if not interrupts:
        unavailable["woken_by"] = INTERRUPTS_UNKNOWN
    flags += interrupts + file_flags(btf, unavailable) + argument_flags(btf, machine or platform.machine(), unavailable)
    sockets = socket_flags(btf)
    if btf.argument_count("btf_trace_sched_switch") >= 5:
        flags.append("-DSWITCH_HAS_STATE")
    hooks, parts = {}, {}
    for event, part in TRACEPOINTS.items():
        if part in ("network", "connections") and not sockets:
            unavailable[part] = "the fields of sockets are not in this kernel's BTF"
        elif btf.has_typedef(f"btf_trace_{event}"):
            hooks[f"btf_{event}"] = Hook("btf", btf.typedef_id(f"btf_trace_{event}"))
            parts[f"btf_{event}"] = part
        elif part != "network":
            unavailable[part] = f"this kernel has no tracepoint {event}"
    if quotas and btf.has_field("task_struct", "on_cpu"):
        flags += _under_way_flags(btf, hooks, parts, unavailable)
    if "btf_sched_switch" not in hooks:
        raise BtfError("the kernel's BTF has no sched_switch")
    if sockets and "btf_sock_send_length" not in hooks:
        _add_functions(btf, NETWORK_FUNCTIONS, "fexit", "network", hooks, parts, unavailable)
    for kind in ("fentry", "fexit"):
        _add_functions(btf, ("handle_mm_fault",), kind, "fault time", hooks, parts, unavailable)
    return TaskFrontEnd("btf", tuple(flags + sockets), hooks, parts, unavailable)


def _under_way_flags(btf: Btf, hooks: dict[str, Hook], parts: dict[str, str], unavailable: dict[str, str]) -> list[str]:
    """Flags of what tells the quotas' part of waits under way, none where the kernel has no such iterator (5.8 has)."""
    try:
        iterator = btf.function_id("bpf_iter_task")
        write = btf.enumerator("bpf_func_id", "BPF_FUNC_seq_write")
    except BtfError:
        unavailable[QUOTA_RETURN] = "this kernel has no iterator bpf_iter_task (5.8 has): it is told when the wait ends"
        return []
    hooks[UNDER_WAY], parts[UNDER_WAY] = Hook("iter", iterator), QUOTA_RETURN
    return [
        "-DHAVE_ITER_TASK",
        f"-DBPF_SEQ_WRITE={write}",
        f"-DTASK_ON_CPU_TYPE=u{8 * btf.integer_bytes('task_struct', 'on_cpu')}",
        *offset_flags(btf, RQ_CLOCK=("rq", "clock"), TASK_ON_CPU=("task_struct", "on_cpu")),
    ]


def _add_functions(
    btf: Btf,
    functions: tuple[str, ...],
    kind: str,
    part: str,
    hooks: dict[str, Hook],
    parts: dict[str, str],
    unavailable: dict[str, str],
) -> None:
    for function in functions:
        try:
            hooks[f"{kind}_{function}"] = Hook(kind, btf.function_id(function))
            parts[f"{kind}_{function}"] = part
        except BtfError:
            unavailable[part] = f"this kernel has no function {function}"


def _task_flags(btf: Btf) -> list[str]:
    def offset(*fields: str) -> int:
        known = next((field for field in fields if btf.has_field("task_struct", field)), fields[0])
        return btf.offset("task_struct", known)

    offsets = {
        "TID": offset("pid"),
        "TGID": offset("tgid"),
        "COMM": offset("comm"),
        "STATE": offset("__state", "state"),
        "ON_RQ": offset("on_rq"),
        "MIN_FLT": offset("min_flt"),
        "MAJ_FLT": offset("maj_flt"),
        "EXIT_CODE": offset("exit_code"),
    }
    for name, field in {"DELAYED": "se.sched_delayed", "THROTTLED": "throttled", "EXEC": "se.sum_exec_runtime"}.items():
        if btf.has_field("task_struct", field):
            offsets[name] = offset(field)
    return [*(f"-DTASK_{name}_OFFSET={value}" for name, value in offsets.items()), queued_flag(btf)]
