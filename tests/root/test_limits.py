"""Exact, or counted: what happens where the kernel side runs out of room."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from conftest import NS_PER_MS, Collector
from loads import ended, hackbench, load_share, python, stop_all

from schedtop.sources.host import proc
from schedtop.sources.kernel import bpf_syscall
from schedtop.sources.kernel.front_end import BY_CLOCK, choose_front_end
from schedtop.sources.scheduler.programs import Limits, Programs, build, lru_spare
from schedtop.sources.scheduler.source import LiveSource

CPU = 1
HOG = f"import os; os.sched_setaffinity(0, {{{CPU}}})\nwhile True: pass"


def collector_with(limits: Limits, front_end: str = "auto", threshold_ns: int = 5 * NS_PER_MS) -> LiveSource:
    """A live source with a small kernel side."""
    return LiveSource(200 * NS_PER_MS, threshold_ns, front_end, limits)


def update_element(map_fd: int, key: bytes, value: bytes) -> None:
    """Writes an element of a map (BPF_MAP_UPDATE_ELEM), which the program itself never does."""
    buffers = ctypes.create_string_buffer(key, len(key)), ctypes.create_string_buffer(value, len(value))
    bpf_syscall._bpf(2, struct.pack("<IxxxxQQQ", map_fd, *map(ctypes.addressof, buffers), 0))


def test_two_live_tasks_in_one_slot_stay_exact(any_front_end: str) -> None:
    last_pid = Path("/proc/sys/kernel/ns_last_pid")
    if not last_pid.exists():
        pytest.skip("this kernel cannot be asked for a certain pid (no ns_last_pid)")
    limits = Limits(task_slots=1024)
    # They stand still until the end of the window: how they die is not in the kernel's numbers.
    with ExitStack() as stack, collector_with(limits, any_front_end) as source, Collector(source) as collector:
        hogs = []
        for pid in (21_000, 21_000 + 1024):
            last_pid.write_text(str(pid - 1))
            hogs.append(python(HOG))
            stack.enter_context(ended(hogs[-1]))
            assert hogs[-1].pid == pid, "somebody else took the pid"
        time.sleep(2.5)
        truth = stop_all(hogs)
        in_overflow = {int(row["tid"]) for row in source._programs.overflow()}
    assert len(in_overflow & truth.keys()) == 1, "the two did not share a slot"
    frame = collector.frame
    assert not frame.loss.tasks_untracked
    for tid, kernel in truth.items():
        rows = frame.tasks[frame.tasks["tid"] == tid]
        assert len(rows) == 1
        assert rows[0]["run_delay_ns"] == pytest.approx(kernel.run_delay_ns, rel=0.03)
        assert abs(int(rows[0]["timeslices"]) - kernel.timeslices) <= 2
        assert abs(int(rows[0]["involuntary_switches"]) - kernel.involuntary) <= 2


def test_waits_of_groups_that_made_room_are_counted() -> None:
    """The kernel drops the groups that were used least and tells nobody: what they had is in no histogram."""
    limits = Limits(latency_groups=64)
    most = max(limits.latency_groups, lru_spare())
    source = collector_with(limits)
    source.set_grouping("tid")
    with source, Collector(source) as collector:
        for _ in range(most + 400):
            assert os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[1] == 0
        time.sleep(0.5)
    frames = [frame for frame in collector.frames if frame.groups is not None]
    assert frames
    waits = sum(frame.latency.histogram().count for frame in frames)
    grouped = sum(int(frame.groups.counts.sum()) for frame in frames if frame.groups is not None)
    ungrouped = sum(frame.loss.waits_ungrouped for frame in frames)
    assert ungrouped > 200
    assert grouped + ungrouped == pytest.approx(waits, rel=0.02)


def test_exited_tasks_leave_the_overflow_map() -> None:
    with collector_with(Limits(task_slots=16, overflow_tasks=512)) as source, Collector(source) as collector:
        for _ in range(1200):
            assert os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[1] == 0
            time.sleep(0.001)
        time.sleep(1)
        left = len(source._programs.overflow())
    # Three times as many tasks as it holds went through it.
    assert left < 400
    assert not collector.frame.loss.tasks_untracked


def test_a_full_overflow_map_is_counted() -> None:
    with collector_with(Limits(task_slots=2, overflow_tasks=4)) as source, Collector(source) as collector:
        hackbench(100)
    frame = collector.frame
    assert frame.loss.tasks_untracked > 100
    # Totals do not depend on the task table.
    assert frame.total("switches") == pytest.approx(frame.kernel_switches, rel=0.01)


def map_bytes(programs: Programs, name: str) -> int:
    """What the kernel charges for a map."""
    lines = Path(f"/proc/self/fdinfo/{programs._fds[name]}").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("memlock:"))


def test_cpus_that_are_not_there_take_no_room_for_pairs_and_groups() -> None:
    """It was 20 MB each for 512 possible CPUs."""
    front_end = choose_front_end()
    sizes = []
    for cpus in (proc.possible_cpus(), 512):
        programs = Programs(front_end, build(front_end, cpus), threshold_ns=0, groups=False)
        try:
            sizes.append([map_bytes(programs, name) for name in ("pairs", "groups", "moved_waits")])
        finally:
            programs.close()
    few, many = sizes
    assert all(there <= 2 * here + (64 << 10) for here, there in zip(few, many, strict=True))
    assert many[1] < 1 << 20


def test_a_full_ring_is_counted() -> None:
    front_end = choose_front_end()
    limits = Limits(event_pages=1, slow_waits_per_s=100_000_000)
    programs = Programs(front_end, build(front_end, proc.possible_cpus(), limits), threshold_ns=0)
    try:
        hackbench(50)
        cpus = programs.cpus.copy()
        kept = len(programs.slow_waits())
    finally:
        programs.close()
    assert 10 < kept <= 4096 // 100
    assert cpus["ring_dropped"].sum() > 1000 * load_share()
    waits = cpus["latency"].sum()
    assert abs(int(waits) - int(cpus["ring_dropped"].sum()) - kept) <= 100


def test_a_flood_of_slow_waits_is_bounded(collect) -> None:
    """A threshold below every wait: the kernel reports at most its share a second, and counts the rest."""
    with collect(threshold_ns=10_000) as collector:
        hackbench(1500)
    frame = collector.frame
    limit = 2 * Limits().slow_waits_per_s * frame.interval_ns / 1e9
    assert frame.loss.slow_waits_suppressed > 1000
    assert len(frame.slow_waits) < limit
    slow = frame.latency.histogram().counts
    # A reader that comes late on a host without a CPU for it finds the ring full.
    lost = frame.loss.slow_waits_suppressed + frame.loss.ring_dropped
    assert len(frame.slow_waits) + lost >= 0.8 * slow[60:].sum()


@pytest.mark.parametrize(("front_end", "field"), [("btf", "account_ns"), (BY_CLOCK, "wait_start_ns")])
def test_a_negative_wait_is_dropped_and_counted(front_end: str, field: str) -> None:
    """As if the clock of another CPU were ahead: a wait that begins, or is accounted for, in the future."""
    with collector_with(Limits(), front_end) as source, Collector(source) as collector:
        sleeper = python("import time\ntime.sleep(1.5)\nwhile True: time.sleep(10)")
        time.sleep(0.5)
        slots = source._programs.tasks
        index = sleeper.pid % len(slots)
        slot = slots.take(np.array([index]))
        assert slot["tid"][0] == sleeper.pid
        slot[field] = time.monotonic_ns() + 60 * 1000 * NS_PER_MS
        update_element(source._programs._fds["tasks"], index.to_bytes(4, "little"), slot.tobytes())
        with ended(sleeper):
            time.sleep(1.5)
    frame = collector.frame
    assert frame.loss.negative_waits == 1
    row = frame.tasks[frame.tasks["tid"] == sleeper.pid][0]
    assert row["max_wait_ns"] < 1000 * NS_PER_MS


FORKS = "import os\nwhile True:\n    if not os.fork(): os._exit(0)\n    os.wait()"
TICKS = "import time\nwhile True: time.sleep(0.0003)"


def recursion_misses() -> int:
    """What the kernel says of the programs that this process holds."""
    missed = 0
    for path in Path("/proc/self/fdinfo").iterdir():
        try:
            told = path.read_text()
        except OSError:  # the descriptor of the directory itself
            continue
        found = re.search(r"^recursion_misses:\s*(\d+)", told, re.MULTILINE)
        missed += int(found[1]) if found else 0
    return missed


def test_events_that_the_kernel_skips_are_counted(front_end: str) -> None:
    """An interrupt wakes while a program runs, or, from 7.x on, a program is preempted by another task's event."""
    with collector_with(Limits(), front_end) as source:
        least = recursion_misses()
        with Collector(source) as collector:
            most = recursion_misses()
            children = [python(code) for code in (FORKS, FORKS, FORKS, TICKS, TICKS, TICKS)]
            with ended(*children):
                time.sleep(2 if load_share() == 1 else 10)
            known = recursion_misses()
        total = recursion_misses()
    assert known - most <= collector.frame.loss.events_missed <= total - least


def test_late_ticks_are_counted() -> None:
    """The collector is stopped for several intervals, like a suspended laptop; the true interval keeps rates right."""
    stop = threading.Event()
    with LiveSource(200 * NS_PER_MS, 5 * NS_PER_MS) as source:
        frames = source.frames(stop)
        next(frames)
        time.sleep(1.1)  # nobody takes a Frame meanwhile
        late, after = next(frames), next(frames)
    assert late.interval_ns > 1000 * NS_PER_MS
    assert late.loss.late_ticks + after.loss.late_ticks >= 4
    assert after.interval_ns < 400 * NS_PER_MS
    assert np.sum(late.tasks["run_ns"]) <= 2 * late.interval_ns * len(late.cpus.online)
