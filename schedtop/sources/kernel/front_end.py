"""The two ways to see scheduler events, as compiler flags: offsets found on the running kernel, no header, no version.

`btf` front end (bpf/scheduler/btf.c): typed raw tracepoints, offsets of task_struct from BTF.
`tracepoint` front end (bpf/scheduler/tracepoint.c): perf tracepoints, offsets of their records from tracefs.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from schedtop.model.source import NotPermitted, SourceError
from schedtop.sources.host.cgroups import has_v1_cpu_controller
from schedtop.sources.kernel.accounts import account_flags
from schedtop.sources.kernel.bonds import bond_flags
from schedtop.sources.kernel.btf import KERNEL_BTF, Btf, BtfError
from schedtop.sources.kernel.classes import class_flags
from schedtop.sources.kernel.constants import SCHEDULER
from schedtop.sources.kernel.findings.kernel import no_btf
from schedtop.sources.kernel.findings.tracing import no_tracepoint
from schedtop.sources.kernel.kept_btf import with_kept_btf
from schedtop.sources.kernel.offsets import (
    INTERRUPTS_UNKNOWN,
    cgroup_flags,
    interrupt_flags,
    namespace_flags,
    offset_flags,
    queued_flag,
    tells_interrupts,
    verifier_flags,
)
from schedtop.sources.kernel.queue_fields import WITHOUT_BTF, queue_lengths
from schedtop.sources.kernel.quotas import QUOTAS_UNKNOWN, quota_flags, tells_quotas
from schedtop.sources.kernel.records import check_records, macro_prefix
from schedtop.sources.kernel.tracefs import Field, TracefsError, find_tracefs, read_fields, read_id

EVENTS = (
    "sched_switch",
    "sched_waking",
    "sched_wakeup_new",
    "sched_migrate_task",
    "sched_process_exit",
    "sched_process_exec",
)

LOST_WITHOUT = {
    "sched_waking": "latency",
    "sched_wakeup_new": "new tasks",
    "sched_migrate_task": "migrations",
    "sched_process_exit": "exits",
    "sched_process_exec": "execs",
}
"""What cannot be shown without an event; without sched_switch there is nothing to show."""

Chosen = TypeVar("Chosen")

BY_CLOCK = "btf-clock"
"""The `btf` front end with waits measured by our own clock, as on kernels without accounting. For comparisons."""

YIELDS_NOT_TOLD = "yields count as preemptions (before kernel 5.15)"

NOT_SAMPLED = "-"
"""`no_queue` of programs that have nothing to do with run queues."""

SAMPLER = "clock_queue"
"""The program that samples the run queues. It is loaded with the others, and attached while it is wanted."""

SAMPLING_HZ = 99
"""How often a second, on each CPU: not a divisor of the timer tick's rates, so that it does not always meet a tick."""

# Number of the sched_yield system call, and the field of pt_regs that holds a call's number.
_YIELD = {"x86_64": (24, "orig_ax"), "aarch64": (124, "syscallno")}


