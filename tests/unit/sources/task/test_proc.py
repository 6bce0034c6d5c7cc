"""What the task view reads of /proc and the cgroup files, names of calls and errors, and differences of readings."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import numpy as np
import pytest

from schedtop.model.source import SourceError
from schedtop.sources.kernel.constants import TASK
from schedtop.sources.kernel.syscalls import error_name, syscall_name, syscall_names
from schedtop.sources.task.attributes import AttributeReader
from schedtop.sources.task.identity import identify
from schedtop.sources.task.proc import RUNNABLE, RUNNING, read_stat
from schedtop.sources.task.tables import address, cumulative_states
from schedtop.sources.task.under_way import CallUnderWay, current_call, open_sockets
from schedtop.task import STATES, Quota
from tests.no_task import NO_TASK

STAT = "7 (a) b) S 0 0 0 0 0 0 11 0 2 0 0 0 0 0 -51 {nice} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 {rt} {policy} 0 0 0"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A thread 7 of a process 7 in the group /web/api."""
    task = tmp_path / "proc/7/task/7"
    task.mkdir(parents=True)
    (task / "stat").write_text(STAT.format(nice=-3, rt=50, policy=1))
    (task / "status").write_text("Name:\ta) b\nCpus_allowed_list:\t0-2,5\n")
    (task / "cgroup").write_text("0::/web/api\n")
    (task / "comm").write_text("a) b\n")
    return tmp_path / "proc"


def test_task_has_its_policy_and_the_nearest_quota_above(proc: Path, tmp_path: Path) -> None:
    root = tmp_path / "cgroup"
    (root / "web/api").mkdir(parents=True)
    (root / "cgroup.controllers").touch()
    (root / "web/cpu.max").write_text("20000 100000\n")
    (root / "web/api/cpu.max").write_text("max 100000\n")
    (root / "web/cpu.stat").write_text("nr_periods 10\nnr_throttled 4\nthrottled_usec 7\n")
    reader = AttributeReader(7, 7, proc, f"cgroup2 {root} cgroup2 rw 0 0\n")
    first = reader.read()
    assert first
    assert (first.affinity, first.allowed_cpus, first.policy, first.rt_priority, first.nice) == (
        "0-2,5", 4, "fifo", 50, -3,
    )  # fmt: skip
    assert first.cgroup == "/web/api"
    assert first.quota == Quota("/web", 20_000_000, 100_000_000)
    (root / "web/cpu.stat").write_text("nr_periods 15\nnr_throttled 6\nthrottled_usec 9\n")
    second = reader.read()
    assert second
    assert second.quota == Quota("/web", 20_000_000, 100_000_000, 5, 2, 2000)
    (proc / "7/task/7/stat").unlink()
    assert reader.read() == second


def test_a_fair_task_has_the_slice_that_the_kernel_tells(proc: Path) -> None:
    task = proc / "7/task/7"
    (task / "sched").write_text("a) b (7, #threads: 1)\n---\nse.slice      :      1400000\nclock-delta : 90\n")
    fifo = AttributeReader(7, 7, proc, "").read()
    (task / "stat").write_text(STAT.format(nice=0, rt=0, policy=0).replace(" -51 ", " 20 "))
    fair = AttributeReader(7, 7, proc, "").read()
    (task / "sched").write_text("a) b (7, #threads: 1)\npolicy : 0\n")
    older = AttributeReader(7, 7, proc, "").read()
    assert fifo and fair and older
    assert [one.slice_ns for one in (fifo, fair, older)] == [None, 1_400_000, None]


def test_faults_and_state(proc: Path) -> None:
    stat = read_stat(7, 7, proc)
    assert stat
    assert (stat.minor, stat.major, stat.policy) == (11, 2, "fifo")
    assert read_stat(7, 8, proc) is None


def test_the_call_that_a_thread_is_in(proc: Path, tmp_path: Path) -> None:
    (proc / "7/fd").mkdir()
    (tmp_path / "file").touch()
    (proc / "7/fd/3").symlink_to(tmp_path / "file")
    (proc / "7/task/7/syscall").write_text("0 0x3 0x7f 0x400 0x0 0x0 0x0 0x7ff 0x7fe\n")
    names = {0: "read", 1: "write", 202: "futex"}
    assert current_call(7, 7, names, proc) == CallUnderWay(0, 0, -1)
    (proc / "7/task/7/syscall").write_text("202 0x4 0x7f 0x400 0x0 0x0 0x0 0x7ff 0x7fe\n")
    assert current_call(7, 7, names, proc) == CallUnderWay(202)
    (proc / "7/task/7/syscall").write_text("running\n")
    assert current_call(7, 7, names, proc) == CallUnderWay()
    # A thread of the kernel calls nothing, but is told to be in call 0.
    (proc / "7/task/7/syscall").write_text("0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n")
    assert current_call(7, 7, names, proc) == CallUnderWay()


def test_task_is_identified_by_its_number() -> None:
    found: list[int] = []
    stop = threading.Event()
    thread = threading.Thread(target=lambda: (found.append(threading.get_native_id()), stop.wait()))
    thread.start()
    try:
        while not found:
            pass
        name = identify(found[0])
        assert (name.tid, name.tgid) == (found[0], os.getpid())
        assert name.threads >= 2
        assert "python" in name.command_line
    finally:
        stop.set()
        thread.join()
    with pytest.raises(SourceError, match=f"there is no task {NO_TASK}"):
        identify(NO_TASK)


def test_sockets_and_ports_of_a_process() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        inodes, ports = open_sockets(os.getpid())
        assert os.fstat(listener.fileno()).st_ino in inodes
        assert listener.getsockname()[1] in ports


def test_addresses() -> None:
    assert address(socket.AF_INET, bytes([127, 0, 0, 1]) + bytes(12), 80) == "127.0.0.1:80"
    assert address(socket.AF_INET6, bytes(15) + b"\x01", 443) == "[::1]:443"


def test_names_of_calls_and_errors() -> None:
    intel, arm = syscall_names("x86_64"), syscall_names("aarch64")
    assert (intel[0], intel[257], intel[334], intel[449]) == ("read", "openat", "rseq", "futex_waitv")
    assert (arm[63], arm[56], arm[79], arm[449]) == ("read", "openat", "newfstatat", "futex_waitv")
    assert syscall_names("vax") == {}
    assert syscall_name(9999, intel) == "call 9999"
    assert syscall_name(TASK.OTHER_TABLE, intel) == "(32-bit call)"
    assert (error_name(2), error_name(512), error_name(4000)) == ("ENOENT", "ERESTARTSYS", "error 4000")


def test_the_state_under_way_counts() -> None:
    rows = np.zeros(3, [("state_ns", "<u8", (len(STATES),)), ("since_ns", "<u8"), ("state", "<u4")])
    rows["state"] = (RUNNING, RUNNABLE, len(STATES))  # the last has ended
    rows["since_ns"] = (900, 1100, 100)
    rows["state_ns"][:, RUNNING] = 50
    times = cumulative_states(rows, 1000)
    assert times[:, RUNNING].tolist() == [150, 50, 50]
    assert times[:, RUNNABLE].tolist() == [0, 0, 0]  # the clock of another CPU is a little ahead
