"""The task view against programs whose doings are known, and against what the kernel and strace count of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from loads import kernel_numbers, load_share
from task_programs import looked_at, program

from schedtop.commands.task.command import _look as look_at
from schedtop.model.source import SourceError
from schedtop.model.waits import WokenBy
from schedtop.sources.host.cgroups import cpu_hierarchy, read_mounts
from schedtop.sources.kernel import bpf_syscall
from schedtop.sources.kernel.front_end import Hook
from schedtop.sources.kernel.quotas import tells_quotas
from schedtop.sources.kernel.syscalls import syscall_names
from schedtop.sources.task import source as task_source
from schedtop.sources.task.front_end import choose_task_front_end
from schedtop.sources.task.programs import TaskPrograms
from schedtop.sources.task.source import LiveTaskSource
from schedtop.sources.task.under_way import current_call
from schedtop.task import STATES, TaskFrame
from tests.no_task import NO_TASK

pytestmark = pytest.mark.beside

MS = 1_000_000

CALLS = """
for _ in range(100):
    try: os.open("/nonexistent", os.O_RDONLY)
    except OSError: pass
for _ in range(30):
    try: os.rmdir("/proc/self")
    except OSError: pass
for _ in range(10): time.sleep(0.005)
"""

FILES = """
path = f"/tmp/schedtop-task-{os.getpid()}"
fd = os.open(path, os.O_RDWR | os.O_CREAT)
os.unlink(path)
for _ in range(50): os.write(fd, b"x" * 4096)
for number in range(40): os.pread(fd, 1000, number)
os.writev(fd, [b"a" * 10, b"b" * 20])
os.fsync(fd)
reader, writer = os.pipe()
for _ in range(20): os.write(writer, b"y" * 100)
os.read(reader, 5000)
one, other = socket.socketpair()
os.write(one.fileno(), b"z" * 300)
os.read(other.fileno(), 1000)
os.write(os.open("/dev/null", os.O_WRONLY), b"n" * 77)
try: os.read(writer, 1)
except OSError: pass
"""

NETWORK = """
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
near = socket.create_connection(listener.getsockname())
far, _ = listener.accept()
for _ in range(25): near.sendall(b"z" * 1000)
received = 0
while received < 25000: received += len(far.recv(4096))
tcp = socket.TCP_INFO if hasattr(socket, "TCP_INFO") else 11
info = near.getsockopt(socket.IPPROTO_TCP, tcp, 256)
TRUTH = {"port": listener.getsockname()[1], "acked": int.from_bytes(info[120:128], "little")}
one, other = (socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) for _ in range(2))
other.bind(("::1", 0))
for _ in range(15):
    one.sendto(b"q" * 200, other.getsockname())
    other.recv(4096, socket.MSG_PEEK)
    other.recv(4096)