@dataclass(frozen=True, slots=True)
class Hook:
    """Where a program is attached. `kind` says what `target` is:

    `btf`, `fentry`, `fexit`, `iter`: the BTF id of a tracepoint's type or of a function; `tracepoint`: the id of its
    perf event; `clock`: how many times a second it runs on each CPU. `through`: the map that an `iter` goes through.
    """

    kind: str
    target: int
    through: str = ""


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """How to compile and attach: `events` maps the tracepoints to attach to to what identifies them to the kernel.

    For `btf` that is the id of the event's type, for `tracepoint` the id of its perf event. `missing`: those that the
    kernel lacks. `no_queue`: why the run queues' lengths cannot be read, empty if they can. `notes`: for the user.
    `iterators`: by name the BTF ids of what goes through all of something.
    """

    name: str
    flags: tuple[str, ...]
    events: Mapping[str, int]
    missing: tuple[str, ...] = ()
    no_queue: str = NOT_SAMPLED
    notes: tuple[str, ...] = ()
    iterators: Mapping[str, int] = field(default_factory=dict)

    @property
    def hooks(self) -> dict[str, Hook]:
        """Where its programs are attached, by their names: FRONTEND_EVENT."""
        hooks = {f"{self.name}_{event}": Hook(self.name, target) for event, target in self.events.items()}
        hooks |= {f"iter_{name}": Hook("iter", target) for name, target in self.iterators.items()}
        return hooks if self.no_queue else {**hooks, SAMPLER: Hook("clock", SAMPLING_HZ)}

    @property
    def tells_throttled(self) -> bool:
        """Whether a switch tells that the task leaves because of its group's quota (6.18 and later)."""
        return any(flag.startswith("-DTASK_THROTTLED_OFFSET") for flag in self.flags)

    @property
    def unavailable(self) -> dict[str, str]:
        """What the missing events take away, with the reason in words."""
        lost = {LOST_WITHOUT[event]: f"this kernel has no tracepoint {event}" for event in self.missing}
        if "latency" in lost:  # only waits that began with a preemption are known, and not their sum
            lost["run_delay"] = lost["latency"]
        if "sched_process_exit" in self.missing:
            lost["exit_codes"] = "this kernel has no tracepoint sched_process_exit"
        elif not any(flag.startswith("-DTASK_EXIT_CODE_OFFSET") for flag in self.flags):
            lost["exit_codes"] = "the kernel's tracepoints do not tell how a process ended"
        if self.name == "tracepoint" and "sched_wakeup_new" in self.missing:
            lost["short_lived"] = "without the tracepoint sched_wakeup_new it is not known when a task began"
        if self.no_queue != NOT_SAMPLED and not tells_interrupts(self.flags):
            lost["woken_by"] = INTERRUPTS_UNKNOWN
        if self.no_queue != NOT_SAMPLED and not tells_quotas(self.flags):
            lost["throttled_ns"] = QUOTAS_UNKNOWN
        return lost | ({"queue": self.no_queue} if self.no_queue not in ("", NOT_SAMPLED) else {})


def choose_front_end(wanted: str = "auto") -> FrontEnd:
    """The front end for this kernel; `wanted` is `auto`, `btf`, BY_CLOCK or `tracepoint`. Raises SourceError."""
    if wanted == BY_CLOCK:
        return choose("btf", lambda btf: btf_front_end(btf, by_account=False), tracepoint_front_end)
    return choose(wanted, btf_front_end, tracepoint_front_end)


def choose(wanted: str, of_btf: Callable[[Btf], Chosen], of_tracepoints: Callable[[], Chosen]) -> Chosen:
    """What BTF gives, or where that lacks something (BtfError), what tracepoints give; `wanted` may exclude one.

    Raises SourceError.
    """
    if wanted != "tracepoint":
        try:
            return with_kept_btf(of_btf, KERNEL_BTF)
        except BtfError as error:
            if wanted == "btf":
                raise SourceError(no_btf(str(error)).error) from error
    return of_tracepoints()


def read_records(
    categories: Mapping[str, str], root: Path | None = None
) -> tuple[dict[str, dict[str, Field]], dict[str, int]]:
    """Of the tracepoints that this kernel has: the fields of their records, and the ids of their perf events.

    `categories`: those to look for, each with its category. Raises SourceError where tracefs cannot be read.
    """
    try:
        tracefs = root or find_tracefs()
        found = {event: read_fields(tracefs, f"{category}:{event}") for event, category in categories.items()}
        present = {event: fields for event, fields in found.items() if fields}
        return present, {event: read_id(tracefs, f"{categories[event]}:{event}") for event in present}
    except TracefsError as error:
        denied = isinstance(error.__cause__, PermissionError)
        raise (NotPermitted if denied else SourceError)(str(error)) from error


def kernel_interrupt_flags() -> list[str]:
    """`interrupt_flags` of the running kernel, for programs that otherwise need no BTF; none where there is none."""
    try:
        return with_kept_btf(interrupt_flags, KERNEL_BTF)
    except BtfError:
        return []


