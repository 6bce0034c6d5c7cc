"""Tasks, groups and mounts whose names look like more than a name: nobody is taken for somebody else by them."""

import os
from pathlib import Path

import numpy as np
import pytest

from schedtop.capture.events import EVENT_DTYPE, NAME_DTYPE
from schedtop.model.source import SourceError
from schedtop.sources.capture.source import with_missing_names
from schedtop.sources.host import cgroups
from schedtop.sources.host.cgroups import CgroupNames, cpu_hierarchy
from schedtop.sources.host.pid_numbers import INITIAL_PID_NAMESPACE
from schedtop.sources.host.task_cgroups import cpu_group
from schedtop.sources.task.attributes import AttributeReader
from schedtop.sources.task.identity import identify
from schedtop.sources.task.proc import read_stat

ENDS = ("\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
"""What Python takes for the end of a line, and the kernel for a part of a name."""


@pytest.mark.parametrize("end", ENDS, ids=ascii)
def test_a_group_is_not_taken_for_the_one_that_its_name_tells(end: str) -> None:
    own = f"/user.slice/x{end}3:cpu:/system.slice/db.service"
    assert cpu_group(f"0::{own}\n") == own


@pytest.mark.parametrize("end", ENDS, ids=ascii)
def test_a_mount_is_not_taken_for_that_of_cgroups(end: str) -> None:
    evil = f"fuse /home/me/x{end}cgroup{end}/home/me/y{end}cgroup{end}rw,cpu fuse rw 0 0\n"
    assert cpu_hierarchy(evil) is None
    assert cpu_hierarchy(evil + "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n") == Path("/sys/fs/cgroup")


def made_task(proc: Path, tid: int, comm: bytes, stat: bytes = b"") -> Path:
    """A task of a made-up /proc, with what a real one has in these files."""
    process = proc / str(tid)
    task = process / "task" / str(tid)
    task.mkdir(parents=True)
    tail = b"R 1 1 1 0 -1 4194304 7 0 8 0 5 5 0 0 20 -5 1" + b" 0" * 40
    for place in (process, task):
        (place / "comm").write_bytes(comm + b"\n")
        status = b"Name:\t%s\nState:\tS (sleeping)\nTgid:\t%d\nThreads:\t1\nCpus_allowed_list:\t0-1\n"
        (place / "status").write_bytes(status % (comm, tid))
        (place / "stat").write_bytes(stat or b"%d (%s) %s\n" % (tid, comm, tail))
        (place / "cgroup").write_bytes(b"0::/a\n")
        (place / "cmdline").write_bytes(comm + b"\0--x\n\0")
    return process


@pytest.mark.parametrize("end", ENDS, ids=ascii)
def test_name_in_a_capture_cannot_fake_its_process(end: str, tmp_path: Path) -> None:
    made_task(tmp_path, 7, f"x{end}Tgid:\t1".encode()[:15])
    (tmp_path / "self/ns").mkdir(parents=True)
    (tmp_path / "self/ns/pid").symlink_to(INITIAL_PID_NAMESPACE)
    events = np.zeros(1, EVENT_DTYPE)
    events["tid"] = events["other_tid"] = 7
    names = with_missing_names(np.zeros(0, NAME_DTYPE), events, 1, tmp_path)
    assert names["tgid"].tolist() == [7]


@pytest.mark.parametrize("comm", [b") Z 1 1", b"a) R (b", b"\x0cState:\tZ", b"\xff\xfe(", b"\x1b]0;x\x07"], ids=ascii)
def test_a_task_is_what_it_is_whatever_its_name_says(comm: bytes, tmp_path: Path) -> None:
    made_task(tmp_path, 7, comm)
    who = identify(7, tmp_path)
    assert (who.tgid, who.threads) == (7, 1)
    assert who.comm.isprintable()
    assert who.command_line.isprintable()
    found = read_stat(7, 7, tmp_path)
    assert found is not None
    assert (found.minor, found.major, found.nice) == (7, 8, -5)
    attributes = AttributeReader(7, 7, tmp_path, "").read()
    assert attributes is not None
    assert (attributes.affinity, attributes.allowed_cpus) == ("0-1", 2)


@pytest.mark.parametrize("stat", [b"7 (x) R 1 1", b"7 (x", b"", b"7 (x) R " + b"? " * 50])
def test_a_task_that_is_cut_off_while_it_is_read_is_one_that_has_gone(stat: bytes, tmp_path: Path) -> None:
    made_task(tmp_path, 7, b"x", stat or b"\n")
    assert read_stat(7, 7, tmp_path) is None


def test_a_task_that_vanishes_while_it_is_read_is_none(tmp_path: Path) -> None:
    process = made_task(tmp_path, 7, b"x")
    os.unlink(process / "cmdline")
    with pytest.raises(SourceError, match="there is no task 7"):
        identify(7, tmp_path)
    os.unlink(process / "task" / "7" / "cgroup")
    assert AttributeReader(7, 7, tmp_path, "").read() is None


def test_names_of_groups_are_one_mapping_while_there_is_no_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    names = CgroupNames(tmp_path)
    names.walk()
    first = names.resolve([1])
    names.walk()
    assert names.resolve([1]) is first, "each Frame keeps its mapping: copies would fill the memory"
    monkeypatch.setattr(cgroups, "_MAX_GROUPS", 50)
    for number in range(300):
        (tmp_path / "a" / str(number)).mkdir()
        if number % 10 == 0:
            names.walk()
            assert len(names.resolve([])) <= 100
