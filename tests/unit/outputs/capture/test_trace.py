"""Traces of captures that are written by hand: what they show, in both formats."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

from schedtop import __version__
from schedtop.capture.events import (
    EVENT_DTYPE,
    LOSS_DTYPE,
    MIGRATE,
    NAME,
    NAME_DTYPE,
    SWITCH,
    WAKEUP_NEW,
    WAKING,
    Capture,
    Clocks,
    Names,
    reported_states,
)
from schedtop.capture.slices import RUNNABLE, RUNNING, SLEEPING, Changes, slices_of
from schedtop.commands.capture.files import describe
from schedtop.model.host import Host
from schedtop.model.waits import WokenBy
from schedtop.outputs.capture.chrome import CPUS_PID
from schedtop.outputs.capture.files import trace_paths, write_traces
from schedtop.outputs.capture.perfetto import perfetto_trace
from schedtop.outputs.capture.tracks import path_tracks
from schedtop.outputs.files import OutputError
from schedtop.outputs.words import filter_words
from tests.unit.path.test_walk import LATE, held_lock

START, END = 1_000_000, 2_000_000
FIRST, SECOND, WORKER = 100, 101, 200


def event(time_ns: int, kind: int, tid: int, other: int, **fields: int) -> dict[str, int]:
    return {"time_ns": START + time_ns, "kind": kind, "tid": tid, "other_tid": other, "prio": 120} | fields


def switch(time_ns: int, prev: int, following: int, state: int = 1, cpu: int = 0) -> dict[str, int]:
    return event(time_ns, SWITCH, prev, following, prev_state=state if prev else 0, seen_on=cpu, other_prio=120)


def waking(time_ns: int, tid: int, waker: int, cpu: int = 0, target: int = 0, kind: int = WAKING) -> dict[str, int]:
    return event(time_ns, kind, tid, waker, seen_on=cpu, from_cpu=target)


def capture_of(
    *events: dict[str, int],
    losses: Sequence[tuple[int, int, int, int]] = (),
    cpus: tuple[int, ...] = (0, 1),
    **more: Any,
) -> Capture:
    rows = np.zeros(len(events), EVENT_DTYPE)
    for index, fields in enumerate(sorted(events, key=lambda fields: fields["time_ns"])):
        for name, value in fields.items():
            rows[name][index] = value
    names = np.array(
        [(START, FIRST, FIRST, b"first"), (START, SECOND, FIRST, b"second"), (START, WORKER, WORKER, b'w"\xff')],
        NAME_DTYPE,
    )
    gaps = np.zeros(len(losses), LOSS_DTYPE)
    for index, (first, last, cpu, count) in enumerate(losses):
        gaps[index] = (START + first, START + last, cpu, (0, 0), count)
    lost = {kind: np.zeros(len(cpus), np.int64) for kind in range(5)}
    lost[NAME] += 1000  # no events
    for _, _, cpu, count in losses:
        lost[SWITCH][cpus.index(cpu)] += count
    return Capture(
        host=Host("box", "6.18.0-test", "btf"),
        start_ns=START,
        end_ns=END,
        clocks=Clocks(START - 1000, START + 7000, 1_700_000_000_000_000_000),
        cpus=cpus,
        events=rows,
        names=names,
        losses=gaps,
        lost=lost,
        **more,
    )


def states(capture: Capture, tid: int) -> list[tuple[int, int, int]]:
    """(start, end, state) of a task, since the start."""
    rows = slices_of(capture).states
    rows = rows[rows["tid"] == tid]
    return [(int(row["start_ns"]) - START, int(row["end_ns"]) - START, int(row["state"])) for row in rows]


def runs(capture: Capture, cpu: int = 0) -> list[tuple[int, int, int]]:
    rows = slices_of(capture).runs
    rows = rows[(rows["cpu"] == cpu) & (rows["end_ns"] > rows["start_ns"])]
    return [(int(row["start_ns"]) - START, int(row["end_ns"]) - START, int(row["tid"])) for row in rows]


def test_what_took_a_cpu_offline_does_not_run_to_the_end() -> None:
    stopper = (START, 19, 19, b"migration/1")
    events = [waking(90, 19, FIRST, target=1), switch(100, 0, 19, cpu=1), switch(300, 0, FIRST)]
    capture = capture_of(*events)
    gone = replace(capture, names=np.append(capture.names, np.array([stopper], NAME_DTYPE)))
    assert runs(capture, 1) == [(100, END - START, 19)]
    assert runs(gone, 1) == []
    assert states(gone, 19) == [(90, 100, RUNNABLE)]
    back = replace(capture_of(*events, switch(700, 0, SECOND, cpu=1)), names=gone.names)
    assert runs(back, 1) == [(700, END - START, SECOND)]
    assert states(back, 19) == [(90, 100, RUNNABLE)]


LENGTH = END - START


def test_a_task_runs_sleeps_is_woken_and_runs_again() -> None:
    capture = capture_of(
        switch(100, FIRST, 0), waking(300, FIRST, WORKER, cpu=1), switch(350, 0, FIRST), switch(500, FIRST, WORKER, 0)
    )
    assert states(capture, FIRST) == [
        (0, 100, RUNNING),  # it had the CPU at the first switch, so it had it since the start
        (100, 300, SLEEPING),
        (300, 350, RUNNABLE),
        (350, 500, RUNNING),
        (500, LENGTH, RUNNABLE),  # preempted, until the end
    ]
    assert runs(capture) == [(0, 100, FIRST), (350, 500, FIRST), (500, LENGTH, WORKER)]


def test_a_waking_of_a_task_that_is_awake_changes_nothing() -> None:
    capture = capture_of(
        switch(100, 0, FIRST), waking(150, FIRST, WORKER, cpu=1), switch(200, FIRST, WORKER, 0x100),
        waking(250, FIRST, WORKER), switch(300, WORKER, FIRST),
    )  # fmt: skip
    assert states(capture, FIRST) == [(100, 200, RUNNING), (200, 300, RUNNABLE), (300, LENGTH, RUNNING)]


def test_a_task_that_is_woken_on_its_way_to_sleep_does_not_sleep() -> None:
    capture = capture_of(
        switch(100, 0, FIRST), waking(190, FIRST, WORKER, cpu=1), switch(200, FIRST, SECOND), switch(300, SECOND, FIRST)
    )
    assert states(capture, FIRST) == [(100, 200, RUNNING), (200, 300, RUNNABLE), (300, LENGTH, RUNNING)]
    row = slices_of(capture).states[1]
    assert (row["woken_ns"] - START, row["waker_tid"], row["waker_cpu"]) == (190, WORKER, 1)


def test_a_new_task_begins_runnable_and_an_ended_one_is_gone() -> None:
    capture = capture_of(
        waking(100, FIRST, WORKER, kind=WAKEUP_NEW), switch(150, WORKER, FIRST), switch(400, FIRST, 0, state=0x10)
    )
    assert states(capture, FIRST) == [(100, 150, RUNNABLE), (150, 400, RUNNING)]


def test_trace_bridges_a_lost_switch() -> None:
    """The CPU left idle unseen: the task ran since it was woken."""
    capture = capture_of(
        switch(100, WORKER, 0), waking(300, FIRST, 0), switch(500, FIRST, 0), switch(600, 0, SECOND, cpu=1)
    )
    assert runs(capture) == [(0, 100, WORKER), (300, 500, FIRST)]
    assert states(capture, FIRST)[0][0:2] == (300, 500)
    assert slices_of(capture).unseen_switches == 1


def test_trace_shows_no_task_during_a_loss() -> None:
    capture = capture_of(
        switch(100, 0, FIRST), switch(800, WORKER, 0), losses=[(300, 700, 0, 9)],
    )  # fmt: skip
    assert runs(capture) == [(100, 300, FIRST), (700, 800, WORKER)]
    assert states(capture, FIRST) == [(100, 300, RUNNING)]
    assert states(capture, WORKER) == [(700, 800, RUNNING), (800, LENGTH, SLEEPING)]
    assert slices_of(capture).unseen_switches == 0


def random_capture() -> Capture:
    """Whatever comes, with losses and switches that nobody saw."""
    random = np.random.default_rng(5)
    events, losses = [], []
    for cpu in range(2):
        current, time_ns = 0, 0
        while (time_ns := time_ns + int(random.integers(1, 400))) < LENGTH:
            tids = random.integers(0, 20, 2).tolist()
            what = random.integers(0, 12)
            if what == 0:
                events.append(waking(time_ns, tids[0] + 1, tids[1], cpu=cpu))
            elif what == 1 and time_ns + 100 < LENGTH:
                losses.append((time_ns, time_ns + 50, cpu, 3))
                time_ns += 60
            else:
                leaves = current if random.random() < 0.9 else tids[0]
                events.append(switch(time_ns, leaves, tids[1], int(random.choice([0, 1, 2, 16, 256])), cpu=cpu))
                current = tids[1]
    return capture_of(*events, losses=losses)


@pytest.mark.parametrize("most_rows", [1, 40, 700])
def test_states_in_parts_are_those_in_one(most_rows: int) -> None:
    capture = random_capture()
    breaths: list[int] = []
    changes = Changes(capture, most_rows, lambda: breaths.append(1))
    whole = slices_of(capture)
    parts = [changes.states(part) for part in range(changes.parts)]
    assert changes.parts > 1 and max(map(len, parts)) < len(whole.states) and len(breaths) > len(capture.cpus)
    assert all(np.unique(rows["tid"] % changes.parts).tolist() in ([], [part]) for part, rows in enumerate(parts))
    together = np.concatenate(parts)
    assert together[np.lexsort((together["start_ns"], together["tid"]))].tolist() == whole.states.tolist()
    assert changes.tids() == [0, *np.unique(whole.states["tid"]).tolist()]
    assert changes.runs.tolist() == whole.runs.tolist() and changes.unseen_switches == whole.unseen_switches


def test_slices_of_a_random_capture_never_overlap() -> None:
    slices = slices_of(random_capture())
    assert len(slices.runs) > 1000 and slices.unseen_switches > 100
    for rows, key in ((slices.runs, "cpu"), (slices.states, "tid")):
        assert (rows["end_ns"] >= rows["start_ns"]).all()
        assert (rows["end_ns"] <= END).all() and (rows["start_ns"] >= START).all()
        for which in np.unique(rows[key]).tolist():
            own = rows[rows[key] == which]
            assert (own["start_ns"][1:] >= own["end_ns"][:-1]).all(), f"{key} {which}"


EXAMPLE = (
    switch(100, FIRST, 0),
    waking(300, SECOND, FIRST, cpu=1, target=0),
    switch(350, 0, SECOND),
    event(400, MIGRATE, WORKER, SECOND, from_cpu=0, to_cpu=1, seen_on=0),
    switch(500, SECOND, WORKER, state=2),
    waking(600, FIRST, 0, cpu=1),
    switch(700, 0, FIRST, cpu=1),
)


NO_FILTERS: dict[str, Any] = {
    **{
        name: []
        for name in ("comm", "tid", "tgid", "cpu", "tid_or_tgid", "cgroup", "pid_namespace", "class", "not_tgid")
    },
    "scope": "",
}
"""As in a snapshot; a capture has none."""


def chrome(capture: Capture, tmp_path: Path) -> dict[str, Any]:
    [path] = write_traces(capture, {"chrome": tmp_path / "trace.json"})
    data: dict[str, Any] = json.loads(path.read_bytes())
    return data


def test_chrome_has_tracks_of_cpus_and_tasks(tmp_path: Path) -> None:
    data = chrome(capture_of(*EXAMPLE), tmp_path)
    events = data["traceEvents"]
    names = {(item["pid"], item["tid"]): item["args"]["name"] for item in events if item["name"] == "thread_name"}
    assert names[CPUS_PID, 0] == "CPU 0" and names[CPUS_PID, 1] == "CPU 1"
    assert names[FIRST, FIRST] == "first" and names[FIRST, SECOND] == "second"
    assert names[WORKER, WORKER] == 'w"\ufffd'
    on_cpu = [item for item in events if item["ph"] == "X" and item["pid"] == CPUS_PID and item["tid"] == 0]
    assert [(item["name"], item["ts"], item["dur"]) for item in on_cpu] == [
        ("first", 1000.0, 0.1), ("second", 1000.35, 0.15), ('w"\ufffd', 1000.5, 999.5),
    ]  # fmt: skip
    second = [item for item in events if item["ph"] == "X" and item["tid"] == SECOND]
    assert [item["name"] for item in second] == ["runnable", "running", "sleeping (D)"]
    assert second[0]["args"] == {"reason": "wakeup", "waker": FIRST, "waker_cpu": 1, "woken_by": "task"}
    [move] = [item for item in events if item["ph"] == "i"]
    assert (move["tid"], move["args"]) == (WORKER, {"from_cpu": 0, "to_cpu": 1})


def test_chrome_arrows_go_from_the_waker_to_the_task_that_it_woke(tmp_path: Path) -> None:
    events = chrome(capture_of(*EXAMPLE), tmp_path)["traceEvents"]
    [start] = [item for item in events if item["ph"] == "s"]  # none from an idle CPU's interrupt
    [finish] = [item for item in events if item["ph"] == "f"]
    assert (start["pid"], start["tid"], start["ts"]) == (FIRST, FIRST, 1000.3)
    assert (finish["pid"], finish["tid"], finish["ts"]) == (FIRST, SECOND, 1000.3)
    assert start["id"] == finish["id"] and finish["bp"] == "e"


def test_wakeups_by_interrupts_are_in_the_form_in_which_perfetto_reads_their_context() -> None:
    """Compact; it drops those before the first switch of their CPU, which are as all others."""
    irq, softirq = {"woken_by": WokenBy.INTERRUPT, "prio": 98}, {"woken_by": WokenBy.SOFTIRQ}
    capture = capture_of(
        waking(50, WORKER, 0, cpu=1) | irq,
        switch(100, FIRST, SECOND, cpu=1),
        waking(200, FIRST, 0, cpu=1, target=1) | irq,
        waking(250, FIRST, WORKER, cpu=1),
        waking(400, SECOND, 0, cpu=1) | softirq,
        waking(500, FIRST, 0, cpu=1) | softirq,
    )
    packets = protos.Trace.FromString(b"".join(perfetto_trace(capture))).packet
    bundles = [packet.ftrace_events for packet in packets if packet.ftrace_events.event]
    plain = [event for bundle in bundles for event in bundle.event if event.HasField("sched_waking")]
    assert [(event.pid, event.sched_waking.pid, event.common_flags) for event in plain] == [
        (0, WORKER, 0x08),
        (WORKER, FIRST, 0),
    ]
    (compact,) = [bundle.compact_sched for bundle in bundles if bundle.cpu == 1]
    assert np.cumsum(compact.waking_timestamp).tolist() == [START + 8000 + time for time in (200, 400, 500)]
    assert [compact.intern_table[index] for index in compact.waking_comm_index] == ["first", "second", "first"]
    assert list(compact.waking_pid) == [FIRST, SECOND, FIRST]
    assert list(compact.waking_target_cpu) == [1, 0, 0] and list(compact.waking_prio) == [98, 120, 120]
    assert list(compact.waking_common_flags) == [0x08, 0x10, 0x10]


@pytest.mark.parametrize(
    ("waker", "woken_by", "word", "flags"),
    [
        (0, WokenBy.INTERRUPT, "interrupt", 0x08),
        (0, WokenBy.SOFTIRQ, "softirq", 0x10),
        (FIRST, WokenBy.SOFTIRQ, "softirq", 0x10),  # ksoftirqd
        (FIRST, WokenBy.TASK, "task", 0),
        (0, WokenBy.TASK, "interrupt", 0),  # not told: an idle CPU is woken by interrupts alone
    ],
)
def test_a_trace_tells_interrupts_from_tasks(
    waker: int, woken_by: WokenBy, word: str, flags: int, tmp_path: Path
) -> None:
    woken = waking(100, SECOND, waker) | {"woken_by": woken_by}
    capture = capture_of(switch(50, SECOND, FIRST), woken, switch(200, FIRST, SECOND))
    events = chrome(capture, tmp_path)["traceEvents"]
    [runnable] = [item for item in events if item["name"] == "runnable" and item["tid"] == SECOND]
    assert (runnable["args"]["woken_by"], runnable["args"]["waker"]) == (word, waker)
    assert len([item for item in events if item["ph"] == "s"]) == bool(waker)
    [path] = write_traces(capture, {"perfetto": tmp_path / "trace.perfetto-trace"})
    packets = protos.Trace.FromString(path.read_bytes()).packet
    told = [event for packet in packets for event in packet.ftrace_events.event]
    plain = [(event.common_flags, event.pid) for event in told if event.HasField("sched_waking")]
    compact = [flags for packet in packets for flags in packet.ftrace_events.compact_sched.waking_common_flags]
    assert (plain, compact) == (([], [flags]) if flags and not waker else ([(flags, waker)], []))


def test_chrome_says_what_it_is_and_what_was_lost(tmp_path: Path) -> None:
    data = chrome(capture_of(*EXAMPLE, losses=[(510, 550, 0, 7)], ended_early="it was full"), tmp_path)
    facts = data["otherData"]
    assert facts["host"] == "box" and facts["kernel"] == "6.18.0-test" and facts["tool_version"] == __version__
    assert facts["start_time"] == "2023-11-14T22:13:20.000001Z"
    assert facts["filters"] == NO_FILTERS and filter_words(facts["filters"]) == ""
    assert facts["lost_total"] == 7 and facts["lost"]["switches"] == 7 and facts["lost_by_cpu"] == {"0": 7}
    assert facts["lost_names"] == 2000
    assert facts["ended_early"] == "it was full"
    [loss] = [item for item in data["traceEvents"] if item.get("cat") == "lost"]
    assert loss["name"] == "7 events lost"
    assert (loss["tid"], loss["ts"], loss["dur"], loss["args"]) == (0, 1000.51, 0.04, {"lost": 7})


def perfetto(capture: Capture, tmp_path: Path) -> Any:
    [path] = write_traces(capture, {"perfetto": tmp_path / "trace.perfetto-trace"})
    return protos.Trace.FromString(path.read_bytes())


def test_perfetto_has_the_events_of_each_cpu_on_its_own_clock(tmp_path: Path) -> None:
    trace = perfetto(capture_of(*EXAMPLE), tmp_path)
    bundles = {
        packet.ftrace_events.cpu: packet.ftrace_events for packet in trace.packet if packet.HasField("ftrace_events")
    }
    assert sorted(bundles) == [0, 1]
    assert [event.WhichOneof("event") for event in bundles[0].event] == [
        "sched_switch", "sched_switch", "sched_migrate_task", "sched_switch",
    ]  # fmt: skip
    # BOOTTIME was 8,000 ns ahead of MONOTONIC.
    first = bundles[0].event[0]
    assert first.timestamp == START + 100 + 8000 and first.pid == FIRST
    assert (first.sched_switch.prev_comm, first.sched_switch.next_comm) == ("first", "swapper/0")
    assert first.sched_switch.prev_state == 1
    waking = bundles[1].event[0].sched_waking
    assert (bundles[1].event[0].pid, waking.pid, waking.comm, waking.target_cpu) == (FIRST, SECOND, "second", 0)
    [snapshot] = [packet.clock_snapshot for packet in trace.packet if packet.HasField("clock_snapshot")]
    assert snapshot.primary_trace_clock == protos.BUILTIN_CLOCK_BOOTTIME
    clocks = {clock.clock_id: clock.timestamp for clock in snapshot.clocks}
    assert clocks[protos.BUILTIN_CLOCK_BOOTTIME] - clocks[protos.BUILTIN_CLOCK_MONOTONIC] == 8000
    [tree] = [packet.process_tree for packet in trace.packet if packet.HasField("process_tree")]
    assert {(process.pid, process.cmdline[0]) for process in tree.processes} >= {(FIRST, "first")}
    assert [(thread.tid, thread.tgid, thread.name) for thread in tree.threads] == [(SECOND, FIRST, "second")]


def test_perfetto_hears_of_tasks_that_are_born(tmp_path: Path) -> None:
    new = [waking(100 + tid, tid, FIRST, kind=WAKEUP_NEW) for tid in (SECOND, WORKER)]
    trace = perfetto(capture_of(switch(50, 0, FIRST), *new), tmp_path)
    [bundle] = [packet.ftrace_events for packet in trace.packet if packet.HasField("ftrace_events")]
    births = [(item.pid, item.task_newtask) for item in bundle.event if item.WhichOneof("event") == "task_newtask"]
    assert [(pid, birth.pid, birth.comm, birth.clone_flags) for pid, birth in births] == [
        (FIRST, SECOND, "second", 0x10000), (FIRST, WORKER, 'w"\ufffd', 0),
    ]  # fmt: skip
    before, after = (packet.process_tree for packet in trace.packet if packet.HasField("process_tree"))
    assert [process.pid for process in before.processes] == [FIRST] and not before.threads
    assert [process.pid for process in after.processes] == [WORKER]
    assert [thread.tid for thread in after.threads] == [SECOND]


def test_perfetto_says_what_it_is_and_what_was_lost(tmp_path: Path) -> None:
    trace = perfetto(capture_of(*EXAMPLE, losses=[(110, 340, 0, 7)]), tmp_path)
    bundles = [packet.ftrace_events for packet in trace.packet if packet.HasField("ftrace_events")]
    # The one that begins after the gap says so, and no other.
    told = [(bundle.cpu, bundle.lost_events, bundle.event[0].timestamp - START - 8000) for bundle in bundles]
    assert told == [(0, False, 100), (0, True, 350), (1, False, 300)]
    start, end = (packet.ftrace_stats for packet in trace.packet if packet.HasField("ftrace_stats"))
    assert (start.phase, end.phase) == (protos.FtraceStats.START_OF_TRACE, protos.FtraceStats.END_OF_TRACE)
    assert [cpu.dropped_events for cpu in start.cpu_stats] == [0, 0]
    assert [cpu.dropped_events for cpu in end.cpu_stats] == [7, 0]
    [system] = [packet.system_info for packet in trace.packet if packet.HasField("system_info")]
    assert system.utsname.release == "6.18.0-test" and system.tracing_service_version == f"schedtop {__version__}"
    values = attributes(trace)
    assert values["schedtop.host"] == "box" and values["schedtop.lost_total"] == 7
    assert json.loads(values["schedtop.filters"]) == NO_FILTERS


def test_trace_counts_one_in_the_singular(tmp_path: Path) -> None:
    """In the lines for the user, and on the track."""
    one = (switch(100, WORKER, 0), waking(300, FIRST, 0), event(400, MIGRATE, WORKER, SECOND))
    capture = capture_of(*one, waking(500, SECOND, FIRST, kind=WAKEUP_NEW), losses=[(510, 550, 0, 1)], cpus=(0,))
    assert list(describe(capture, [])) == [
        "1.00 ms of 1 CPU: 1 switch, 1 wakeup, 1 new task, 1 migration",
        "1 event was lost (20.0%): the buffer was full; try a larger --buffer",
    ]
    assert "1 event lost" in {item["name"] for item in chrome(capture, tmp_path)["traceEvents"]}
    assert list(describe(capture_of(losses=[(1, 2, 0, 2)]), [])) == [
        "1.00 ms of 2 CPUs: 0 switches, 0 wakeups, 0 new tasks, 0 migrations",
        "2 events were lost (100.0%): the buffer was full; try a larger --buffer",
    ]


def attributes(trace: Any) -> dict[str, Any]:
    [told] = [packet.trace_attributes for packet in trace.packet if packet.HasField("trace_attributes")]
    return {item.key: getattr(item, item.WhichOneof("value")) for item in told.attribute}


@pytest.mark.parametrize("ended_early", ["", "it was full"])
def test_both_formats_carry_the_same_facts(ended_early: str, tmp_path: Path) -> None:
    events = (switch(100, WORKER, 0), waking(300, FIRST, 0), switch(500, FIRST, 0))  # one that nobody saw
    capture = capture_of(*events, losses=[(510, 550, 0, 7)], ended_early=ended_early)
    told = attributes(perfetto(capture, tmp_path))
    facts = chrome(capture, tmp_path)["otherData"]
    assert set(told) == {f"schedtop.{name}" for name in facts}
    for name, value in facts.items():
        plain = isinstance(value, str | int)
        assert (told[f"schedtop.{name}"] if plain else json.loads(told[f"schedtop.{name}"])) == value
    assert facts["unseen_switches"] == 1 and facts["ended_early"] == (ended_early or None)


def test_names_are_those_of_the_time() -> None:
    rows = np.array([(10, 5, 5, b"sh"), (20, 5, 5, b"true"), (15, 6, 5, b"other")], NAME_DTYPE)
    names = Names(rows)
    found = names.at(np.array([5, 5, 5, 6, 7, 0]), np.array([1, 19, 20, 1, 1, 1]))
    assert [names.texts[index] if index >= 0 else None for index in found.tolist()] == [
        "sh", "sh", "true", "other", None, None,
    ]  # fmt: skip
    assert names.name(5) == "true" and names.tgid(6) == 5 and names.tgid(7) == 7 and names.name(7) == "tid 7"


def test_states_as_the_kernel_reports_them() -> None:
    """__task_state_index() of include/linux/sched.h."""
    raw = [0, 1, 2, 0x402, 4, 8, 0x90, 0xA0, 0x102, 0x1 << 31, (0x1 << 31) | 1, 0x2001, 0x1000, 0x40]
    reported = [0, 1, 2, 0x80, 4, 8, 0x10, 0x20, 2, 0x100, 0x100, 1, 2, 0x40]
    assert reported_states(np.array(raw, np.uint32)).tolist() == reported


@pytest.mark.parametrize(
    ("name", "wanted", "found"),
    [
        ("trace", None, {"perfetto": "trace.perfetto-trace", "chrome": "trace.json"}),
        ("trace", "chrome", {"chrome": "trace.json"}),
        ("a.b", "perfetto", {"perfetto": "a.b.perfetto-trace"}),
        ("trace.json", None, {"chrome": "trace.json"}),
        ("trace.pftrace", None, {"perfetto": "trace.pftrace"}),
        ("trace.json", "both", {"perfetto": "trace.perfetto-trace", "chrome": "trace.json"}),
    ],
)
def test_names_of_files(name: str, wanted: str | None, found: dict[str, str]) -> None:
    assert trace_paths(Path("d") / name, wanted) == {key: Path("d") / value for key, value in found.items()}


def test_a_name_that_ends_like_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="ends like a chrome trace"):
        trace_paths(Path("trace.json"), "perfetto")


def test_an_empty_capture_is_a_trace(tmp_path: Path) -> None:
    data = chrome(capture_of(), tmp_path)
    assert {item["ph"] for item in data["traceEvents"]} == {"M"}
    assert perfetto(capture_of(), tmp_path).packet


def test_capture_overwrites_no_file_and_leaves_none_behind(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_text("mine")
    with pytest.raises(OutputError, match="--force"):
        chrome(capture_of(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]
    write_traces(capture_of(), {"chrome": tmp_path / "trace.json"}, force=True)
    assert json.loads((tmp_path / "trace.json").read_text())


def test_a_path_is_a_track_whose_slices_lie_in_those_that_waited(tmp_path: Path) -> None:
    paths = held_lock().paths(LATE)
    tracks = path_tracks(paths)
    (track,) = tracks
    assert track.name == "path of rpc-worker (10)"
    (episode,) = track.bars
    hop, queued = episode.inner
    assert (episode.name, hop.name, queued.name) == (
        "late by 510 µs", "rpc-worker blocked in futex", "rpc-worker queued, its CPU idle"
    )  # fmt: skip
    assert [bar.name for bar in hop.inner] == ["flusher running", "flusher queued behind backup", "flusher running"]
    for bar in episode.flat():
        ends = [bar.start_ns, *(inner.end_ns for inner in bar.inner)]
        assert not bar.inner or ([inner.start_ns for inner in bar.inner], bar.end_ns) == (ends[:-1], ends[-1])
    files = {"chrome": tmp_path / "trace.json", "perfetto": tmp_path / "trace.perfetto-trace"}
    write_traces(paths.capture, files, tracks)
    shown = [one for one in json.loads(files["chrome"].read_text())["traceEvents"] if one.get("cat") == "path"]
    assert [one["name"] for one in shown] == [bar.name for bar in episode.flat()]
    assert sum(one["dur"] for one in shown if one["args"].get("state")) == pytest.approx(510)
    trace = protos.Trace()
    trace.ParseFromString(files["perfetto"].read_bytes())
    above, mine = (one.track_descriptor for one in trace.packet if one.HasField("track_descriptor"))
    assert (mine.parent_uuid, mine.name) == (above.uuid, track.name)
    depth, begun = 0, []
    for one in (packet for packet in trace.packet if packet.HasField("track_event")):
        assert one.track_event.track_uuid == mine.uuid
        depth += 1 if one.track_event.type == protos.TrackEvent.TYPE_SLICE_BEGIN else -1
        assert depth >= 0
        begun += [one.track_event.name] if one.track_event.type == protos.TrackEvent.TYPE_SLICE_BEGIN else []
    assert (depth, begun) == (0, [bar.name for bar in episode.flat()])