def btf_front_end(btf: Btf, uses_cgroup_v1: bool | None = None, by_account: bool = True) -> FrontEnd:
    """The front end for a kernel with BTF; `by_account`: waits are the kernel's, where it tells them.

    Raises BtfError where it lacks a field that nothing can replace.
    """
    events = {event: btf.typedef_id(f"btf_trace_{event}") for event in EVENTS if btf.has_typedef(f"btf_trace_{event}")}
    if "sched_switch" not in events:
        raise BtfError("the kernel's BTF has no sched_switch")
    flags = [f"-DTASK_{name}_OFFSET={btf.offset('task_struct', field)}" for name, field in _task_fields(btf).items()]
    flags.append(queued_flag(btf))
    if btf.argument_count("btf_trace_sched_switch") >= 5:
        flags.append("-DSWITCH_HAS_STATE")
    flags += cgroup_flags(btf, has_v1_cpu_controller() if uses_cgroup_v1 is None else uses_cgroup_v1)
    yields = yield_flags(btf)
    flags += yields + _steal_flags(btf) + namespace_flags(btf) + _exit_flags(btf)
    flags += _ext_flags(btf) + verifier_flags(btf)
    lengths, why, notes = queue_lengths(btf)
    notes += () if yields or platform.machine() not in _YIELD else (YIELDS_NOT_TOLD,)
    accounts = account_flags(btf) if by_account else []
    if not accounts and btf.has_typedef("btf_trace_sched_wakeup"):
        events["sched_wakeup"] = btf.typedef_id("btf_trace_sched_wakeup")
    found = (*accounts, *quota_flags(btf), *interrupt_flags(btf), *bond_flags(btf), *class_flags(btf))
    more = dict.fromkeys((*lengths, *found))
    flags += [flag for flag in more if flag not in flags]
    return FrontEnd("btf", tuple(flags), events, tuple(event for event in EVENTS if event not in events), why, notes)


def tracepoint_front_end(root: Path | None = None) -> FrontEnd:
    """The front end for perf tracepoints. Raises SourceError."""
    present, events = read_records(dict.fromkeys((*EVENTS, "sched_wakeup"), "sched"), root)
    if "sched_switch" not in present:
        raise SourceError(no_tracepoint("sched_switch").error)
    flags = record_flags("scheduler/tracepoint.c", present)
    missing = tuple(event for event in EVENTS if event not in events)
    try:
        # Events by tracepoint, but run queues, the count of interrupts and what binds a task by BTF, if there is any.
        lengths, why, notes = with_kept_btf(queue_lengths, KERNEL_BTF)
        lengths = [*lengths, *with_kept_btf(bond_flags, KERNEL_BTF), *with_kept_btf(verifier_flags, KERNEL_BTF)]
    except BtfError:
        lengths, why, notes = [], WITHOUT_BTF, ()
    more = dict.fromkeys((*lengths, *kernel_interrupt_flags()))
    return FrontEnd("tracepoint", (*flags, *more), events, missing, why, notes)


def record_flags(program: str, present: Mapping[str, Mapping[str, Field]]) -> tuple[str, ...]:
    """HAVE_EVENT for each tracepoint, and where the fields of its record lie.

    `program`: the .c file of bpf/ that reads them. Raises SourceError where it cannot.
    """
    check_records(program, present)
    flags = []
    for event, fields in present.items():
        prefix = macro_prefix(event)
        for name, record in fields.items():
            # A name that is not the plain array (newer kernels move it behind the record) is not used: offset 0.
            known = not name.endswith("comm") or record.size == SCHEDULER.COMM_BYTES
            flags.append(f"-D{prefix}_{name.upper()}_FIELD={record.offset if known else 0}")
    return (*flags, *(f"-DHAVE_{event.upper()}" for event in present))


