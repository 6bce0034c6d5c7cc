"""A capture as a Perfetto trace, through Perfetto's own library, with the events as its own ftrace source has them.

So its user interface makes of them what it makes of any kernel trace: tracks of CPUs, states of tasks, wakers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

from schedtop import __version__
from schedtop.capture.events import SWITCH, WAKEUP_NEW, WAKING, Capture
from schedtop.model.rows import Integers, Rows
from schedtop.model.waits import WokenBy
from schedtop.outputs.capture.facts import facts
from schedtop.outputs.capture.tracks import Bar, Track

BUNDLE_EVENTS = 20_000
"""How many events, of all CPUs together, are turned into packets at a time."""

_SEQUENCE, _PATHS_SEQUENCE = 1, 2
_PATHS_UUID = 1 << 40  # no task has such a number
_CLONE_THREAD = 0x10000  # include/uapi/linux/sched.h
_CONTEXTS = {WokenBy.INTERRUPT: 0x08, WokenBy.SOFTIRQ: 0x10}  # TRACE_FLAG_HARDIRQ, _SOFTIRQ of linux/trace_events.h


def perfetto_trace(capture: Capture, paths: Sequence[Track] = ()) -> Iterator[bytes]:
    """The trace in pieces, with the tracks of paths. Times are of CLOCK_BOOTTIME, as Perfetto expects them."""
    offset_ns = capture.clocks.boottime_ns - capture.clocks.monotonic_ns
    born = np.unique(capture.events["tid"][capture.events["kind"] == WAKEUP_NEW])
    known = _tasks(capture, born, False, capture.start_ns + offset_ns)
    yield _packed(_clocks(capture), _system(capture), _attributes(capture), known)
    yield _packed(_stats(capture, protos.FtraceStats.START_OF_TRACE, offset_ns))
    cpus = [_Cpu.of(capture, number) for number in capture.cpus]
    for start in range(0, len(capture.events), BUNDLE_EVENTS):
        piece = capture.events[start : start + BUNDLE_EVENTS]
        yield _packed(*(packet for cpu in cpus for packet in _bundles(capture, piece, cpu, offset_ns)))
    end_ns = capture.end_ns + offset_ns
    for track in paths:
        yield _packed(*_path(track, offset_ns), sequence=_PATHS_SEQUENCE)
    yield _packed(_tasks(capture, born, True, end_ns), _stats(capture, protos.FtraceStats.END_OF_TRACE, offset_ns))


@dataclass(frozen=True, slots=True)
class _Cpu:
    """What is needed of a CPU: the ends of its losses not told so far, and its first switch."""

    number: int
    gaps: list[int]
    first_switch_ns: int

    @classmethod
    def of(cls, capture: Capture, number: int) -> Self:
        events = capture.events
        switches = events["time_ns"][(events["seen_on"] == number) & (events["kind"] == SWITCH)]
        gaps = capture.losses["last_ns"][capture.losses["cpu"] == number].tolist()
        return cls(number, gaps, int(switches[0]) if len(switches) else capture.end_ns)


class _Interrupted:
    """The wakeups of a bundle by interrupts, in the compact form: its processor reads their context of no other.

    It takes for the waker what it knows to have the CPU, and follows no path to that.
    """

    def __init__(self, bundle: Any) -> None:
        self._wakeups = bundle.compact_sched
        self._last_ns = 0
        self._names: dict[str, int] = {}

    def add(self, time_ns: int, tid: int, comm: str, cpu: int, prio: int, flags: int) -> None:
        """Each after the one before."""
        to = self._wakeups
        if comm not in self._names:
            self._names[comm] = len(self._names)
            to.intern_table.append(comm)
        to.waking_timestamp.append(time_ns - self._last_ns)
        self._last_ns = time_ns
        to.waking_pid.append(tid)
        to.waking_target_cpu.append(cpu)
        to.waking_prio.append(prio)
        to.waking_comm_index.append(self._names[comm])
        to.waking_common_flags.append(flags)


def _packed(*packets: Any, sequence: int = _SEQUENCE) -> bytes:
    for packet in packets:
        packet.trusted_packet_sequence_id = sequence
    data: bytes = protos.Trace(packet=packets).SerializeToString()
    return data


def _clocks(capture: Capture) -> Any:
    packet = protos.TracePacket()
    snapshot, clocks = packet.clock_snapshot, capture.clocks
    snapshot.primary_trace_clock = protos.BUILTIN_CLOCK_BOOTTIME
    for clock, time_ns in (
        (protos.BUILTIN_CLOCK_BOOTTIME, clocks.boottime_ns),
        (protos.BUILTIN_CLOCK_MONOTONIC, clocks.monotonic_ns),
        (protos.BUILTIN_CLOCK_REALTIME, clocks.realtime_ns),
    ):
        snapshot.clocks.add(clock_id=clock, timestamp=time_ns)
    return packet


def _system(capture: Capture) -> Any:
    packet = protos.TracePacket(timestamp=capture.clocks.boottime_ns)
    system = packet.system_info
    system.utsname.sysname = "Linux"
    system.utsname.release = capture.host.kernel
    system.utsname.version = capture.kernel_build
    system.utsname.machine = capture.machine
    system.machine_name = capture.host.name
    system.tracing_service_version = f"schedtop {__version__}"
    system.num_cpus = len(capture.cpus)
    return packet


def _attributes(capture: Capture) -> Any:
    """All of `facts`: numbers and texts as they are, what else there is as JSON."""
    packet = protos.TracePacket(timestamp=capture.clocks.boottime_ns)
    for key, value in facts(capture).items():
        if isinstance(value, int):
            packet.trace_attributes.attribute.add(key=f"schedtop.{key}", long_value=value)
        else:
            text = value if isinstance(value, str) else json.dumps(value)
            packet.trace_attributes.attribute.add(key=f"schedtop.{key}", string_value=text)
    return packet


def _tasks(capture: Capture, born: Integers, are_born: bool, time_ns: int) -> Any:
    """Which thread is of which process, and their names: of those that were `born` meanwhile, or of all others.

    The former come last: until then Perfetto has them from the events of their birth, under their parents' names.
    """
    names = capture.task_names
    packet = protos.TracePacket(timestamp=time_ns)
    tids = np.unique(np.concatenate((capture.events["tid"], capture.events["other_tid"], capture.names["tid"])))
    tids = tids[(tids > 0) & (np.isin(tids, born) == are_born)]
    tgids = {names.tgid(tid) for tid in tids.tolist()}
    for tgid in sorted(tgids & set(tids.tolist()) if are_born else tgids - set(born.tolist())):
        packet.process_tree.processes.add(pid=tgid, cmdline=[names.name(tgid)], cmdline_is_comm=True)
    for tid in tids.tolist():
        if names.tgid(tid) != tid:
            packet.process_tree.threads.add(tid=tid, tgid=names.tgid(tid), name=names.name(tid))
    return packet


def _stats(capture: Capture, phase: int, offset_ns: int) -> Any:
    """Perfetto shows the difference of two of these as lost."""
    at_end = phase == protos.FtraceStats.END_OF_TRACE
    time_ns = (capture.end_ns if at_end else capture.start_ns) + offset_ns
    packet = protos.TracePacket(timestamp=time_ns)
    packet.ftrace_stats.phase = phase
    seen = np.bincount(capture.events["seen_on"], minlength=max(capture.cpus, default=0) + 1)
    for cpu, lost in capture.lost_by_cpu().items():
        packet.ftrace_stats.cpu_stats.add(
            cpu=cpu,
            now_ts=time_ns / 1e9,
            dropped_events=lost if at_end else 0,
            read_events=int(seen[cpu]) if at_end else 0,
        )
    return packet


def _bundles(capture: Capture, piece: Rows, cpu: _Cpu, offset_ns: int) -> Iterator[Any]:
    """The packets of one CPU's events; after each loss begins another one, which says so. `cpu` loses those told."""
    rows, gaps = piece[piece["seen_on"] == cpu.number], cpu.gaps
    while len(rows):
        packet = protos.TracePacket()
        bundle = packet.ftrace_events
        bundle.cpu = cpu.number
        while gaps and gaps[0] <= rows["time_ns"][0]:
            bundle.lost_events = True
            del gaps[0]
        end = int(np.searchsorted(rows["time_ns"], gaps[0])) if gaps else len(rows)
        _add_events(bundle, rows[:end], capture, cpu.first_switch_ns, offset_ns)
        yield packet
        rows = rows[end:]


