"""What interrupts took from the tasks of a path, and which of them woke, against the kernel's own count by task."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from packets import BREAK_S, packets_to
from test_interrupts import CPU, disk_reads, load
from test_offcpu_screen import programs_of
from test_path import Chain, chain, favoured, program

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.capture.events import WAKING, Capture
from schedtop.model.waits import WokenBy
from schedtop.path.paths import Paths, find_paths
from schedtop.path.segments import INTERRUPT_TID, Segment
from schedtop.path.subject import PathSubject
from schedtop.path.targets import EVERY_TASK, Targets
from schedtop.path.timeline import Timeline
from schedtop.sources.capture.source import CaptureSource
from schedtop.sources.capture.window import Window
from schedtop.sources.host.proc import possible_cpus
from schedtop.sources.interrupts.reader import InterruptReader
from schedtop.sources.path.interrupts import InterruptsBeside, PathInterrupts
from schedtop.sources.path.source import LivePath

__all__ = ["chain", "program"]  # fixtures

NET_RX = "softirq NET_RX"
HOLDERS_CPU = 1
"""Of chains.c."""

BUSY = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nprint(flush=True)\nwhile True: pass"


def recorded(duration_ns: int = NS_PER_S) -> Capture:
    with CaptureSource("btf", path_ns=NS_PER_MS) as source, InterruptsBeside() as interrupts:
        return interrupts.noted(source.take(duration_ns, threading.Event()))


def added_up(paths: Paths) -> list[Segment]:
    """All segments; whatever they are, they add up."""
    for episode in paths.episodes:
        at = episode.start_ns
        for segment in episode.segments:
            assert segment.start_ns == at and segment.time_ns > 0
            if segment.behind:
                assert sum(part.time_ns for part in segment.behind) == segment.time_ns
            at = segment.end_ns
        assert at == episode.end_ns
    return [segment for episode in paths.episodes for segment in episode.segments]


def test_what_packets_take_from_the_holder_of_a_lock_is_a_segment_of_its_own(chain: Chain) -> None:
    """The walk goes by CPU and time; other programs beside it say of each interrupt which task was current."""
    started = chain("mutex")
    with (
        packets_to(HOLDERS_CPU, 2, 2e-4),
        favoured("path-irq", started.process),
        InterruptReader(possible_cpus(), None, 1) as counted,
        CaptureSource("btf", path_ns=NS_PER_MS) as source,
        InterruptsBeside() as interrupts,
    ):
        taken = source.take(2 * NS_PER_S, threading.Event())
        counted.spans.collect()
        taken = interrupts.noted(taken)
    targets = Targets(tids=(started.late,))
    segments = [one for one in added_up(find_paths(taken, targets, NS_PER_MS)) if one.comm == "holder"]
    running = sum(one.time_ns for one in segments if one.state == "running")
    mine = [one for one in segments if one.state == "interrupt" and not one.woken_by]
    whole = find_paths(without_interrupts(taken), targets, NS_PER_MS)
    before = sum(one.time_ns for one in added_up(whole) if one.comm == "holder" and one.state == "running")
    assert before == running + sum(one.time_ns for one in mine), "else it had that time for itself"
    if before < 0.1 * NS_PER_S:
        pytest.skip(f"other tasks had the holder's CPU: it ran for {before:,} ns of 2 s")
    (holder,) = {one.tid for one in segments}
    assert any(one.where == NET_RX for one in mine)
    timeline = Timeline(taken)
    runs = [one for one in timeline.between(holder, taken.start_ns, taken.end_ns) if one.state == "running"]
    by_time = sum(ns for run in runs for _, ns in timeline.interruptions.during(run.cpu, run.start_ns, run.end_ns))
    by_task = sum(counted.spans.taken_from(np.array([holder]), taken.start_ns, taken.end_ns)[holder].values())
    print(f"interrupts took {by_time:,} ns of {sum(one.end_ns - one.start_ns for one in runs):,}, by task {by_task:,}")
    assert by_time == pytest.approx(by_task, rel=0.1)
    assert sum(one.time_ns for one in mine) <= by_time


def without_interrupts(capture: Capture) -> Capture:
    return replace(capture, interruptions=capture.interruptions[:0])


def test_a_queued_task_is_behind_the_interrupts_of_its_cpu() -> None:
    with packets_to(CPU, 10, 1e-4), load(BUSY), load(BUSY) as busy:
        taken = recorded()
    segments = added_up(find_paths(taken, Targets(tids=(busy.pid,)), NS_PER_MS))
    behind = [part for one in segments for part in one.behind]
    packets = sum(part.time_ns for part in behind if part.tid == INTERRUPT_TID and part.comm == NET_RX)
    total = sum(part.time_ns for part in behind)
    print(f"{packets:,} ns of {total:,} of its queueing was behind packets")
    assert packets > 0
    # Each interrupt is in as many queues as there are tasks in it, and in each once.
    rows = taken.interruptions
    of_packets = rows[(rows["cpu"] == CPU) & (rows["source"] == taken.interrupt_names.index(NET_RX))]
    assert packets <= of_packets["ns"].sum()


def test_interrupts_that_are_noted_do_not_overlap_and_are_within_what_they_took() -> None:
    with packets_to(CPU, 10, 1e-4), load(BUSY):
        taken = recorded(NS_PER_S // 2)
    rows = taken.interruptions
    assert len(rows) > 100 and NET_RX in taken.interrupt_names
    assert (rows["ns"] <= rows["end_ns"] - rows["start_ns"]).all()
    for cpu in np.unique(rows["cpu"]):
        for is_soft in (0, 1):
            kind = np.sort(rows[(rows["cpu"] == cpu) & (rows["is_soft"] == is_soft)], order="end_ns")
            assert (kind["start_ns"][1:] >= kind["end_ns"][:-1]).mean() > 0.999


def test_a_wakeup_by_ksoftirqd_names_the_softirq_and_what_raised_it() -> None:
    """Packets come so fast that the kernel leaves them to ksoftirqd, which is a task."""
    with packets_to(CPU, 100, BREAK_S) as called, load(BUSY):
        taken = recorded()
    events = taken.events
    woken = events[(events["kind"] == WAKING) & (events["tid"] == called)]
    by_ksoftirqd = woken[(woken["woken_by"] == WokenBy.SOFTIRQ) & (woken["other_tid"] != 0)]
    if len(by_ksoftirqd) < 5:
        pytest.skip(f"ksoftirqd woke it {len(by_ksoftirqd)} times of {len(woken)}")
    names = [taken.interrupts.get((called, time_ns), "") for time_ns in by_ksoftirqd["time_ns"].tolist()]
    print(len(names), set(names))
    assert sum(name.startswith(NET_RX) for name in names) > 0.9 * len(names), names
    # What raised it may be older than the recording.
    assert any(name.startswith(f"{NET_RX} raised by ") for name in names), names
    paths = find_paths(taken, Targets(tids=(called,)))
    hops = {hop for one in added_up(paths) for hop in one.via if hop.tid == called and "raised by" in hop.woken_in}
    assert hops


def test_a_path_that_ends_at_the_disk_names_it(tmp_path: Path) -> None:
    """What /proc/interrupts and sysfs say of the disk that the directory is on."""
    device = Path(f"/sys/dev/block/{os.major(tmp_path.stat().st_dev)}:{os.minor(tmp_path.stat().st_dev)}").resolve()
    disk = device.parent.name if (device / "partition").exists() else device.name
    if "virtual" in device.parts or not device.exists():
        pytest.skip(f"the disk here is none with interrupts: {device}")
    with disk_reads(tmp_path):
        taken = recorded()
    names = {name for name in taken.interrupts.values() if "irq " in name}
    assert any(f"({disk})" in name and f"I/O of {device.name}" in name for name in names), names
    paths = find_paths(taken, EVERY_TASK)
    ends = {one.woken_by for one in added_up(paths) if one.woken_by.startswith("disk")}
    assert any(f"({disk})" in end for end in ends), ends


def test_the_live_path_has_interrupts_while_it_is_open(chain: Chain) -> None:
    """In each frame as much as the kernel's programs, and nothing of it stays."""
    started = chain("mutex")
    before = programs_of(os.getpid())
    with packets_to(HOLDERS_CPU, 10, 1e-4), favoured("path-live", started.process):
        subject = PathSubject(started.late, started.process.pid, "late")
        stop = threading.Event()
        with LivePath(subject, interrupts=True, interval_ns=NS_PER_S // 2) as live:
            seen = [frame for frame, _ in zip(live.frames(stop), range(4), strict=False)]
    assert programs_of(os.getpid()) == before
    taken = [
        sum(row.time_ns for row in frame.summary.rows if (row.state, row.where) == ("interrupt", NET_RX))
        for frame in seen
    ]
    # No episode may have ended before the first one.
    assert taken == sorted(taken) and taken[-1] > taken[0], "frames add up"
    assert seen[-1].loss.interrupts == 0


def test_interrupts_that_are_noted_again_and_again_are_those_that_are_noted_once() -> None:
    """A window that goes on, and one recording of the same time."""
    with (
        packets_to(CPU, 10, 1e-3),
        load(BUSY),
        CaptureSource("btf", path_ns=NS_PER_MS) as source,
        PathInterrupts() as often,
        PathInterrupts() as once,
    ):
        window = Window(source)
        for number in range(1, 31):
            time.sleep(0.02)
            window.poll()
            often.poll()
            once.poll()
            if number % 10 == 0:
                capture = window.capture()
                found = often.noted(capture)
    whole = once.noted(capture)
    woken = set(found.interrupts.items())
    assert len(whole.interrupts) > 20 and len(found.interruptions) == len(whole.interruptions)
    same = len(woken & set(whole.interrupts.items())) / len(whole.interrupts)
    assert same > 0.99 and found.interrupts.keys() >= whole.interrupts.keys()


def test_command_shows_what_interrupts_took(chain: Chain) -> None:
    started = chain("mutex")
    command = [sys.executable, "-m", "schedtop", "path", "--tid", str(started.late), "--duration", "1s", "--interrupts"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with packets_to(HOLDERS_CPU, 10, 1e-4):
        done = subprocess.run([*command, "--format", "json"], env=environment, capture_output=True, check=True)
        text = subprocess.run(command, env=environment, capture_output=True, check=True).stdout.decode()
    data = json.loads(done.stdout)
    assert data["loss"]["interrupts"] >= 0
    rows = {(row["state"], row["where"]) for row in data["profile"] if row["comm"] == "holder"}
    assert ("interrupt", NET_RX) in rows
    for episode in data["episodes"]:
        assert sum(segment["time_ns"] for segment in episode["segments"]) == episode["length_ns"]
    assert f"interrupted by {NET_RX}" in text
