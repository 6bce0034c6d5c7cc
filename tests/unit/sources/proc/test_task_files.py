"""The files of a task: names may hold anything, and what ended is no error."""

import os
import subprocess
import sys

import pytest

from schedtop.model.sched_class import Policy, SchedClass, Treatment
from schedtop.sources.host.task_stat import treatment_of
from schedtop.sources.proc import task_files
from schedtop.sources.proc.births import between
from schedtop.sources.proc.task_files import (
    TICK_NS,
    Stat,
    Status,
    parse_schedstat,
    parse_stat_of_task,
    parse_status,
    read_all,
    read_stat,
    read_status,
)

STAT = b"7 (%b) R 1 7 7 0 -1 4194304 0 0 0 0 1 2 0 0 20 0 1 0 4711 0 0 " + b"0 " * 14 + b"3 0 0\n"
STATUS = (
    b"Name:\tx\nUmask:\t0\nTgid:\t7\nCpus_allowed:\tff,0000000f\n%b"
    b"voluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n"
)


@pytest.mark.parametrize(
    ("name", "comm"),
    [
        (b"stress", b"stress"),
        (b"a) R 1 2 (b", b"a) R 1 2 (b"),
        (b"new\nline\x1b[2J", b"new\nline\x1b[2J"),
        (b"", b""),
        (b"kworker/0:1-events", b"kworker/0:1"),
        (b"kworker/u8:3+flush-8:0", b"kworker/u8:3"),
        (b"kworker/R-rcu_gp", b"kworker/R-rcu_g"),
    ],
)
def test_a_stat_is_read_whatever_the_name_is(name: bytes, comm: bytes) -> None:
    assert parse_stat_of_task(STAT % name) == Stat(comm, 4711 * TICK_NS, 3, Treatment(SchedClass.FAIR, Policy.OTHER))


@pytest.mark.parametrize(
    ("priority", "nice", "policy", "expected"),
    [
        (39, 19, 3, Treatment(SchedClass.FAIR, Policy.BATCH, 0, 19)),
        (-51, 0, 1, Treatment(SchedClass.RT, Policy.FIFO, 50, 0)),
        (-100, 0, 2, Treatment(SchedClass.RT, Policy.RR, 99, 0)),
        (-2, 5, 0, Treatment(SchedClass.RT, Policy.OTHER, 1, 5)),  # lifted by a lock
        (-101, 0, 6, Treatment(SchedClass.DEADLINE, Policy.DEADLINE, 0, 0)),
    ],
)
def test_a_stat_tells_class_and_policy(priority: int, nice: int, policy: int, expected: Treatment) -> None:
    assert treatment_of(priority, nice, policy) == expected


@pytest.mark.parametrize("text", [b"", b"7 (x", b"7 (x) R 1", b"7 (x) " + b"y " * 60])
def test_wrong_stat_is_none(text: bytes) -> None:
    assert parse_stat_of_task(text) is None


@pytest.mark.parametrize("before", [b"", b"x86_Thread_features:\t\n"])
def test_a_status_tells_switches_and_affinity(before: bytes) -> None:
    assert parse_status(STATUS % before + before) == Status(7, 12, 3, 12)


@pytest.mark.parametrize("text", [b"", b"Name:\tx\n", b"Name:\tx\nvoluntary_ctxt_switches:\t12\n"])
def test_wrong_status_is_none(text: bytes) -> None:
    assert parse_status(text) is None


def test_a_long_status_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_files, "_STATUS_BYTES", 64)
    status = read_status(os.getpid())
    assert status is not None
    assert status.tgid == os.getpid()


def test_an_open_file_tells_that_its_task_has_ended() -> None:
    child = subprocess.Popen([sys.executable, "-ISc", "import time; time.sleep(60)"])
    here = os.open("/proc/self/schedstat", os.O_RDONLY)
    there = os.open(f"/proc/{child.pid}/schedstat", os.O_RDONLY)
    try:
        assert read_stat(child.pid, child.pid) is not None
        assert all(read_all([here, there, here]))
        child.kill()
        child.wait()
        texts = read_all([here, there, here])
        assert [bool(text) for text in texts] == [True, False, True]
        assert parse_schedstat(texts[2])[0] > 0
        assert read_status(child.pid) is None
        assert read_stat(child.pid, child.pid) is None
    finally:
        os.close(here)
        os.close(there)


def test_tids_go_round() -> None:
    assert between(7, 7, 100) == []
    assert between(7, 10, 1000) == [8, 9, 10]
    assert between(998, 301, 1000) == [999, 300, 301]