def _add_events(bundle: Any, rows: Rows, capture: Capture, first_switch_ns: int, offset_ns: int) -> None:
    texts = [*capture.task_names.texts, ""]  # -1 is the last one
    idle = f"swapper/{bundle.cpu}"
    comms = capture.task_names.at(rows["tid"], rows["time_ns"]).tolist()
    others = capture.task_names.at(rows["other_tid"], rows["time_ns"]).tolist()
    add, interrupted = bundle.event.add, _Interrupted(bundle)
    columns = ("kind", "time_ns", "tid", "other_tid", "prev_state", "prio", "other_prio", "from_cpu", "to_cpu")
    values = zip(*(rows[column].tolist() for column in (*columns, "woken_by")), comms, others, strict=True)
    for kind, time_ns, tid, other, state, prio, other_prio, from_cpu, to_cpu, by, comm, other_comm in values:
        if kind == WAKEUP_NEW:
            _add_birth(bundle, time_ns + offset_ns, tid, other, texts[comm], capture.task_names.tgid(tid) != tid)
        if kind == WAKING and not other and by in _CONTEXTS and time_ns > first_switch_ns:
            interrupted.add(time_ns + offset_ns, tid, texts[comm], from_cpu, prio, _CONTEXTS[by])
            continue
        event = add()
        event.timestamp = time_ns + offset_ns
        if kind == SWITCH:
            event.pid = tid
            switch = event.sched_switch
            switch.prev_comm = texts[comm] if tid else idle
            switch.prev_pid = tid
            switch.prev_prio = prio
            switch.prev_state = state
            switch.next_comm = texts[other_comm] if other else idle
            switch.next_pid = other
            switch.next_prio = other_prio
            continue
        event.pid = other
        if by in _CONTEXTS:
            event.common_flags = _CONTEXTS[by]
        if kind <= WAKEUP_NEW:
            woken = event.sched_wakeup_new if kind == WAKEUP_NEW else event.sched_waking
            woken.success = 1
            woken.target_cpu = from_cpu
        else:
            woken = event.sched_migrate_task
            woken.orig_cpu = from_cpu
            woken.dest_cpu = to_cpu
        woken.comm = texts[comm]
        woken.pid = tid
        woken.prio = prio