near.close(); far.close(); listener.close()
"""


def report_of(tid: int, **options: object) -> str:
    """What the command writes."""
    usual = {"tid": tid, "whole_process": None, "duration": MS, "interval": 100 * MS, "threshold": MS}
    usual |= {"slow_waits": False, "source": "auto", "format_name": "json"}
    return look_at(usual | options, threading.Event())


def io_of(task_frame: TaskFrame, kind: str, direction: str) -> tuple[int, int, int]:
    found = [one for one in task_frame.io if (one.kind, one.direction) == (kind, direction)]
    return (found[0].count, found[0].bytes, found[0].errors) if found else (0, 0, 0)


def test_system_calls_are_those_of_strace(tmp_path: Path) -> None:
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    log = tmp_path / "strace"
    with program(CALLS) as traced:
        tracer = subprocess.Popen(["strace", "-qq", "-c", "-o", log, "-p", str(traced.pid)])
        try:
            deadline = time.monotonic() + 10
            while "TracerPid:\t0" in Path(f"/proc/{traced.pid}/status").read_text() and time.monotonic() < deadline:
                time.sleep(0.01)
            task_frame = looked_at(traced.pid, traced.go)
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.wait(30)
    counted = {}
    for line in log.read_text().splitlines()[2:-2]:
        words = line.split()
        counted[words[-1]] = (int(words[3]), int(words[4]) if len(words) > 5 else 0)
    assert counted["openat"][1] == 100
    assert {call.name: (call.count, call.error_count) for call in task_frame.syscalls if call.count} == counted


def test_errors_have_names_and_calls_their_blocked_time(front_end: str) -> None:
    with program(CALLS) as one:
        task_frame = looked_at(one.pid, one.go, front_end=front_end)
    failed = task_frame.syscall("openat")
    assert failed
    assert failed.errors == {"ENOENT": 100}
    removed = task_frame.syscall("rmdir")
    assert removed
    assert removed.count == removed.error_count == 30
    slept = task_frame.syscall("clock_nanosleep")
    assert slept
    assert slept.count == 10
    assert 50 * MS <= slept.blocked_ns <= slept.total_ns
    assert slept.max_ns >= 5 * MS
    assert [call.name for call in task_frame.ongoing] == ["read"]
    assert task_frame.slow_calls[0].duration_ns >= task_frame.slow_calls[-1].duration_ns >= 5 * MS


def test_reads_and_writes_are_those_of_proc_io() -> None:
    with program(FILES) as one:
        task_frame = looked_at(one.pid, one.go)
    assert io_of(task_frame, "file", "write") == (51, 50 * 4096 + 30, 0)
    assert io_of(task_frame, "file", "read")[:2] == (40, 40 * 1000)
    assert io_of(task_frame, "socket", "write") == (1, 300, 0)
    assert io_of(task_frame, "socket", "read") == (1, 300, 0)
    assert io_of(task_frame, "device", "write") == (1, 77, 0)
    reads = [each for each in task_frame.io if each.direction == "read"]
    writes = [each for each in task_frame.io if each.direction == "write"]
    assert sum(each.bytes for each in reads) == one.kernel["rchar"]
    assert sum(each.bytes for each in writes) == one.kernel["wchar"]
    assert sum(each.count for each in writes) == one.kernel["syscw"]
    # A descriptor that is not open for reading: the call fails before the kernel counts it.
    assert io_of(task_frame, "pipe", "read")[2] == 1
    assert sum(each.count for each in reads) == one.kernel["syscr"] + 1


def test_traffic_and_connections(front_end: str) -> None:
    with program(NETWORK) as one:
        task_frame = looked_at(one.pid, one.go, front_end=front_end)
    traffic = {(each.protocol, each.family): each for each in task_frame.traffic}
    tcp = traffic["tcp", "ipv4"]
    assert (tcp.sent_bytes, tcp.sent_messages, tcp.received_bytes) == (25_000, 25, 25_000)
    # tcpi_bytes_acked, which `ss -i` shows, too; the SYN is a byte there.
    assert tcp.sent_bytes == one.truth["acked"] - 1
    udp = traffic["udp", "ipv6"]
    assert (udp.sent_bytes, udp.sent_messages, udp.received_bytes, udp.received_messages) == (3000, 15, 3000, 15)
    port = f"127.0.0.1:{one.truth['port']}"
    assert ("CLOSED", "LISTEN") in [(change.old, change.new) for change in task_frame.connections]
    client = [(change.old, change.new) for change in task_frame.connections if change.remote == port]
    assert client[:2] == [("CLOSED", "SYN_SENT"), ("SYN_SENT", "ESTABLISHED")]
    assert all(change.old != change.new for change in task_frame.connections)
    closed = [change for change in task_frame.connections if change.new == "CLOSED"]
    assert closed
    assert not [change for change in closed if change.local.endswith(":0")]
    assert {(one.old, one.new) for one in task_frame.transitions} >= {
        ("SYN_SENT", "ESTABLISHED"),
        ("SYN_RECV", "ESTABLISHED"),
    }
    served = [change for change in task_frame.connections if change.local == port and change.old == "SYN_RECV"]
    assert [change.new for change in served] == ["ESTABLISHED"]


def test_task_view_leaves_out_other_tasks() -> None:
    with program(NETWORK) as other, program("") as idle:
        task_frame = looked_at(idle.pid, other.go)
    assert not task_frame.connections
    assert not task_frame.traffic
    assert not [call for call in task_frame.syscalls if call.count]
    assert task_frame.states.sleeping_ns == task_frame.states.total_ns == task_frame.interval_ns
    assert [(call.name, call.at_least) for call in task_frame.ongoing] == [("read", True)]


def test_page_faults_are_the_kernels() -> None:
    touch = "area = mmap.mmap(-1, 4 << 20)\nfor page in range(0, 4 << 20, 4096): area[page] = 1"
    with program(touch) as one:
        task_frame = looked_at(one.pid, one.go)
    assert task_frame.faults
    assert task_frame.faults.minor == one.kernel["minor"]
    assert task_frame.faults.major == one.kernel["major"]
    assert task_frame.faults.minor + task_frame.faults.major >= 2  # huge pages may take a thousand at a time


BUSY_AND_IDLE = """
end = time.thread_time_ns() + 200_000_000
while time.thread_time_ns() < end: pass
time.sleep(0.3)
os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_states_are_those_of_the_program(front_end: str) -> None:
    with program(BUSY_AND_IDLE, ("taskset", "-c", "1")) as one:

        def act() -> None:
            before = kernel_numbers(one.pid)
            one.go_on()
            while "T (stopped)" not in Path(f"/proc/{one.pid}/status").read_text():
                time.sleep(0.005)
            time.sleep(0.25)
            os.kill(one.pid, signal.SIGCONT)
            one.heard()
            time.sleep(0.05)
            after = kernel_numbers(one.pid)
            one.kernel = {"run_ns": after.run_ns - before.run_ns, "delay_ns": after.run_delay_ns - before.run_delay_ns}

        task_frame = looked_at(one.pid, act, front_end=front_end)
    # The kernel's run time is without what the hypervisor took; its own beginning of a wait is a little later.
    # Without BTF nothing tells how long it ran after a switch that the kernel did not report.
    room = 20 * MS * (1 + task_frame.loss.switches_unseen)
    assert abs(task_frame.states.running_ns - one.kernel["run_ns"]) < 0.15 * one.kernel["run_ns"] + room
    assert abs(task_frame.states.runnable_ns - one.kernel["delay_ns"]) < 0.15 * one.kernel["delay_ns"] + room
    assert task_frame.states.sleeping_ns >= 300 * MS
    assert task_frame.states.stopped_ns >= 250 * MS
    assert (
        task_frame.states.total_ns == sum(column.duration_ns for column in task_frame.strip) == task_frame.interval_ns
    )
    assert {use.cpu for use in task_frame.cpus} == {1}
    assert abs(sum(use.run_ns for use in task_frame.cpus) - task_frame.states.running_ns) < 5 * MS
    assert task_frame.attributes
    assert (task_frame.attributes.affinity, task_frame.attributes.allowed_cpus, task_frame.attributes.policy) == (
        "1",
        1,
        "other",
    )


