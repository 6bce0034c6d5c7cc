"""How activity is seen on this kernel: bpf/activity/btf.c or tracepoint.c, and what they need."""

from __future__ import annotations

import platform
from collections.abc import Collection
from dataclasses import dataclass

from schedtop.activity import PARTS
from schedtop.model.source import SourceError
from schedtop.sources.host.cgroups import has_v1_cpu_controller
from schedtop.sources.kernel.btf import Btf, BtfError
from schedtop.sources.kernel.call_flags import argument_flags, device_flags, file_flags, number_flags, socket_flags
from schedtop.sources.kernel.findings.tracing import no_tracepoint
from schedtop.sources.kernel.front_end import Hook, choose, read_records, record_flags
from schedtop.sources.kernel.offsets import cgroup_flags, offset_flags, verifier_flags

_CALLS = ("sys_enter", "sys_exit")
_OF_PART = {
    "syscalls": _CALLS,
    "files": _CALLS,
    "memory": (
        "mm_vmscan_direct_reclaim_begin",
        "mm_vmscan_direct_reclaim_end",
        "mm_vmscan_memcg_reclaim_begin",
        "mm_vmscan_memcg_reclaim_end",
        "mm_filemap_add_to_page_cache",
        "page_fault_kernel",
    ),
    "network": (
        "sys_exit",  # of accept
        "sock_send_length",
        "sock_recv_length",
        "inet_sock_set_state",
        "tcp_retransmit_skb",
        "tcp_retransmit_synack",
    ),
}
"""The tracepoints of each of PARTS."""

_NEED_CALLS = {part for part, events in _OF_PART.items() if set(_CALLS) <= set(events)}
"""The parts that need both ends of a call. For accepts alone its end does."""

_ALWAYS = ("sched_process_exit", "sched_process_exec")

_WITHOUT = {
    "sys_enter": "syscalls",
    "sys_exit": "syscalls",
    "mm_vmscan_direct_reclaim_begin": "reclaim",
    "mm_vmscan_direct_reclaim_end": "reclaim",
    "mm_vmscan_memcg_reclaim_begin": "reclaim",
    "mm_vmscan_memcg_reclaim_end": "reclaim",
    "mm_filemap_add_to_page_cache": "page cache",
    "page_fault_kernel": "kernel faults",
    "sock_send_length": "traffic",
    "sock_recv_length": "traffic",
    "inet_sock_set_state": "connections",
    "tcp_retransmit_skb": "retransmits",
    "tcp_retransmit_synack": "retransmits",
    "sched_process_exit": "exits",
    "sched_process_exec": "execs",
}
"""What is not there without each."""

_CATEGORIES = {
    "sys_enter": "raw_syscalls",
    "sys_exit": "raw_syscalls",
    "sock_send_length": "sock",
    "sock_recv_length": "sock",
    "inet_sock_set_state": "sock",
    "tcp_retransmit_skb": "tcp",
    "tcp_retransmit_synack": "tcp",
    "sched_process_exit": "sched",
    "sched_process_exec": "sched",
    **{event: "vmscan" for event in _OF_PART["memory"] if event.startswith("mm_vmscan")},
    "mm_filemap_add_to_page_cache": "filemap",
}
"""Those that the front end without BTF uses, each in its category."""

_FUNCTIONS = ("inet_sendmsg", "inet_recvmsg", "inet6_sendmsg", "inet6_recvmsg")
"""What tells traffic before the tracepoints of sockets (6.3)."""

_UNTOLD = {
    "syscalls": (),
    "files": ("io kinds", "devices"),
    "memory": ("faults", "fault time", "kernel faults"),
    "network": ("accepts", "round-trip time", "packets", "earlier connections"),
}
"""What the front end without BTF cannot tell, by part."""

_NEEDS_BTF = "without the kernel's BTF it cannot be told"

ALL_TASKS = "iter_task"
"""The program that tells what the kernel has counted of each task."""

OPEN_FILES = "iter_task_file"
"""The program that tells which task has which connection since before our time."""

SEGMENTS = "iter_bpf_map_elem"
"""The program that tells how many segments the kernel has counted of each connection."""


