"""Captures of the live kernel, against the kernel's own count and against perf at the same time."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from conftest import mostly_btf
from loads import ended, kernel_numbers, kernel_switches, load_share, python
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.capture.events import MIGRATE, SWITCH, WAKING, Capture
from schedtop.capture.slices import RUNNABLE, RUNNING, slices_of
from schedtop.commands.capture.files import capture_at_key, take_capture
from schedtop.model.waits import WokenBy
from schedtop.outputs.capture.files import write_traces
from schedtop.sources.capture.source import CaptureSource
from tests.check_kernel.host import all_online, removable_cpus

BUFFER_BYTES = 64 << 20

HARDIRQ = 0x08
"""TRACE_FLAG_HARDIRQ in include/linux/trace_events.h: Perfetto's `irq_context`."""

front_end = mostly_btf

LOOPBACK = """
import socket, threading
listener = socket.create_server(("127.0.0.1", 0))
def echo():
    far = socket.create_connection(listener.getsockname())
    while byte := far.recv(1): far.sendall(byte)
threading.Thread(target=echo, daemon=True).start()
near, _ = listener.accept()
while True: near.sendall(b"x"); near.recv(1)
"""

PING_PONG = """
import os, sys, time
pause = float(sys.argv[2])
os.sched_setaffinity(0, {int(sys.argv[1])})
a, b = os.pipe(), os.pipe()
if os.fork():
    while True:
        os.write(a[1], b"x"); os.read(b[0], 1)
        if pause: time.sleep(pause)
else:
    while True:
        os.read(a[0], 1); os.write(b[1], b"x")
"""


def ping_pong(cpu: int, pause_s: float = 0) -> subprocess.Popen[bytes]:
    """Two processes that wake each other on one CPU, with a pause each time; a group of their own."""
    return python(PING_PONG, str(cpu), str(pause_s), process_group=0)