UNSEEN = """
import select
while not select.select([0], [], [], 0)[0]: pass
for _ in range(4): os.read(0, 1)
"""


def test_a_call_was_not_blocked_before_it_began() -> None:
    """As where a guest leaves idle without the tracepoint: of two waits in a row no switch is seen."""
    with program(UNSEEN) as one:
        programs = TaskPrograms(choose_task_front_end(), os.cpu_count() or 1)
        try:
            programs.aim(one.pid, 0, time.monotonic_ns())
            one.go_on()
            programs._detach("btf_sched_switch")
            while programs.threads()["state"].tolist() != [STATES.index("running")]:
                programs._attach("btf_sched_switch")
                time.sleep(0.001)
                programs._detach("btf_sched_switch")
            one.go_on()
            time.sleep(0.3)  # in its second wait for a line
            one.go_on()
            time.sleep(0.1)
            programs._attach("btf_sched_switch")
            one.go_on()
            time.sleep(0.1)
            rows = programs.take_slow_calls()[0]
        finally:
            programs.close()
    last = rows[np.argmax(rows["end_ns"])]
    assert last["duration_ns"] > 50 * MS
    assert (rows["blocked_ns"] <= rows["duration_ns"]).all()
    assert last["blocked_ns"] > 50 * MS


def test_a_wakeup_before_the_end_of_the_run_time_begins_a_wait() -> None:
    """Its switch to sleep was not seen, and by the kernel's count of run time it ran until after it was woken."""
    with program("") as one:
        programs = TaskPrograms(choose_task_front_end(), os.cpu_count() or 1)
        try:
            now = time.monotonic_ns()
            programs.aim(one.pid, 0, now)
            row = np.zeros(1, programs._compiled.maps["threads"].dtype)
            row["tid"], row["state"], row["since_ns"], row["call"] = one.pid, STATES.index("running"), now, -1
            row["cpu_and_one"] = row["exec_ns"] = 1
            bpf_syscall.add_element(programs._fds["threads"], one.pid.to_bytes(4, "little"), row.tobytes())
            one.go_on()
            one.heard()
            totals = programs.read().totals[0]
        finally:
            programs.close()
    assert totals["switches_unseen"] >= 1
    assert totals["waits"].sum() >= 1