def _task_fields(btf: Btf) -> dict[str, str]:
    """Macro stem to field of task_struct, under the name that this kernel has for it."""

    def first(*names: str) -> str:
        return next((name for name in names if btf.has_field("task_struct", name)), names[0])

    fields = {
        "TID": "pid",
        "TGID": "tgid",
        "COMM": "comm",
        "START": "start_time",
        "STATE": first("__state", "state"),
        "CGROUPS": "cgroups",
        "ON_RQ": "on_rq",
        "CPU": first("thread_info.cpu", "cpu"),
        "ALLOWED": "nr_cpus_allowed",
        "PRIO": "prio",
        "STATIC_PRIO": "static_prio",
        "POLICY": "policy",
    }
    optional = {
        "DELAYED": "se.sched_delayed",
        "THROTTLED": "throttled",
        "PCOUNT": "sched_info.pcount",
        "STACK": "stack",
        "SUM_EXEC": "se.sum_exec_runtime",
    }
    return fields | {key: field for key, field in optional.items() if btf.has_field("task_struct", field)}


def _steal_flags(btf: Btf) -> list[str]:
    """Flags that find a run queue's steal clock, none where the kernel keeps none (CONFIG_PARAVIRT_TIME_ACCOUNTING)."""
    return offset_flags(
        btf,
        TASK_CFS_RQ=("task_struct", "se.cfs_rq"),
        CFS_RQ_RQ=("cfs_rq", "rq"),
        RQ_STEAL=("rq", "prev_steal_time_rq"),
    )


def _exit_flags(btf: Btf) -> list[str]:
    """Flags that find the parent of a task, and how it ended."""
    flags = offset_flags(
        btf,
        TASK_EXIT_CODE=("task_struct", "exit_code"),
        TASK_SIGNAL=("task_struct", "signal"),
        SIGNAL_FLAGS=("signal_struct", "flags"),
        SIGNAL_CODE=("signal_struct", "group_exit_code"),
    )
    execs = [name for name in ("group_exec_task", "group_exit_task") if btf.has_field("signal_struct", name)]
    if execs:  # the latter before 5.16
        flags += offset_flags(btf, SIGNAL_EXEC=("signal_struct", execs[0]))
    return flags + offset_flags(
        btf, TASK_PARENT=("task_struct", "real_parent"), TASK_LEADER=("task_struct", "group_leader")
    )


def _ext_flags(btf: Btf) -> list[str]:
    """Flags that tell whether sched_ext has a task, queued or not (kernel/sched/ext.c), none before 6.12."""
    try:
        queued = btf.enumerator("scx_ent_flags", "SCX_TASK_QUEUED")
        flags = [f"-DTASK_EXT_FLAGS_OFFSET={btf.offset('task_struct', 'scx.flags')}", f"-DEXT_QUEUED={queued}"]
        mask = btf.enumerator("scx_ent_flags", "SCX_TASK_STATE_MASK")
    except BtfError:
        return []
    try:  # an enum of its own, not shifted yet, before 7.x
        enabled = btf.enumerator("scx_task_state", "SCX_TASK_ENABLED")
        enabled <<= btf.enumerator("scx_ent_flags", "SCX_TASK_STATE_SHIFT")
    except BtfError:
        enabled = btf.enumerator("scx_ent_flags", "SCX_TASK_ENABLED")
    return [*flags, f"-DEXT_STATE_MASK={mask}", f"-DEXT_ENABLED={enabled}"]


def yield_flags(btf: Btf) -> list[str]:
    """Flags that tell sched_yield from a preemption, none where the kernel (before 5.15) offers no way."""
    number, field = _YIELD.get(platform.machine(), (0, ""))
    try:
        helper = btf.enumerator("bpf_func_id", "BPF_FUNC_task_pt_regs")
        offset = btf.offset("pt_regs", field)
    except BtfError:
        return []
    return [f"-DBPF_TASK_PT_REGS={helper}", f"-DREGS_SYSCALL_OFFSET={offset}", f"-DNR_SCHED_YIELD={number}"]
