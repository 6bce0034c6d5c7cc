"""The two ways to see waits: bpf/offcpu/btf.c and bpf/offcpu/tracepoint.c, with what they need of this kernel."""

from __future__ import annotations

from schedtop.model.source import SourceError
from schedtop.sources.host.cgroups import has_v1_cpu_controller
from schedtop.sources.kernel.btf import Btf
from schedtop.sources.kernel.findings.tracing import no_tracepoint
from schedtop.sources.kernel.front_end import FrontEnd, choose, read_records, record_flags
from schedtop.sources.kernel.offsets import cgroup_flags, interrupt_flags, namespace_flags, verifier_flags

EVENTS = ("sched_switch", "sched_waking", "sched_wakeup_new")
"""Without the second, when a wait turns from blocked to runnable is not known: there is nothing to measure then."""


def choose_offcpu_front_end(wanted: str = "auto") -> FrontEnd:
    """The front end for this kernel; `wanted` is `auto`, `btf` or `tracepoint`. Raises SourceError."""
    return choose(wanted, _btf_front_end, _tracepoint_front_end)


def _btf_front_end(btf: Btf) -> FrontEnd:
    state = "__state" if btf.has_field("task_struct", "__state") else "state"
    fields = {"TID": "pid", "TGID": "tgid", "COMM": "comm", "STATE": state, "MM": "mm", "CGROUPS": "cgroups"}
    flags = [f"-DTASK_{name}_OFFSET={btf.offset('task_struct', field)}" for name, field in fields.items()]
    if btf.argument_count("btf_trace_sched_switch") >= 5:
        flags.append("-DSWITCH_HAS_STATE")
    flags += interrupt_flags(btf)
    flags += cgroup_flags(btf, has_v1_cpu_controller())
    flags += namespace_flags(btf) + verifier_flags(btf)
    return FrontEnd("btf", tuple(flags), {event: btf.typedef_id(f"btf_trace_{event}") for event in EVENTS})


def _tracepoint_front_end() -> FrontEnd:
    present, events = read_records(dict.fromkeys(EVENTS, "sched"))
    missing = tuple(event for event in EVENTS if event not in present)
    if missing:
        raise SourceError(no_tracepoint(missing[0], "off-CPU time").error)
    return FrontEnd("tracepoint", record_flags("offcpu/tracepoint.c", present), events)