PAIR = """
a, b = os.pipe(), os.pipe()
child = os.fork()
if not child:
    signal.alarm(60)
    for _ in range(200): os.read(a[0], 1); os.write(b[1], b"x")
    os.read(a[0], 1); os._exit(0)
for _ in range(200): os.write(a[1], b"x"); os.read(b[0], 1)
TRUTH = {"child": child}
"""


def test_wakers_and_wakees_are_counted(front_end: str) -> None:
    with program(PAIR, ("taskset", "-c", "1")) as one:
        task_frame = looked_at(one.pid, one.go, front_end=front_end)
    child = one.truth["child"]
    wakers = {peer.tid: peer.count for peer in task_frame.wakers}
    wakees = {peer.tid: peer.count for peer in task_frame.wakees}
    # It sleeps as often as it is woken; who finds the other awake, because that was preempted, wakes nobody.
    assert abs(sum(peer.count for peer in task_frame.wakers) - one.kernel["voluntary_ctxt_switches"]) <= 2
    assert wakers.get(child, 0) + wakees.get(child, 0) > 50
    assert task_frame.waits.count >= one.kernel["voluntary_ctxt_switches"] - 2


def test_switches_and_preemptors_beside_a_busy_task() -> None:
    burn = "end = time.thread_time_ns() + 300_000_000\nwhile time.thread_time_ns() < end: pass"
    with program("while True: pass", ("taskset", "-c", "1")) as hog, program(burn, ("taskset", "-c", "1")) as one:
        hog.go_on()
        task_frame = looked_at(one.pid, one.go)
    hogged = next(peer for peer in task_frame.preemptors if peer.tid == hog.pid)
    assert hogged.count > 5
    assert hogged.wait_ns > 30 * MS
    unseen = 4 + task_frame.loss.switches_unseen
    assert abs(task_frame.voluntary_switches - one.kernel["voluntary_ctxt_switches"]) <= unseen
    assert abs(task_frame.involuntary_switches - one.kernel["nonvoluntary_ctxt_switches"]) <= unseen


SLEEPER = "for _ in range(100): time.sleep(0.002)"


def test_a_timer_is_an_interrupt_whomever_it_interrupts(front_end: str) -> None:
    with program("while True: pass", ("taskset", "-c", "1")) as hog, program(SLEEPER, ("taskset", "-c", "1")) as one:
        hog.go_on()
        task_frame = looked_at(one.pid, one.go, front_end=front_end)
    assert "woken_by" not in task_frame.unavailable
    wakers = {peer.tid: peer.count for peer in task_frame.wakers if peer.woken_by is WokenBy.INTERRUPT}
    assert wakers[0] >= 90
    assert hog.pid not in {peer.tid for peer in task_frame.wakers}


def test_an_interrupted_task_wakes_nobody(front_end: str) -> None:
    with program("while True: pass", ("taskset", "-c", "1")) as hog, program(SLEEPER, ("taskset", "-c", "1")) as one:
        hog.go_on()
        task_frame = looked_at(hog.pid, one.go, front_end=front_end)
    assert one.pid not in {peer.tid for peer in task_frame.wakees if peer.woken_by is not WokenBy.SOFTIRQ}