def _add_birth(bundle: Any, time_ns: int, tid: int, parent: int, comm: str, is_thread: bool) -> None:
    """What Perfetto takes for the start of a task; the kernel's own event comes a few microseconds before."""
    event = bundle.event.add()
    event.timestamp = time_ns
    event.pid = parent
    event.task_newtask.pid = tid
    event.task_newtask.comm = comm
    event.task_newtask.clone_flags = _CLONE_THREAD if is_thread else 0


def _path(track: Track, offset_ns: int) -> Iterator[Any]:
    """A track of its own, below one for all of them."""
    uuid = _PATHS_UUID + track.tid
    above = protos.TracePacket(sequence_flags=protos.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED)
    above.track_descriptor.uuid, above.track_descriptor.name = _PATHS_UUID, "Paths across tasks"
    yield above
    packet = protos.TracePacket()
    descriptor = packet.track_descriptor
    descriptor.uuid, descriptor.parent_uuid, descriptor.name = uuid, _PATHS_UUID, track.name
    yield packet
    for bar in track.bars:
        yield from _bar(bar, uuid, offset_ns)


def _bar(bar: Bar, uuid: int, offset_ns: int) -> Iterator[Any]:
    packet = protos.TracePacket(timestamp=bar.start_ns + offset_ns)
    event = packet.track_event
    event.type, event.track_uuid, event.name = protos.TrackEvent.TYPE_SLICE_BEGIN, uuid, bar.name
    event.categories.append("path")
    for key, value in bar.details.items():
        # A truth is an integer, too.
        kind = "string_value" if isinstance(value, str) else "bool_value" if isinstance(value, bool) else "int_value"
        event.debug_annotations.add(name=key, **{kind: value})
    yield packet
    for inner in bar.inner:
        yield from _bar(inner, uuid, offset_ns)
    packet = protos.TracePacket(timestamp=bar.end_ns + offset_ns)
    packet.track_event.type, packet.track_event.track_uuid = protos.TrackEvent.TYPE_SLICE_END, uuid
    yield packet