@dataclass(frozen=True, slots=True)
class ActivityFrontEnd:
    """How to compile (`flags`) and where to attach. `parts`: what is missing without each of the `hooks`.

    `unavailable`: what this kernel cannot tell at all, with why.
    """

    name: str
    flags: tuple[str, ...]
    hooks: dict[str, Hook]
    parts: dict[str, str]
    unavailable: dict[str, str]


def choose_activity_front_end(wanted: str = "auto", only: Collection[str] = PARTS) -> ActivityFrontEnd:
    """The front end for some of PARTS; `wanted` is `auto`, `btf` or `tracepoint`. Raises SourceError."""
    return choose(wanted, lambda btf: btf_activity_front_end(btf, only), lambda: tracepoint_activity_front_end(only))


def btf_activity_front_end(btf: Btf, only: Collection[str] = PARTS, machine: str = "") -> ActivityFrontEnd:
    """The front end for a kernel with that BTF. Raises BtfError where it lacks a field that nothing can replace."""
    made = _Making(btf)
    made.flags += _task_flags(btf) + cgroup_flags(btf, has_v1_cpu_controller()) + verifier_flags(btf)
    for event in _events_of(only):
        made.add_tracepoint(event)
    machine = machine or platform.machine()
    if "files" in only:
        made.flags += file_flags(btf, made.unavailable) + device_flags(btf, made.unavailable)
    if set(only) & _NEED_CALLS:
        made.flags += argument_flags(btf, machine, made.unavailable if "files" in only else {})
    if "memory" in only:
        made.add_faults()
    if "network" in only:
        made.add_network()
        if not set(only) & _NEED_CALLS:
            made.add_accepts(number_flags(btf, machine))
    for name in ("btf_sys_enter", "btf_sys_exit"):
        if name not in made.hooks and set(only) & _NEED_CALLS:
            raise BtfError(f"the kernel's BTF has no {name.removeprefix('btf_')}")
    return ActivityFrontEnd("btf", tuple(dict.fromkeys(made.flags)), made.hooks, made.parts, made.unavailable)


def tracepoint_activity_front_end(only: Collection[str] = PARTS) -> ActivityFrontEnd:
    """The front end for perf tracepoints. Raises SourceError."""
    wanted = {event: _CATEGORIES[event] for event in _events_of(only) if event in _CATEGORIES}
    if not set(only) & _NEED_CALLS:
        wanted.pop("sys_exit", None)  # of whatever call it is
    present, events = read_records(wanted)
    if set(only) & _NEED_CALLS and "sys_enter" not in present:
        raise SourceError(no_tracepoint("sys_enter").error)
    unavailable = {
        _WITHOUT[event]: f"this kernel has no tracepoint {event}" for event in wanted if event not in present
    }
    unavailable |= dict.fromkeys((name for part in only for name in _UNTOLD[part]), _NEEDS_BTF)
    hooks = {f"tracepoint_{event}": Hook("tracepoint", number) for event, number in events.items()}
    parts = {f"tracepoint_{event}": _WITHOUT[event] for event in present}
    flags = record_flags("activity/tracepoint.c", present)
    if has_v1_cpu_controller():
        unavailable["cgroups"] = _NEEDS_BTF
    else:
        flags += ("-DTELLS_CGROUP",)
    return ActivityFrontEnd("tracepoint", flags, hooks, parts, unavailable)


def _events_of(only: Collection[str]) -> list[str]:
    return list(dict.fromkeys((*_ALWAYS, *(event for part in PARTS if part in only for event in _OF_PART[part]))))