LOOPBACK = """
listener = socket.create_server(("127.0.0.1", 0))
child = os.fork()
if not child:
    signal.alarm(60)
    far = socket.create_connection(listener.getsockname())
    while byte := far.recv(1): far.sendall(byte)
    os._exit(0)
near, _ = listener.accept()
for _ in range(200):
    time.sleep(0.0005)  # the child sleeps by then: what woke us may have taken its CPU
    near.sendall(b"x")
    near.recv(1)
TRUTH = {"child": child}
"""


def test_what_a_softirq_wakes_is_marked(front_end: str) -> None:
    """Packets are handled after an interrupt, here on behalf of the sender: the kernel does not tell."""
    with program(LOOPBACK) as one:
        task_frame = looked_at(one.pid, one.go, front_end=front_end)
    wakers = {peer.woken_by: peer for peer in task_frame.wakers if not peer.tid or peer.tid == one.truth["child"]}
    assert wakers[WokenBy.SOFTIRQ].count > 50
    assert wakers[WokenBy.SOFTIRQ].tid == 0
    wakees = Counter({peer.woken_by: peer.count for peer in task_frame.wakees if peer.tid == one.truth["child"]})
    assert wakees[WokenBy.SOFTIRQ] > 50
    assert wakees[WokenBy.TASK] < 10


THREADS = """
def work(number):
    for _ in range(20): time.sleep(0.005); os.stat("/")
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_threads_of_a_process_and_one_alone(front_end: str) -> None:
    with program(THREADS) as one:
        whole = looked_at(one.pid, one.go, front_end=front_end)
    with program(THREADS) as one:
        alone = looked_at(one.pid, one.go, whole_process=False, front_end=front_end)
    assert len(whole.threads) == 5
    assert [thread.state for thread in whole.threads].count("ended") == 4
    calls = whole.syscall("clock_nanosleep")
    assert calls
    assert calls.count == 80
    assert [thread.tid for thread in alone.threads] == [one.pid]
    assert not alone.syscall("clock_nanosleep")


EXEC = """
def replace():
    time.sleep(0.2)
    os.execv("/bin/sleep", ["sleep", "60"])
