"""The two ways to capture: bpf/capture/btf.c and bpf/capture/tracepoint.c, with what they need of this kernel."""

from __future__ import annotations

from schedtop.model.source import SourceError
from schedtop.sources.kernel.btf import Btf
from schedtop.sources.kernel.findings.tracing import no_tracepoint
from schedtop.sources.kernel.front_end import FrontEnd, choose, kernel_interrupt_flags, read_records, record_flags
from schedtop.sources.kernel.offsets import interrupt_flags

EVENTS = {
    "sched_switch": "sched",
    "sched_waking": "sched",
    "sched_wakeup_new": "sched",
    "sched_migrate_task": "sched",
}
"""The tracepoints of a capture, with their categories."""


def choose_capture_front_end(wanted: str = "auto") -> FrontEnd:
    """The front end for this kernel; `wanted` is `auto`, `btf` or `tracepoint`. Raises SourceError."""
    return choose(wanted, _btf_front_end, _tracepoint_front_end)


def _btf_front_end(btf: Btf) -> FrontEnd:
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
    events = {event: btf.typedef_id(f"btf_trace_{event}") for event in EVENTS if btf.has_typedef(f"btf_trace_{event}")}
    return FrontEnd("btf", (*flags, *interrupt_flags(btf)), events, _missing(events))


def _tracepoint_front_end() -> FrontEnd:
    present, events = read_records(EVENTS)
    if "sched_switch" not in present:
        raise SourceError(no_tracepoint("sched_switch").error)
    flags = (*record_flags("capture/tracepoint.c", present), *kernel_interrupt_flags())
    return FrontEnd("tracepoint", flags, events, _missing(events))


def _missing(events: dict[str, int]) -> tuple[str, ...]:
    return tuple(event for event in EVENTS if event not in events)
