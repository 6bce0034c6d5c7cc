"""Storms of calls, processes and connections: bounded, loss counted, sums exact; each counter of loss moves."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from task_programs import program
from test_activity import EVERY, STOP, counting, document, of_process, row_of
from test_limits import recursion_misses, update_element

from schedtop.activity.activity import Activity
from schedtop.sources.activity import programs
from schedtop.sources.activity.source import LiveActivity
from schedtop.sources.scope import Scope

pytestmark = pytest.mark.beside

QUICK_AND_ALL = [0, pytest.param(1, marks=pytest.mark.stress)]
"""A short storm for each change, the whole one with `make stress`."""

CONNECT = """
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(128)
pairs = []
for _ in range({count}):
    near = socket.create_connection(listener.getsockname())
    far, _ = listener.accept()
    near.send(b"hello"); far.recv(5)
    pairs.append((near, far))
"""


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("full", QUICK_AND_ALL)
def test_each_of_many_short_processes_is_counted_for_itself(full: int, tmp_path: Path) -> None:
    count = (1500, 20_000)[full]
    shell = tmp_path / "schedtop-storms"
    shutil.copy("/bin/sh", shell)
    loop = f"i=0; while [ $i -lt {count} ]; do (echo x > /dev/null); i=$((i+1)); done"
    with counting(Scope(comms=(shell.name,))) as taken:
        before = resident_bytes()
        with subprocess.Popen([shell, "-c", loop]) as storm:
            activity = during(storm, taken)
        grown = resident_bytes() - before
    data = document(activity)
    children = [row for row in data["rows"] if row["tgid"] != storm.pid]
    assert {(row["writes"], row["write_bytes"]) for row in children} == {(1, 2)}
    assert len(children) == count
    assert data["totals"]["syscalls"] == sum(call.count for call in activity.syscalls)
    assert not activity.loss.any, activity.loss
    assert grown < 150 << 20


def during(storm: subprocess.Popen[bytes], taken: Any) -> Activity:
    """Looks once a second while it lasts: slots are given on only after a look."""
    found: Activity | None = None
    while storm.poll() is None:
        time.sleep(0.5)
        latest = taken()
        found = found + latest if found else latest
    latest = taken()
    return found + latest if found else latest


@pytest.mark.parametrize("full", QUICK_AND_ALL)
def test_many_open_connections_are_all_counted(full: int) -> None:
    """The whole storm is 10,000 connections, of which this host has both ends: two programs, of 10,000 files each."""
    count, most = (1500, 5000)[full], (1, 2)[full]
    with ExitStack() as stack, counting(only=("network",)) as taken:
        programs = [stack.enter_context(program(CONNECT.format(count=count))) for _ in range(most)]
        for each in programs:
            each.go()
        activity = taken()
        began = time.monotonic()
        quiet = taken()
        look_s = time.monotonic() - began
    for each in programs:
        check_connections(row_of(activity, each.pid), count)
        assert row_of(quiet, each.pid)["tcp_connections"] == 2 * count
    assert not activity.loss.any, activity.loss
    assert look_s < 2
    print(f"a look at {2 * count * most} ends of connections: {look_s * 1000:.0f} ms")


def check_connections(row: dict[str, Any], count: int) -> None:
    assert (row["tcp_connects"], row["tcp_accepts"], row["tcp_connections"]) == (count, count, 2 * count)
    assert row["tcp_tx_bytes"] == row["tcp_rx_bytes"] == 5 * count
    # The SYN, the ACK of its answer, the data, the ACK of that. The answer itself comes before there is a connection.
    assert row["tcp_tx_packets"] >= 4 * count and row["tcp_rx_packets"] >= 4 * count


@pytest.mark.stress
def test_a_million_calls_a_second_are_all_counted() -> None:
    """By as many tasks as there are CPUs, everything on: not one of them is missing, and it is as fast as that."""
    calls, cpus = 1_500_000, os.cpu_count() or 1
    command = ["perf", "bench", "syscall", "basic", "--loop", str(calls)]
    if not shutil.which("perf"):
        pytest.skip("perf is not installed")
    with counting() as taken:
        began = time.monotonic()
        storms = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(cpus)]
        assert [storm.wait(100) for storm in storms] == [0] * cpus
        seconds = time.monotonic() - began
        activity = taken()
    counted = next(call.count for call in activity.syscalls if call.name == "getppid")
    assert 0 <= counted - cpus * calls < 100 * cpus
    assert {
        row["syscalls"] >= calls for row in document(activity)["rows"] if row["tgid"] in {s.pid for s in storms}
    } == {True}
    assert not activity.loss.any
    print(f"{cpus * calls / seconds / 1e6:.1f} million calls a second")


@contextmanager
def small(monkeypatch: pytest.MonkeyPatch, scope: Scope = EVERY, **limits: int) -> Iterator[LiveActivity]:
    """Measures with a kernel side that holds little; what is not named in `limits` is as large as ever."""
    usual = {"ACTIVITY_SLOTS": 32_768, "ACTIVITY_OVERFLOW": 8192, "MOST_OWNERS": 1000, "MOST_FLOWS": 1000}
    sizes = usual | {"MOST_DEVICES": 1000} | limits
    flags = tuple(f"-D{name}={size}" for name, size in sizes.items())
    compile_programs = programs.compile_programs
    monkeypatch.setattr(programs, "compiled_before", lambda _text, _flags, make: make())
    monkeypatch.setattr(
        programs, "compile_programs", lambda text, given, root: compile_programs(text, (*given, *flags), root)
    )
    with LiveActivity(scope) as source:
        yield source


def lost(source: LiveActivity) -> dict[str, int]:
    loss = source.take(1, STOP).loss
    return {name: getattr(loss, name) for name in type(loss).__dataclass_fields__ if getattr(loss, name)}


def test_tasks_that_find_no_place_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = "for _ in range(50): os.getppid()"
    with (
        small(monkeypatch, ACTIVITY_SLOTS=4, ACTIVITY_OVERFLOW=2) as source,
        program(calls) as one,
        program(calls) as two,
    ):
        for each in (one, two):
            each.go()
        activity = source.take(1, STOP)
    assert len(activity.rows) <= 4 + 2 + 2, "a hash has an element more for each CPU"
    assert activity.loss.events_untracked > 0


def test_errors_that_find_no_room_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = "('/nonexistent', '/dev/null/x', '/root/' + 'x' * 300)"
    fails = f"for path in {paths}:\n    try: os.rmdir(path)\n    except OSError: pass"
    with program(fails) as one, small(monkeypatch, of_process(one.pid), MOST_ERRORS=1) as source:
        one.go()
        activity = source.take(1, STOP)
    assert activity.loss.errors_untracked > 0
    named = sum(sum(call.errors.values()) for call in activity.syscalls)
    assert sum(call.failed for call in activity.syscalls) == named + activity.loss.errors_untracked


def test_connections_without_room_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        program(CONNECT.format(count=4)) as one,
        small(monkeypatch, of_process(one.pid), MOST_OWNERS=2) as source,
    ):
        one.go()
        activity = source.take(1, STOP)
    row = row_of(activity, one.pid)
    assert (row["tcp_connects"], row["tcp_accepts"]) == (4, 4)
    assert row["tcp_connections"] <= 2
    assert activity.loss.connections_untracked > 0


def test_flows_without_room_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = (
        "gone = socket.socket(); gone.bind(('127.0.0.1', 0)); place = gone.getsockname(); gone.close()\n"
        "try: socket.create_connection(place)\nexcept OSError: pass"
    )
    with (
        program(refused) as one,
        program(refused) as two,
        small(monkeypatch, Scope(tgids=(one.pid, two.pid)), MOST_FLOWS=1) as source,
    ):
        one.go()
        two.go()
        activity = source.take(1, STOP)
    assert activity.loss.flows_untracked > 0
    assert activity.rows["tcp_failures"].sum() == 1


def test_devices_without_room_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = "for path in ('/proc/self/stat', '/sys/kernel/uevent_seqnum', '/etc/passwd'): os.read(os.open(path, 0), 10)"
    with program(reads) as one, small(monkeypatch, of_process(one.pid), MOST_DEVICES=1) as source:
        one.go()
        activity = source.take(1, STOP)
    assert row_of(activity, one.pid)["io"]["file"]["reads"] == 3
    assert activity.devices["reads"].tolist() == [1]
    assert activity.loss.devices_untracked == 2


def test_a_tid_that_another_task_takes_at_once_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tasks of one tid in one interval: what the first one did is no row, but it is told."""
    last_pid = Path("/proc/sys/kernel/ns_last_pid")
    if not last_pid.exists():
        pytest.skip("this kernel cannot be asked for a certain pid (no ns_last_pid)")
    with LiveActivity(only=("syscalls",)) as source:
        for _ in range(2):
            last_pid.write_text("22999")
            with subprocess.Popen(["/bin/true"]) as short:
                assert short.pid == 23_000, "another task took the pid"
        activity = source.take(1, STOP)
    assert (activity.rows["tid"] == 23_000).sum() == 1
    assert activity.loss.tasks_evicted == 1


def test_a_call_that_ends_before_it_began_is_counted() -> None:
    """As if the clock of another CPU were ahead."""
    with program("os.getppid()") as one, LiveActivity(only=("syscalls",)) as source:
        one.go_on()
        one.heard()
        time.sleep(0.1)
        slots = source._programs.tasks
        index = one.pid % len(slots)
        slot = slots[index : index + 1].copy()
        assert slot["tid"][0] == one.pid
        slot["call_enter_ns"] = time.monotonic_ns() + 60 * 10**9
        update_element(source._programs._fds["tasks"], index.to_bytes(4, "little"), slot.tobytes())
        one.go_on()
        one.process.wait(10)
        loss = lost(source)
    assert loss == {"negative_times": 1}


def test_events_that_the_kernel_skips_are_those_that_it_counts() -> None:
    with LiveActivity() as source:
        least = recursion_misses()
        source.take(1, STOP)
        most = recursion_misses()
        with program(CONNECT.format(count=300)) as one:
            one.go()
        known = recursion_misses()
        missed = source.take(1, STOP).loss.events_missed
        total = recursion_misses()
    assert known - most <= missed <= total - least