@contextmanager
def group_ended(*processes: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def taken(front_end: str, duration_ns: int = NS_PER_S, buffer_bytes: int = BUFFER_BYTES) -> Capture:
    return take_capture(front_end, buffer_bytes, duration_ns, threading.Event())


def switches_seen(capture: Capture) -> int:
    return int((capture.events["kind"] == SWITCH).sum())


def test_switches_agree_with_the_kernel(front_end: str) -> None:
    """What ctxt of /proc/stat counts between two moments within the capture."""
    with group_ended(ping_pong(0), ping_pong(1)):
        moments: list[tuple[int, int]] = []

        def look() -> None:
            # Compiling takes its time: readings all along, and two of them are in the window.
            while not done.is_set():
                before = time.monotonic_ns()
                count = kernel_switches()
                if time.monotonic_ns() - before < NS_PER_MS:
                    moments.append((before, count))
                time.sleep(0.02)

        done = threading.Event()
        thread = threading.Thread(target=look)
        thread.start()
        try:
            capture = taken(front_end)
        finally:
            done.set()
            thread.join()
    inside = [moment for moment in moments if capture.start_ns < moment[0] < capture.end_ns]
    (start_ns, first), (end_ns, last) = inside[0], inside[-1]
    assert end_ns - start_ns > NS_PER_S / 2
    times = capture.events["time_ns"][capture.events["kind"] == SWITCH]
    seen = int(((times >= start_ns) & (times < end_ns)).sum())
    assert last - first > 1000
    assert seen == pytest.approx(last - first, rel=0.01)
    assert capture.lost_total == 0


def test_the_same_switches_as_perf_sees(front_end: str, tmp_path: Path) -> None:
    """Per CPU, within 1 %, over the time that both saw."""
    if not shutil.which("perf"):
        pytest.skip("perf is not installed")
    data = tmp_path / "perf.data"
    command = ["perf", "sched", "record", "-m", "16M", "-k", "mono", "-o", str(data), "--", "sleep", "60"]
    # No more than perf can keep up with.
    with group_ended(ping_pong(0, 0.0003), ping_pong(1, 0.0003)):
        taken(front_end, NS_PER_S // 10)  # compiled for the next one
        perf = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, process_group=0)
        try:
            time.sleep(1)
            capture = taken(front_end)
            time.sleep(0.2)
        finally:
            os.killpg(perf.pid, signal.SIGINT)
            _, errors = perf.communicate(timeout=60)
    if not data.exists():
        pytest.skip(f"perf sched record does not work here: {errors.decode()[-300:]}")
    found, lost = perf_switches(data)
    assert not lost, "perf lost events: nothing to compare with"
    slices = perf_slices(data)
    for cpu, count in capture.switches_by_cpu().items():
        within = [row for row in found[cpu] if capture.start_ns <= row[0] < capture.end_ns]
        # On this kind of guest perf misses switches away from idle, also when nothing else is attached (perf stat has
        # fewer sched:sched_switch than context-switches): then who leaves is not who came.
        holes = sum(earlier[2] != later[1] for earlier, later in pairwise(within))
        # timehist has a line for each time that a task, or idle, leaves a CPU.
        ends = [at for at in slices[cpu] if capture.start_ns <= at < capture.end_ns]
        print(f"CPU {cpu}: {count} switches; perf {len(within)}, timehist {len(ends)}, missed by perf {holes}")
        assert count > 500
        assert count == pytest.approx(len(within) + holes, rel=0.01), f"CPU {cpu}"
        assert count == pytest.approx(len(ends) + holes, rel=0.01), f"timehist, CPU {cpu}"
        mine = capture.events[(capture.events["kind"] == SWITCH) & (capture.events["seen_on"] == cpu)]
        left = sum(row[1] > 0 for row in within)
        assert int((mine["tid"] > 0).sum()) == pytest.approx(left, rel=0.01), f"tasks that left CPU {cpu}"


def perf_switches(data: Path) -> tuple[dict[int, list[tuple[int, int, int]]], bool]:
    """The switches of each CPU in a perf.data (time, tid of previous and next), and whether perf lost some."""
    script = ["perf", "script", "-i", str(data), "-f", "--ns", "--show-lost-events", "-F", "cpu,time,event,trace"]
    text = subprocess.run(script, capture_output=True, text=True, check=True)
    found: dict[int, list[tuple[int, int, int]]] = {}
    pattern = r"\[(\d+)\]\s+(\d+)\.(\d{9}):\s+sched:sched_switch: .*? prev_pid=(\d+) .*? next_pid=(\d+) "
    for cpu, seconds, ns, prev, following in re.findall(pattern, text.stdout):
        found.setdefault(int(cpu), []).append((int(seconds) * NS_PER_S + int(ns), int(prev), int(following)))
    return found, "PERF_RECORD_LOST" in text.stdout


def perf_slices(data: Path) -> dict[int, list[int]]:
    """When tasks left each CPU, according to timehist."""
    command = ["perf", "sched", "timehist", "-i", str(data), "-f"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[int, list[int]] = {}
    for seconds, us, cpu in re.findall(r"^\s*(\d+)\.(\d{6})\s+\[(\d+)\]", done.stdout, re.MULTILINE):
        found.setdefault(int(cpu), []).append(int(seconds) * NS_PER_S + int(us) * 1000)
    return found


def test_capture_counts_events_that_find_no_room(front_end: str) -> None:
    with group_ended(ping_pong(0), ping_pong(1)):
        capture = taken(front_end, buffer_bytes=8 << 10)
        whole = taken(front_end)
    assert capture.lost_total > 1000
    assert whole.lost_total == 0
    # Each loss has its place: none is forgotten, and none is before the capture or after it.
    assert int(capture.losses["count"].sum()) == capture.lost_total
    assert (capture.losses["first_ns"] >= capture.start_ns).all()
    assert (capture.losses["first_ns"] <= capture.losses["last_ns"]).all()
    assert (capture.losses["last_ns"] < capture.end_ns).all()
    for cpu in capture.cpus:
        gaps = capture.losses[capture.losses["cpu"] == cpu]
        times = capture.events["time_ns"][capture.events["seen_on"] == cpu]
        assert (gaps["first_ns"][1:] > gaps["last_ns"][:-1]).all()
        inside = np.searchsorted(times, gaps["last_ns"], "right") - np.searchsorted(times, gaps["first_ns"])
        assert not inside.any(), "an event was kept within a loss"


BORN_AND_RENAMED = """
import os
while True:
    if not os.fork():
        open("/proc/self/comm", "w").write("renamed")
        os._exit(0)
    os.wait()
"""


def test_lost_events_are_the_same_number_everywhere(front_end: str, tmp_path: Path) -> None:
    """Names are told through the same rings, and are lost as well: nobody takes them for events."""
    with group_ended(ping_pong(0), python(BORN_AND_RENAMED, process_group=0)):
        command = [*command_line(), "capture", "--duration", "1s", "-o", "trace", "--buffer", "4KiB"]
        command += ["--source", front_end]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)
    trace = protos.Trace.FromString((tmp_path / "trace.perfetto-trace").read_bytes())
    data = json.loads((tmp_path / "trace.json").read_text())
    facts = data["otherData"]
    assert facts["lost_total"] > 1000 and facts["lost_names"] > 100
    assert f"{facts['lost_total']:,} events were lost" in done.stderr
    assert sum(facts["lost"].values()) == facts["lost_total"]
    gaps = [item for item in data["traceEvents"] if item.get("cat") == "lost"]
    assert sum(item["args"]["lost"] for item in gaps) == facts["lost_total"]
    dropped = {cpu.cpu: cpu.dropped_events for packet in trace.packet for cpu in packet.ftrace_stats.cpu_stats}
    assert {str(cpu): count for cpu, count in dropped.items() if count} == facts["lost_by_cpu"]
    assert sum(dropped.values()) == facts["lost_total"]
    for cpu in dropped:
        assert sum(item["args"]["lost"] for item in gaps if item["tid"] == cpu) == dropped[cpu]


def test_seen_and_lost_are_all_there_was() -> None:
    """Against ctxt of /proc/stat around the capture, with a buffer that is far too small."""
    with group_ended(ping_pong(0), ping_pong(1)):
        taken("auto", NS_PER_S // 10)
        with CaptureSource("auto", 8 << 10) as source:
            before_ns, before = time.monotonic_ns(), kernel_switches()
            capture = source.take(NS_PER_S, threading.Event())
            after_ns, after = time.monotonic_ns(), kernel_switches()
    seen, lost = switches_seen(capture), int(capture.lost[SWITCH].sum())
    assert lost > seen
    # The rest of the time outside of the capture, at the same rate.
    expected = (after - before) * (capture.end_ns - capture.start_ns) / (after_ns - before_ns)
    assert seen + lost == pytest.approx(expected, rel=0.05)


def test_a_task_sleeps_wakes_and_runs_where_and_when_it_says(front_end: str, tmp_path: Path) -> None:
    """A task that sleeps 10 ms at a time, by its own account, on one CPU."""
    code = (
        "import os, time\nos.sched_setaffinity(0, {1})\n"
        "while True:\n until = time.monotonic() + 0.002\n while time.monotonic() < until: pass\n time.sleep(0.01)"
    )
    process = python(code)
    with ended(process):
        time.sleep(0.2)
        capture = taken(front_end)
    slices = slices_of(capture)
    mine = slices.states[slices.states["tid"] == process.pid]
    assert (mine["start_ns"][1:] >= mine["end_ns"][:-1]).all()
    running, sleeping = (mine[mine["state"] == state] for state in (RUNNING, 3))
    assert 20 < len(sleeping) < 100
    assert set(running["cpu"].tolist()) == {1}
    whole = sleeping[1:-1]
    lengths = (whole["end_ns"] - whole["start_ns"]) / NS_PER_MS
    assert np.median(lengths) == pytest.approx(10, abs=2)
    assert set(sleeping["prev_state"].tolist()) == {1}
    names = capture.task_names
    assert names.name(process.pid).startswith("python")
    assert names.tgid(process.pid) == process.pid
    for row in slices.runs[slices.runs["tid"] == process.pid]:
        assert row["cpu"] == 1
    paths = write_traces(capture, {"chrome": tmp_path / "trace.json"})
    tracks = [event for event in json.loads(paths[0].read_text())["traceEvents"] if event["tid"] == process.pid]
    assert {event["name"] for event in tracks if event["ph"] == "X"} >= {"running", "sleeping (S)"}


def test_waker_in_a_capture_is_the_task_that_woke(front_end: str) -> None:
    with group_ended(ping_pong(1)):
        time.sleep(0.1)
        capture = taken(front_end, NS_PER_S // 2)
    states = slices_of(capture).states
    woken = states[(states["state"] == RUNNABLE) & (states["woken_ns"] > 0) & (states["waker_tid"] > 0)]
    pairs = Counter(zip(woken["waker_tid"].tolist(), woken["tid"].tolist(), strict=True)).most_common(2)
    (first, count), (second, _) = pairs
    assert count > 100
    assert first == second[::-1], "two processes wake each other"
    waking = capture.events[(capture.events["kind"] == WAKING) & (capture.events["tid"] == first[1])]
    assert set(woken["woken_ns"][woken["tid"] == first[1]].tolist()) <= set(waking["time_ns"].tolist())


SLEEPER = """
import os, time
os.sched_setaffinity(0, {1})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # beside other tests, too
while True: time.sleep(0.002)
"""
HOG = "import os\nos.sched_setaffinity(0, {1})\nwhile True: pass"


def test_a_timers_wakeup_names_no_waker(front_end: str, tmp_path: Path) -> None:
    sleeper = python(SLEEPER)
    with ended(sleeper):
        while kernel_numbers(sleeper.pid).voluntary < 20:
            time.sleep(0.05)
        hog = python(HOG)
        with ended(hog):
            time.sleep(0.2)
            capture = taken(front_end)
    wakings = capture.events[(capture.events["kind"] == WAKING) & (capture.events["tid"] == sleeper.pid)]
    by_timer = wakings["woken_by"] == WokenBy.INTERRUPT
    assert len(wakings) > 10
    assert by_timer.sum() >= 0.9 * len(wakings)
    assert not wakings["other_tid"][by_timer].any()
    assert hog.pid not in wakings["other_tid"]
    assert not capture.unavailable
    paths = write_traces(capture, {"chrome": tmp_path / "trace.json", "perfetto": tmp_path / "trace.perfetto-trace"})
    events = json.loads(paths[0].read_bytes())["traceEvents"]
    told = Counter(
        (event["args"]["woken_by"], event["args"]["waker"])
        for event in events
        if event["name"] == "runnable" and event["tid"] == sleeper.pid and event["args"]["reason"] == "wakeup"
    )
    assert told["interrupt", 0] >= 0.9 * sum(told.values()) > 0
    assert not [event for event in events if event["ph"] == "s" and event["tid"] == hog.pid]
    bundles = [packet.ftrace_events for packet in protos.Trace.FromString(paths[1].read_bytes()).packet]
    told_flags = [
        (event.sched_waking.pid, event.common_flags)
        for bundle in bundles
        for event in bundle.event
        if event.HasField("sched_waking")
    ]
    for bundle in bundles:
        told_flags += zip(bundle.compact_sched.waking_pid, bundle.compact_sched.waking_common_flags, strict=True)
    flags = Counter(bits & HARDIRQ for tid, bits in told_flags if tid == sleeper.pid)
    assert flags[HARDIRQ] == by_timer.sum()


def test_a_softirqs_wakeup_is_marked_in_a_capture(front_end: str) -> None:
    """Packets are handled after an interrupt, here on behalf of the sender: the kernel does not tell."""
    process = python(LOOPBACK)
    with ended(process):
        time.sleep(0.2)
        capture = taken(front_end, NS_PER_S // 2)
    wakings = capture.events[(capture.events["kind"] == WAKING) & (capture.events["tid"] == process.pid)]
    by_softirq = wakings["woken_by"] == WokenBy.SOFTIRQ
    assert by_softirq.sum() > 50
    names = {capture.task_names.name(tid) for tid in set(wakings["other_tid"][by_softirq].tolist()) - {0}}
    assert all(name.startswith("ksoftirqd/") for name in names)


def test_a_migration_is_seen(front_end: str) -> None:
    code = "import os, time\nwhile True:\n for cpu in (0, 1):\n  os.sched_setaffinity(0, {cpu}); time.sleep(0.02)"
    process = python(code)
    with ended(process):
        time.sleep(0.1)
        capture = taken(front_end)
    moves = capture.events[(capture.events["kind"] == MIGRATE) & (capture.events["tid"] == process.pid)]
    assert len(moves) > 10
    assert {(row["from_cpu"], row["to_cpu"]) for row in moves} == {(0, 1), (1, 0)}


def test_a_cpu_that_comes_up_later_is_in_the_capture(front_end: str) -> None:
    if load_share() == 1:
        pytest.skip("takes a CPU away, which disturbs what is pinned to it: in guests alone")
    switch = removable_cpus()[0]
    cpu = int(switch.parent.name.removeprefix("cpu"))
    switch.write_text("0")
    try:
        with CaptureSource(front_end) as source:
            up = threading.Timer(0.5, switch.write_text, ("1",))
            up.start()
            capture = source.take(3 * NS_PER_S, threading.Event())
            up.join()
    finally:
        all_online([switch])
    assert cpu in capture.cpus
    seen = capture.events[capture.events["seen_on"] == cpu]
    assert len(seen) > 10
    assert seen["time_ns"].min() > capture.start_ns + NS_PER_S // 4
    assert "cpus" not in capture.unavailable


def test_tasks_born_meanwhile_have_their_names(front_end: str) -> None:
    code = "import subprocess\nwhile True: subprocess.run(['/bin/true'])"
    process = python(code)
    with ended(process):
        time.sleep(0.1)
        capture = taken(front_end)
    names = capture.task_names
    born = [tid for tid, tgid in names.tgids.items() if names.name(tid) == "true" and tgid == tid]
    assert len(born) > 20
    assert not [tid for tid in np.unique(capture.events["tid"]).tolist() if names.name(tid).startswith("tid ")]


RENAMED_UNDER_TIMERS = """
import ctypes, os, threading, time
libc = ctypes.CDLL(None)
def rename():
    names = [b"one", b"the other"]
    while True:
        for name in names: libc.prctl(15, name, 0, 0, 0)
def nap():
    while True: time.sleep(0.00005)
for work in (rename, nap, nap, nap, nap): threading.Thread(target=work, daemon=True).start()
while True:
    if not os.fork(): os._exit(0)
    os.wait()
"""


def test_interrupts_neither_damage_a_ring_nor_hide_events(front_end: str) -> None:
    """Wakeups by timers, on CPUs where tasks are born and renamed all the time (with interrupts on)."""
    with group_ended(*(python(RENAMED_UNDER_TIMERS, process_group=0) for _ in range(2))):
        time.sleep(0.3)
        capture = taken(front_end, 2 * NS_PER_S)
    assert capture.lost_total == 0
    events = capture.events
    assert (events["time_ns"] >= capture.start_ns).all() and (events["time_ns"] < capture.end_ns).all()
    switches = events[events["kind"] == SWITCH]
    assert not ((switches["tid"] == 0) & (switches["other_tid"] == 0)).any(), "a place that nobody wrote"
    # Who falls asleep is woken before it runs again, so there are about as many wakings as times of falling asleep.
    asleep = int(np.isin(switches["prev_state"], (0x01, 0x02)).sum())
    wakings = int((events["kind"] == WAKING).sum())
    assert asleep > 5000
    assert wakings + capture.lost_in_interrupts >= 0.98 * asleep
    assert capture.lost_in_interrupts < 0.01 * len(events)


@pytest.mark.beside
def test_the_command_writes_both_files(tmp_path: Path) -> None:
    command = [*command_line(), "capture", "--duration", "0.2s", "-o", "trace"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trace.json", "trace.perfetto-trace"]
    assert " switches, " in done.stderr and "trace.json (" in done.stderr
    assert json.loads((tmp_path / "trace.json").read_text())["otherData"]["lost_total"] == 0
    trace = protos.Trace.FromString((tmp_path / "trace.perfetto-trace").read_bytes())
    assert any(packet.ftrace_events.event for packet in trace.packet)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.iterdir())
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert again.returncode == 1 and "--force" in again.stderr and len(again.stderr.splitlines()) == 1


@pytest.mark.beside
def test_the_key_writes_both_files_in_another_process(tmp_path: Path) -> None:
    """The dashboard's threads share one interpreter: writing would hold up its screen for seconds."""
    take_capture("auto", BUFFER_BYTES, NS_PER_S // 10, threading.Event())  # compiled
    with group_ended(ping_pong(0, 0.0001)):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        lines = capture_at_key("auto", tmp_path, threading.Event())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert [path.suffix for path in sorted(tmp_path.iterdir())] == [".json", ".perfetto-trace"]
    assert " switches, " in lines[0] and all(any(path.name in line for line in lines) for path in tmp_path.iterdir())
    assert after.ru_utime - before.ru_utime > 0.3


@pytest.mark.beside
def test_ctrl_c_keeps_nothing(tmp_path: Path) -> None:
    """As for every command that is interrupted: no half of a file is left."""
    command = [*command_line(), "capture", "--duration", "30s", "-o", "trace"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert not list(tmp_path.iterdir())


def command_line() -> list[str]:
    import sys

    return [sys.executable, "-m", "schedtop"]
