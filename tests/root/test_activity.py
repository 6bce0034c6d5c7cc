"""Activity of all tasks against programs with known counts, and against what the kernel and other tools count."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from loads import attached_programs
from task_programs import Program, program

from schedtop.activity.activity import Activity
from schedtop.activity.devices import by_device
from schedtop.activity.fields import NUMBERS
from schedtop.model.source import SourceError
from schedtop.outputs.activity.asked import Asked
from schedtop.outputs.activity.document import document
from schedtop.sources.activity.source import LiveActivity
from schedtop.sources.host.cgroups import cpu_hierarchy, read_mounts
from schedtop.sources.scope import Scope, find_scope

pytestmark = pytest.mark.beside

MS = 1_000_000
EVERY = Scope()
STOP = threading.Event()

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
path = f"/tmp/schedtop-activity-{os.getpid()}"
fd = os.open(path, os.O_RDWR | os.O_CREAT)
os.unlink(path)
for _ in range(50): os.write(fd, b"x" * 4096)
for number in range(40): os.pread(fd, 1000, number)
os.writev(fd, [b"a" * 10, b"b" * 20])
os.fsync(fd); os.fdatasync(fd)
reader, writer = os.pipe()
for _ in range(20): os.write(writer, b"y" * 100)
os.read(reader, 5000)
one, other = socket.socketpair()
os.write(one.fileno(), b"z" * 300)
os.read(other.fileno(), 1000)
os.write(os.open("/dev/null", os.O_WRONLY), b"n" * 77)
TRUTH = {"directory": os.path.dirname(path)}
"""

FAULTS = """
before = resource.getrusage(resource.RUSAGE_SELF)
area = mmap.mmap(-1, 4 << 20)
for page in range(0, 4 << 20, 4096): area[page] = 1
after = resource.getrusage(resource.RUSAGE_SELF)
TRUTH = {"minor": after.ru_minflt - before.ru_minflt, "major": after.ru_majflt - before.ru_majflt}
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
info = near.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
others = far.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
TRUTH = {"acked": int.from_bytes(info[120:128], "little"), "rtt_us": int.from_bytes(info[68:72], "little")}
def both(at): return sum(int.from_bytes(each[at:at + 4], "little") for each in (info, others))
TRUTH["sent"], TRUTH["received"] = both(136), both(140)
TRUTH["port"] = listener.getsockname()[1]
one, other = (socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) for _ in range(2))
other.bind(("::1", 0))
for _ in range(15):
    one.sendto(b"q" * 200, other.getsockname())
    other.recv(4096, socket.MSG_PEEK)
    other.recv(4096)
closed = socket.socket(); closed.bind(("127.0.0.1", 0)); gone = closed.getsockname(); closed.close()
for _ in range(3):
    try: socket.create_connection(gone)
    except ConnectionRefusedError: pass
"""


@contextmanager
def counting(scope: Scope = EVERY, **options: Any) -> Iterator[Callable[[], Activity]]:
    """What is measured from the beginning of the block on, up to when it is asked for."""
    with LiveActivity(scope, **options) as source:
        yield lambda: source.take(1, STOP)


def of_process(pid: int) -> Scope:
    return Scope(tgids=(pid,))


def row_of(activity: Activity, pid: int) -> dict[str, Any]:
    found = [row for row in document(activity)["rows"] if row["tgid"] == pid]
    assert len(found) == 1, document(activity)["rows"]
    return dict(found[0])


def seen_of(does: str, **options: Any) -> tuple[Program, dict[str, Any], Activity]:
    """A program that acts while all tasks are measured: itself, its row, everything."""
    with program(does) as one, counting(**options) as taken:
        one.go()
        activity = taken()
    assert not activity.loss.any, activity.loss
    return one, row_of(activity, one.pid), activity