threading.Thread(target=replace).start()
time.sleep(60)
"""


def test_a_thread_that_replaces_the_program_goes_on_as_the_leader(front_end: str) -> None:
    names = syscall_names()
    with program(EXEC) as one:
        cmdline = Path(f"/proc/{one.pid}/cmdline")

        def act() -> None:
            one.go_on()
            while not (cmdline.read_bytes() == b"sleep\x0060\0" and sleeps()):
                time.sleep(0.01)
            time.sleep(0.2)

        def sleeps() -> bool:
            return names.get(current_call(one.pid, one.pid, names).number) == "clock_nanosleep"

        task_frame = looked_at(one.pid, act, front_end=front_end)
    leader, old = sorted(task_frame.threads, key=lambda thread: thread.tid != one.pid)
    assert (leader.tid, leader.state, leader.exit_code) == (one.pid, "sleeping", None)
    assert old.state == "ended"
    # Both sleep most of the time: nobody is left behind as running.
    assert task_frame.states.running_ns < task_frame.interval_ns / 2
    assert old.states.running_ns < task_frame.interval_ns / 4
    assert (task_frame.comm, task_frame.command_line) == ("sleep", "sleep 60")
    execve = task_frame.syscall("execve")
    assert execve
    assert execve.count == 1
    assert [call.name for call in task_frame.ongoing] == ["clock_nanosleep"]


LATER_THREADS = """
def work(): time.sleep(0.002); os.getppid()
while True:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
"""


@pytest.mark.parametrize("whole", [None, False])
def test_a_process_is_looked_at_whole_even_if_it_has_one_thread_now(whole: bool | None) -> None:
    """As a server that starts a thread for each request."""
    with program(LATER_THREADS) as one:
        one.go_on()
        data = json.loads(report_of(one.pid, whole_process=whole, duration=500 * MS))
    task, calls = data["task"], {call["name"]: call["count"] for call in data["syscalls"]}
    assert task["whole_process"] is (whole is None)
    assert task["threads_started"] > 10
    # At a time, that is: each ends before the next begins, or a little later.
    assert 1 <= task["process_threads"] < task["threads_started"]
    # It is the threads that call it.
    assert (calls.get("getppid", 0) > 10) is (whole is None)
    if whole is None:
        assert abs(task["threads_started"] - (len(data["threads"]) - 1)) <= 2


MANY_THREADS = """
for _ in range(6):
    for _ in range(10):
        threads = [threading.Thread(target=lambda: os.stat("/")) for _ in range(100)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    os.write(1, b"more\\n")
    os.read(0, 1)
"""


def test_threads_that_come_and_go_leave_room_for_others() -> None:
    """More than there is room for at a time (MOST_THREADS of bpf/task/task.h), but not all before a reading."""
    found: list[TaskFrame] = []
    with program(MANY_THREADS) as one, LiveTaskSource(one.pid, True, 100 * MS) as source:
        frames = source.frames(threading.Event())
        for _ in range(6):
            one.go_on()
            assert one.heard() == "more\n"
            # What ended in one interval makes room in the next.
            found += [next(frames), next(frames)]
    calls = [call.count for task_frame in found for call in task_frame.syscalls if call.name in ("newfstatat", "stat")]
    assert sum(calls) == 6000
    assert sum(task_frame.loss.threads_untracked for task_frame in found) == 0


@pytest.mark.parametrize(("ending", "code"), [("os._exit(7)", 7), ("os.kill(os.getpid(), signal.SIGKILL)", -9)])
def test_a_task_that_ends_is_told_until_then(ending: str, code: int) -> None:
    with program(f"os.getppid()\n{ending}") as one:

        def act() -> None:
            one.go_on()
            one.process.wait()
            time.sleep(0.3)

        task_frame = looked_at(one.pid, act)
    assert task_frame.ended
    assert task_frame.exit_code == code
    assert task_frame.threads[0].state == "ended"
    assert task_frame.syscall("getppid")


def put_quota(group: Path, quota_us: int) -> None:
    """In periods of 100 ms."""
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{quota_us} 100000")
    elif (group / "cpu.cfs_quota_us").exists():
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    else:
        pytest.skip("no CPU quotas here")


def stopped_ns(group: Path) -> int:
    """For how long its quota has stopped the group so far."""
    said = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(said["throttled_time"]) if "throttled_time" in said else 1000 * int(said["throttled_usec"])


@pytest.fixture
def quota_group() -> Iterator[Path]:
    root = cpu_hierarchy(read_mounts())
    if root is None:
        pytest.skip("this host has no cgroups")
    group, controllers = root / f"schedtop-task-{os.getpid()}", root / "cgroup.subtree_control"
    if controllers.exists():  # cgroup v2: else a new group has no cpu.max
        controllers.write_text("+cpu")
    group.mkdir()
    try:
        put_quota(group, 20_000)
        yield group
    finally:
        for _ in range(100):
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.02)


def test_a_quota_throttles(quota_group: Path) -> None:
    with program("while True: pass") as one:
        (quota_group / "cgroup.procs").write_text(str(one.pid))
        one.go_on()
        time.sleep(0.2)
        task_frame = looked_at(one.pid, lambda: time.sleep(1))
    assert task_frame.attributes
    quota = task_frame.attributes.quota
    assert quota
    assert (quota.quota_ns, quota.period_ns) == (20 * MS, 100 * MS)
    # Beside others on a busy machine it waits for a CPU, too, and uses up its quota in fewer periods.
    assert quota.throttled_periods >= 1
    held_back = task_frame.states.runnable_ns + task_frame.states.throttled_ns
    assert held_back > 0.5 * task_frame.states.total_ns
    if "throttled" not in task_frame.unavailable:
        assert task_frame.states.throttled_ns > 20 * MS
    else:
        assert "runnable" in task_frame.unavailable["throttled"]
    splits = tells_quotas(choose_task_front_end().flags)
    assert task_frame.unavailable.get("return of its quota") == (None if splits else task_source.RETURN_UNKNOWN)
    assert task_frame.states.running_ns < 0.4 * task_frame.states.total_ns


RIVAL = """
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
while True:
    end = time.monotonic() + 0.2
    while time.monotonic() < end: pass
    time.sleep(0.05)
"""


@dataclass(frozen=True, slots=True)
class Stop:
    """A time for which a quota has stopped a group: it ended between two readings of its statistics."""

    before_ns: int
    after_ns: int
    duration_ns: int

    def shares(self, start_ns: int, end_ns: int) -> tuple[int, ...]:
        """How much of that time it was stopped, if it was over at the one reading, and at the other."""
        return tuple(
            max(0, min(end_ns, over) - max(start_ns, over - self.duration_ns))
            for over in (self.before_ns, self.after_ns)
        )


@contextmanager
def stops_of(group: Path) -> Iterator[list[Stop]]:
    """Whenever the quota stops a group, as its cpu.stat says. It is known when that is over."""
    found: list[Stop] = []
    ends = threading.Event()

    def read() -> None:
        known, before = stopped_ns(group), time.monotonic_ns()
        while not ends.wait(0.0005):
            now, after = stopped_ns(group), time.monotonic_ns()
            if now > known:
                found.append(Stop(before, after, now - known))
            known, before = now, after

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield found
    finally:
        ends.set()
        reader.join()


@contextmanager
def bound_to(cpu: int) -> Iterator[None]:
    """This process, with the threads that it starts."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def off_by_ns(task_frame: TaskFrame, stops: list[Stop]) -> list[int]:
    """By how much throttled time was wrong at each look, of all time before; what is not known better is right."""
    start_ns = end_ns = task_frame.end_ns - task_frame.interval_ns
    shown, found = 0, []
    for column in task_frame.strip:
        end_ns += column.duration_ns
        shown += column.states.throttled_ns
        shares = [stop.shares(start_ns, end_ns) for stop in stops]
        least, most = sum(min(each) for each in shares), sum(max(each) for each in shares)
        found.append(max(least - shown, shown - most, 0))
    return found


def test_what_follows_the_return_of_a_quota_is_runnable(quota_group: Path) -> None:
    """It was throttled until it ran again: here most of the time behind a real-time task."""
    if not tells_quotas(choose_task_front_end().flags):
        pytest.skip("this kernel does not tell when a quota comes back")
    put_quota(quota_group, 5000)
    pinned = ("taskset", "-c", "1")
    with program("while True: pass", pinned) as one, program(RIVAL, pinned) as rival:
        (quota_group / "cgroup.procs").write_text(str(one.pid))
        rival.go_on()
        one.go_on()
        with bound_to(0), stops_of(quota_group) as stops:
            time.sleep(0.2)
            task_frame = looked_at(one.pid, lambda: time.sleep(2))
            time.sleep(0.4)  # until what stopped it last is over
    states, wrong = task_frame.states, off_by_ns(task_frame, stops)
    # A look takes its time, and may itself wait for a CPU: until the next one it is off by that.
    slow = 1 if load_share() == 1 else 5
    assert sorted(wrong)[len(wrong) // 2] <= slow * 2 * MS, wrong
    assert max(wrong) <= slow * 20 * MS, wrong
    assert min(states.throttled_ns, states.runnable_ns) > 0.1 * states.total_ns
    assert states.total_ns == pytest.approx(task_frame.interval_ns, rel=0.001)
    # The first wait may have begun before.
    assert task_frame.waits.sum_ns <= states.runnable_ns + 10 * MS + task_frame.waits.max_ns


@pytest.mark.parametrize("moment", ["require_host_numbers", "choose_task_front_end"])
def test_a_task_that_ends_while_the_task_opens(moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it is asked who it is, and while the programs are compiled."""
    with program("") as one:
        step = getattr(task_source, moment)

        def end_first(*arguments: str) -> object:
            one.end()
            return step(*arguments)

        monkeypatch.setattr(task_source, moment, end_first)
        with pytest.raises(SourceError, match=f"task {one.pid} .* ended while the task view was attached"):
            report_of(one.pid)


def test_task_view_shows_the_exit_status_of_a_zombie(monkeypatch: pytest.MonkeyPatch) -> None:
    with program("") as one:
        step = task_source.require_host_numbers

        def end_first() -> None:
            os.kill(one.pid, signal.SIGKILL)
            while "Z (zombie)" not in Path(f"/proc/{one.pid}/status").read_text():
                time.sleep(0.005)
            step()

        monkeypatch.setattr(task_source, "require_host_numbers", end_first)
        with pytest.raises(SourceError, match=f"task {one.pid} .* ended while the task view was attached by signal 9"):
            report_of(one.pid)


def test_missing_task_is_refused() -> None:
    with pytest.raises(SourceError, match=f"there is no task {NO_TASK}"), LiveTaskSource(NO_TASK, False):
        pass


def held_by(pid: int) -> set[str]:
    """BPF programs, maps, links and perf events that a process holds, as its descriptors say."""
    found = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(entry)
        except OSError:
            continue
        if "bpf" in target or "perf_event" in target:
            found.add(f"{entry.name} {target}")
    return found


def loaded_programs(name: str) -> int:
    shown = subprocess.run(["bpftool", "prog", "show"], capture_output=True, check=True).stdout.decode()
    return len(re.findall(rf"name {name}\b", shown))


def test_closing_leaves_nothing_attached() -> None:
    # Others on this host may have a task view open, too: the descriptors say what is ours.
    before = held_by(os.getpid())
    with program("") as one, LiveTaskSource(one.pid, True):
        assert len(held_by(os.getpid())) > len(before) + 10
        assert loaded_programs("sys_enter") >= 1
    assert held_by(os.getpid()) == before


def test_program_refused_by_the_kernel_is_named_and_stops_nothing() -> None:
    front_end = choose_task_front_end()
    hooks = front_end.hooks | {"btf_sys_exit": Hook("btf", 1)}  # that is no tracepoint
    with program("") as one:
        programs = TaskPrograms(replace(front_end, hooks=hooks), os.cpu_count() or 1)
        try:
            assert "btf_sys_exit" in programs.refused
            programs.aim(one.pid, 0, time.monotonic_ns())
            one.go()
            assert programs.threads()["voluntary"].sum() > 0
        finally:
            programs.close()


def task_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "schedtop", "task", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def looking_command(tid: int, *options: str) -> subprocess.Popen[str]:
    """The command, once its programs are attached and it looks."""
    command = [sys.executable, "-m", "schedtop", "task", str(tid), "--no-renice", "--no-slow-waits", *options]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while len([entry for entry in held_by(running.pid) if "bpf_link" in entry or "bpf-link" in entry]) < 10:
        assert time.monotonic() < deadline, held_by(running.pid)
        time.sleep(0.05)
    time.sleep(0.5)
    return running


def test_the_command_reports_until_the_end() -> None:
    with program("os._exit(3)") as one:
        running = looking_command(one.pid, "--duration", "30s", "--format", "json")
        one.go_on()
        written, complaint = running.communicate(timeout=20)
    assert running.returncode == 0, complaint
    data = json.loads(written)
    assert data["task"]["ended"] is True
    assert data["task"]["exit_code"] == 3
    assert data["ended_early"] == "it has ended with status 3"
    assert data["slow_waits"] is None
    assert data["unavailable"]["slow waits"]


def test_the_command_is_interrupted_and_writes_what_there_is() -> None:
    with program("") as one:
        running = looking_command(one.pid, "--duration", "60s")
        running.send_signal(signal.SIGINT)
        written, complaint = running.communicate(timeout=20)
    assert running.returncode == 0, complaint
    assert "it was interrupted" in written
    assert re.search(r"Now in: read \(at least", written)


def test_the_command_says_that_there_is_no_such_task() -> None:
    done = task_command(str(NO_TASK))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"schedtop: TID: there is no task {NO_TASK} on this host\n"