class _Making:
    """A front end in the making."""

    def __init__(self, btf: Btf) -> None:
        self._btf = btf
        self.flags: list[str] = []
        self.hooks: dict[str, Hook] = {}
        self.parts: dict[str, str] = {}
        self.unavailable: dict[str, str] = {}

    def add_tracepoint(self, event: str) -> None:
        """A typed tracepoint, if the kernel has it."""
        if self._btf.has_typedef(f"btf_trace_{event}"):
            self.hooks[f"btf_{event}"] = Hook("btf", self._btf.typedef_id(f"btf_trace_{event}"))
            self.parts[f"btf_{event}"] = _WITHOUT[event]
        else:
            self.unavailable[_WITHOUT[event]] = f"this kernel has no tracepoint {event}"

    def add_function(self, kind: str, function: str, part: str) -> bool:
        """The beginning or the end of a function; false: the kernel has none of the name."""
        try:
            self.hooks[f"{kind}_{function}"] = Hook(kind, self._btf.function_id(function))
        except BtfError:
            self.unavailable[part] = f"this kernel has no function {function}"
            return False
        self.parts[f"{kind}_{function}"] = part
        return True

    def add_iterator(self, program: str, part: str, through: str = "") -> bool:
        """A program that looks through all tasks, files or elements of a map; false: there is no such iterator."""
        target = f"bpf_{program}"
        try:
            self.hooks[program] = Hook("iter", self._btf.function_id(target), through)
        except BtfError:
            self.unavailable[part] = f"this kernel has no iterator {target} (5.8 has)"
            return False
        self.parts[program] = part
        return True

    def add_faults(self) -> None:
        """The kernel's own counts of each task, and both ends of handle_mm_fault for their time."""
        if self.add_iterator(ALL_TASKS, "faults"):
            self.flags.append("-DHAVE_ITER_TASK")
        for kind in ("fentry", "fexit"):
            self.add_function(kind, "handle_mm_fault", "fault time")

    def add_network(self) -> None:
        """What sockets need beside their tracepoints."""
        btf, sockets = self._btf, socket_flags(self._btf)
        if not sockets:
            self.unavailable["packets"] = "the fields of sockets are not in this kernel's BTF"
            for event in set(_OF_PART["network"]) - set(_CALLS):
                self.hooks.pop(f"btf_{event}", None)
                self.unavailable[_WITHOUT[event]] = "the fields of sockets are not in this kernel's BTF"
            return
        self.flags += sockets + offset_flags(btf, TCP_SRTT=("tcp_sock", "srtt_us"))
        segments = offset_flags(btf, TCP_SEGMENTS_IN=("tcp_sock", "segs_in"), TCP_SEGMENTS_OUT=("tcp_sock", "segs_out"))
        if segments and self.add_iterator(SEGMENTS, "packets", "owners"):
            self.flags += segments
        elif not segments:
            self.unavailable["packets"] = "this kernel does not count the segments of a connection"
        if btf.has_field("sk_buff", "cb") and btf.has_field("tcp_skb_cb", "tcp_gso_segs"):
            place = btf.offset("sk_buff", "cb") + btf.offset("tcp_skb_cb", "tcp_gso_segs")
            self.flags.append(f"-DSKB_SEGMENTS_OFFSET={place}")
        if "btf_sock_send_length" not in self.hooks:
            self.unavailable.pop("traffic", None)
            for function in _FUNCTIONS:
                self.add_function("fexit", function, "traffic")
        self._add_open_files()

    def add_accepts(self, number: list[str]) -> None:
        """The end of accept alone, by its `number`, which a program finds with these flags."""
        if number:
            self.flags += [*number, "-DONLY_ACCEPTS"]
        else:
            self.hooks.pop("btf_sys_exit", None)
            self.unavailable["accepts"] = "this kernel's BTF does not say where the number of a system call lies"

    def _add_open_files(self) -> None:
        flags = file_flags(self._btf, {}) + offset_flags(
            self._btf, FILE_PRIVATE=("file", "private_data"), SOCK_STATE=("sock", "__sk_common.skc_state")
        )
        if not any("FILE_PRIVATE" in flag for flag in flags) or not any("FILES_FDT" in flag for flag in flags):
            for part in ("accepts", "earlier connections"):
                self.unavailable[part] = "the fields of open files are not in this kernel's BTF"
            return
        self.flags += flags
        self.add_iterator(OPEN_FILES, "earlier connections")


def _task_flags(btf: Btf) -> list[str]:
    places = {
        "TID": "pid",
        "TGID": "tgid",
        "COMM": "comm",
        "START": "start_time",
        "CGROUPS": "cgroups",
        "LEADER": "group_leader",
        "MIN_FLT": "min_flt",
        "MAJ_FLT": "maj_flt",
    }
    flags = [f"-DTASK_{name}_OFFSET={btf.offset('task_struct', field)}" for name, field in places.items()]
    try:
        number = btf.enumerator("bpf_func_id", "BPF_FUNC_get_current_task_btf")
    except BtfError:  # before 5.11: each field is copied by a call of the kernel
        return [*flags, "-DCOPIED_FIELDS"]
    return [*flags, f"-DGET_CURRENT_TASK_BTF={number}"]