def test_calls_of_the_selected_process_are_its_own() -> None:
    with program(CALLS) as one, program(CALLS) as other, LiveActivity() as source:
        source.select(one.pid)
        assert not source.take(1, STOP).selected_tgid, "from the next interval on"
        one.go()
        other.go()
        source.select(other.pid)
        first = source.take(1, STOP)
        source.select(0)
        second = source.take(1, STOP)
    assert (first.selected_tgid, second.selected_tgid) == (one.pid, other.pid)
    own = {call.name: call for call in first.selected_syscalls}
    assert (own["openat"].failed, dict(own["openat"].errors)) == (100, {"ENOENT": 100})
    assert own["clock_nanosleep"].count == 10 and own["clock_nanosleep"].total_ns >= 50 * MS
    assert sum(call.count for call in first.selected_syscalls) == row_of(first, one.pid)["syscalls"]
    assert sum(call.failed for call in first.selected_syscalls) == row_of(first, one.pid)["syscall_errors"]
    everyone = {call.name: call for call in first.syscalls}
    assert everyone["openat"].errors["ENOENT"] >= 200 and everyone["rmdir"].count >= 60
    assert not any(call.name == "rmdir" for call in second.selected_syscalls), "they were made before"
    assert not first.loss.any


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
            with counting(of_process(traced.pid)) as taken:
                traced.go()
                activity = taken()
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.wait(30)
    counted = {}
    for line in log.read_text().splitlines()[2:-2]:
        words = line.split()
        counted[words[-1]] = (int(words[3]), int(words[4]) if len(words) > 5 else 0)
    # What was under way when it began has no beginning; strace counts the restarted call.
    counted["read"] = (counted["read"][0] - 1, counted["read"][1])
    counted = {name: both for name, both in counted.items() if both[0]}
    assert counted["openat"][1] == 100
    assert {call.name: (call.count, call.failed) for call in activity.syscalls} == counted
    row = row_of(activity, traced.pid)
    assert (row["syscalls"], row["syscall_errors"]) == tuple(map(sum, zip(*counted.values(), strict=True)))


def test_calls_have_errors_times_and_the_longest(front_end: str) -> None:
    with program(CALLS) as one, counting(of_process(one.pid), source=front_end) as taken:
        one.go()
        activity = taken()
    calls = {call.name: call for call in activity.syscalls}
    assert dict(calls["openat"].errors) == {"ENOENT": 100}
    assert calls["rmdir"].failed == calls["rmdir"].count == 30
    slept = calls["clock_nanosleep"]
    assert slept.count == 10
    assert slept.total_ns >= 50 * MS
    assert 5 * MS <= slept.max_ns <= slept.total_ns - 9 * 5 * MS
    row = row_of(activity, one.pid)
    assert row["syscall_max_ns"] == slept.max_ns
    assert row["syscall_ns"] == sum(call.total_ns for call in activity.syscalls)


def test_reads_and_writes_are_those_of_proc_io() -> None:
    one, row, activity = seen_of(FILES)
    kinds = row["io"]
    assert (kinds["file"]["writes"], kinds["file"]["write_bytes"]) == (51, 50 * 4096 + 30)
    assert (kinds["file"]["reads"], kinds["file"]["read_bytes"]) == (40, 40 * 1000)
    assert (kinds["socket"]["write_bytes"], kinds["socket"]["read_bytes"]) == (300, 300)
    assert (kinds["device"]["writes"], kinds["device"]["write_bytes"]) == (1, 77)
    counts = row["devices"][device_of(one.truth["directory"])]
    assert (counts["writes"], counts["write_bytes"]) == (51, 50 * 4096 + 30)
    assert (counts["reads"], counts["read_bytes"]) == (40, 40 * 1000)
    assert 0 < counts["read_ns"] + counts["write_ns"] <= row["io_ns"]
    assert by_device(activity)[device_of(one.truth["directory"])]["writes"] >= 51
    # The read that it was in when we came, of one byte, has no beginning.
    assert (row["reads"], row["writes"]) == (one.kernel["syscr"] - 1, one.kernel["syscw"])
    assert (row["read_bytes"], row["write_bytes"]) == (one.kernel["rchar"] - 1, one.kernel["wchar"])
    assert (row["opens"], row["fsyncs"]) == (2, 2)
    assert 0 < row["fsync_ns"] < row["io_ns"]


def device_of(path: str) -> str:
    """What `df` says of a path: its disk, or the kind of its file system and where it is mounted."""
    number, mounts = os.stat(path).st_dev, Path("/proc/self/mountinfo").read_text().splitlines()
    disk = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if disk.exists():
        return disk.readlink().name
    within = [line.split() for line in mounts if f"{path}/".startswith(line.split()[4].rstrip("/") + "/")]
    words = max(within, key=lambda words: len(words[4]))
    kind, source = words[words.index("-") + 1 :][:2]
    return source.removeprefix("/dev/") if source.startswith("/dev/") else f"{kind} {words[4]}"


def test_terminals_are_a_kind_of_their_own() -> None:
    _, row, _ = seen_of("near, far = os.openpty(); os.write(far, b't' * 9); os.read(near, 100)")
    assert row["io"]["tty"] | {"read_ns": 0, "write_ns": 0} == {
        "reads": 1, "writes": 1, "read_bytes": 9, "write_bytes": 9, "read_ns": 0, "write_ns": 0
    }  # fmt: skip


def test_page_faults_are_the_kernels() -> None:
    one, row, activity = seen_of(FAULTS)
    assert (row["minor_faults"], row["major_faults"]) == (one.kernel["minor"], one.kernel["major"])
    assert row["minor_faults"] + row["major_faults"] >= 2  # huge pages may take a thousand at a time
    # What getrusage says is of the middle part alone.
    assert 0 <= row["minor_faults"] - one.truth["minor"] <= 50
    assert 0 <= row["major_faults"] - one.truth["major"] <= 5
    assert row["fault_ns"] is None if "fault time" in activity.unavailable else row["fault_ns"] > 0
    assert 0 <= row["kernel_faults"] <= row["minor_faults"] + row["major_faults"]


def test_page_faults_are_those_of_perf(tmp_path: Path) -> None:
    if not shutil.which("perf"):
        pytest.skip("perf is not installed")
    file = tmp_path / "pages"
    file.write_bytes(b"x" * (8 << 20))
    subprocess.run(["sync"], check=True)
    touch = (
        "import mmap, os, sys; fd = os.open(sys.argv[1], os.O_RDONLY);"
        "os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED);"
        "area = mmap.mmap(fd, 0, prot=mmap.PROT_READ); area.madvise(mmap.MADV_RANDOM);"
        "print(sum(area[at] for at in range(0, len(area), 64 << 10)), os.getpid())"
    )
    with counting(only=("memory",)) as taken:
        done = subprocess.run(
            [
                "perf",
                "stat",
                "-x,",
                "-e",
                "minor-faults,major-faults",
                sys.executable,
                "-I",
                "-S",
                "-c",
                touch,
                str(file),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        activity = taken()
    counted = {line.split(",")[2].split(":")[0]: int(line.split(",")[0]) for line in done.stderr.splitlines() if line}
    row = row_of(activity, int(done.stdout.split()[1]))
    if not counted["major-faults"]:
        pytest.skip("this file system reads without major faults")
    assert row["major_faults"] == counted["major-faults"]
    # perf begins with exec; what the process did between fork and that is ours as well.
    assert 0 <= row["minor_faults"] - counted["minor-faults"] <= 200
    assert row["page_cache_adds"] >= counted["major-faults"]


def test_traffic_connections_and_failures(front_end: str) -> None:
    one, row, activity = seen_of(NETWORK, source=front_end)
    traffic = [row[f"tcp_{name}"] for name in ("tx_bytes", "rx_bytes", "tx_messages")]
    traffic += [row[f"udp_{name}"] for name in ("tx_bytes", "rx_bytes", "tx_packets", "rx_packets")]
    if "traffic" in activity.unavailable:  # no tracepoint tells it before 6.3
        assert front_end == "tracepoint"
        assert traffic == [None] * len(traffic)
    else:
        assert traffic == [25_000, 25_000, 25, 3000, 3000, 15, 15]
        # tcpi_bytes_acked, which `ss -i` shows, too; the SYN is a byte there.
        assert row["tcp_tx_bytes"] == one.truth["acked"] - 1
    assert (row["tcp_connects"], row["tcp_failures"]) == (4, 3)
    found = {(change["from"], change["to"]): change["count"] for change in document(activity)["tcp_transitions"]}
    assert found["CLOSED", "SYN_SENT"] >= 4
    assert found["SYN_SENT", "CLOSED"] >= 3
    assert found["SYN_SENT", "ESTABLISHED"] >= 1
    assert found["SYN_RECV", "ESTABLISHED"] >= 1
    assert found["CLOSED", "LISTEN"] >= 1
    opened = [change for change in activity.latest if change.remote_port == one.truth["port"]]
    assert [(change.old, change.new, change.local, change.remote) for change in opened] == [
        ("CLOSED", "SYN_SENT", "127.0.0.1", "127.0.0.1"),
        ("SYN_SENT", "ESTABLISHED", "127.0.0.1", "127.0.0.1"),
    ]
    assert 0 < time.time_ns() - opened[0].time_ns < 60 * 1000 * MS
    if front_end == "tracepoint":
        assert row["tcp_accepts"] is None
        assert row["tcp_tx_packets"] is None
        assert row["tcp_rtt_ns"] is None
        return
    assert row["tcp_accepts"] == 1
    assert row["tcp_connections"] == 2
    # tcpi_segs_out and tcpi_segs_in of both ends, and what the refused connects sent and heard: a SYN, a RST.
    assert row["tcp_tx_packets"] == one.truth["sent"] + 3
    assert row["tcp_rx_packets"] == one.truth["received"] + 3
    assert 0 < row["tcp_rtt_ns"] < 1000 * MS


def test_connections_from_before_are_known() -> None:
    opened = "\n".join(NETWORK.splitlines()[:6])
    with program(f"{opened}\nTRUTH = {{}}\nos.write(1, b'open\\n'); os.read(0, 1)\nnear.sendall(b'x')") as one:
        one.go_on()
        assert one.heard() == "open\n"
        with counting() as taken:
            one.go_on()
            one.heard()
            row = row_of(taken(), one.pid)
    assert row["tcp_connections"] == 2
    assert (row["tcp_connects"], row["tcp_tx_bytes"]) == (0, 1)


LOSSY = str(Path(__file__).with_name("lossy_link.py"))


def test_retransmits_and_round_trip_times_of_a_lossy_link() -> None:
    """Against /proc/net/snmp of the namespace, and TCP_INFO, which `ss -ti` shows."""
    with counting(only=("network",)) as taken:
        done = subprocess.run(["python3", LOSSY], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode == 77:
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stderr
        activity = taken()
    truth = json.loads(done.stdout)
    rows = {row["tgid"]: row for row in document(activity)["rows"]}
    sender, receiver = rows[truth["sender"]], rows.get(truth["receiver"], {"tcp_retransmits": 0})
    assert truth["dropped"] > 0
    assert truth["retransmits"]["sender"] > 0
    assert sender["tcp_retransmits"] == truth["retransmits"]["sender"]
    assert receiver["tcp_retransmits"] == truth["retransmits"]["receiver"]
    assert sender["tcp_tx_bytes"] == truth["bytes"]
    assert receiver["tcp_rx_bytes"] == truth["bytes"]
    # The mean over all that it sent, and the last one; the link delays 2 x 10 ms.
    assert 20 * MS <= sender["tcp_rtt_ns"] <= 10 * truth["rtt_us"] * 1000
    assert not activity.loss.any


def test_sums_are_exact_in_a_storm_of_processes(front_end: str, tmp_path: Path) -> None:
    """300 processes that write two bytes each: every one is counted for itself."""
    shell = tmp_path / "schedtop-storm"
    shutil.copy("/bin/sh", shell)
    loop = "i=0; while [ $i -lt 300 ]; do (echo x > /dev/null); i=$((i+1)); done"
    with counting(Scope(comms=("schedtop-storm",)), source=front_end) as taken:
        # Called `sh`: busybox, the shell of a guest, does what its name says.
        with subprocess.Popen(["sh", "-c", loop], executable=shell) as storm:
            storm.wait(100)
        activity = taken()
    data = document(activity)
    children = [row for row in data["rows"] if row["comm"] == "schedtop-storm" and row["tgid"] != storm.pid]
    assert len(children) == 300
    # From 7.x on a task may be preempted in the middle of our program, which then cannot run for another one.
    missed = activity.loss.events_missed if int(platform.release().split(".")[0]) >= 7 else 0
    assert 300 - missed <= [(row["writes"], row["write_bytes"]) for row in children].count((1, 2)) <= 300
    assert data["totals"]["syscalls"] == sum(call.count for call in activity.syscalls)
    assert not replace(activity.loss, events_missed=activity.loss.events_missed - missed).any, activity.loss


def test_many_calls_a_second_are_all_counted() -> None:
    if not shutil.which("perf"):
        pytest.skip("perf is not installed")
    calls = 2_000_000
    with counting(only=("syscalls",)) as taken:
        subprocess.run(["perf", "bench", "syscall", "basic", "--loop", str(calls)], capture_output=True, check=True)
        activity = taken()
    assert abs(next(call.count for call in activity.syscalls if call.name == "getppid") - calls) < 100
    assert not activity.loss.any


def test_grouping_by_cgroup_and_filter_by_it() -> None:
    root = cpu_hierarchy(read_mounts())
    if root is None:
        pytest.skip("no cgroups")
    group = root / f"schedtop-activity-{os.getpid()}"
    group.mkdir()
    try:
        with program(CALLS) as one, program(CALLS) as other:
            (group / "cgroup.procs").write_text(str(one.pid))
            with counting(find_scope((), (), (), f"/{group.name}", None)) as taken:
                other.go()
                one.go()
                activity = taken()
            rows = document(activity, Asked(by="cgroup"))["rows"]
            assert [row["cgroup"] for row in rows] == [f"/{group.name}"]
            assert {row["tgid"] for row in document(activity)["rows"]} == {one.pid}
            assert next(call.count for call in activity.syscalls if call.name == "rmdir") == 30
    finally:
        time.sleep(0.05)
        group.rmdir()


THREADS = """
def work(): [os.getppid() for _ in range(50)]
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_rows_by_thread_add_up_to_their_process() -> None:
    one, row, activity = seen_of(THREADS)
    threads = [each for each in document(activity, Asked(by="thread"))["rows"] if each["tgid"] == one.pid]
    assert len(threads) == 4
    for name in ("syscalls", "syscall_ns", "minor_faults", "reads"):
        assert sum(each[name] for each in threads) == row[name]
    assert sum(each["syscalls"] >= 50 for each in threads) == 3
    by_name = [each for each in document(activity, Asked(by="comm"))["rows"] if each["comm"] == row["comm"]]
    assert by_name[0]["syscalls"] >= row["syscalls"]


def test_only_what_is_asked_for_is_attached() -> None:
    with LiveActivity(only=("memory",)) as source:
        attached = set(source._programs._attached)
        activity = source.take(1, STOP)
    assert {"iter_task", "btf_mm_filemap_add_to_page_cache"} <= attached
    assert not [name for name in attached if "sys_" in name or "sock" in name or "tcp" in name]
    data = document(activity)
    assert data["syscalls"] is None
    assert data["tcp_transitions"] is None
    assert data["totals"]["syscalls"] is None
    assert data["totals"]["minor_faults"] is not None
    assert set(NUMBERS) <= set(data["totals"])


def test_another_program_has_its_name() -> None:
    """After exec the name is another one, and the counts are still of one process."""
    with program("os.execvp('sleep', ['sleep', '0.2'])") as one, counting() as taken:
        one.go_on()
        one.process.wait(10)
        activity = taken()
    assert row_of(activity, one.pid)["comm"] == "sleep"


def test_nothing_is_attached_afterwards() -> None:
    before = attached_programs()
    with LiveActivity():
        assert attached_programs() > before
    assert attached_programs() == before


def test_reclaim_of_a_full_cgroup_is_a_stall() -> None:
    root = cpu_hierarchy(read_mounts())
    if root is None or not (root / "cgroup.controllers").exists():
        pytest.skip("no cgroups v2")
    if "memory" not in (root / "cgroup.controllers").read_text():
        pytest.skip("no memory controller")
    (root / "cgroup.subtree_control").write_text("+memory")
    group = root / f"schedtop-activity-{os.getpid()}"
    group.mkdir()
    fill = """
path = f"/var/tmp/schedtop-activity-{os.getpid()}"
fd = os.open(path, os.O_RDWR | os.O_CREAT)
os.unlink(path)
for _ in range(64): os.write(fd, b"x" * (1 << 20))
"""
    try:
        with program(fill) as one:
            (group / "memory.max").write_text(str(24 << 20))
            (group / "cgroup.procs").write_text(str(one.pid))
            with counting() as taken:
                one.go()
                row = row_of(taken(), one.pid)
    finally:
        time.sleep(0.1)
        group.rmdir()
    assert row["reclaims"] > 0
    assert row["reclaim_ns"] > 0
    assert row["page_cache_adds"] > 0


def test_refused_program_takes_away_its_part_alone(front_end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from schedtop.sources.kernel import loader

    load = loader.calls.load_program

    def refuse(kind: int, name: str, *rest: Any) -> int:
        if name == "tcp_retransmit_skb":
            raise loader.calls.ProgramRefused(22, "Invalid argument", b"")
        return load(kind, name, *rest)

    monkeypatch.setattr(loader.calls, "load_program", refuse)
    try:
        with counting(only=("network",), source=front_end) as taken:
            activity = taken()
    except SourceError as error:
        pytest.fail(str(error))
    assert "does not take the program" in activity.unavailable["retransmits"]
    assert document(activity)["totals"]["tcp_retransmits"] is None
    assert document(activity)["totals"]["tcp_tx_bytes"] is not None
