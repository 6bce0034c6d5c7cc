"""What kernels tell: BTF, formats of tracepoints, and files of /proc and of cgroups, with names that tasks chose."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from schedtop.model.source import SourceError
from schedtop.sources.host.cgroups import cpu_hierarchy
from schedtop.sources.host.namespaces import pid_namespace
from schedtop.sources.host.proc import parse_pressure, parse_stat
from schedtop.sources.host.task_cgroups import cpu_group
from schedtop.sources.host.throttling import quota_ratio, read_statistics
from schedtop.sources.host.topology import read_topology
from schedtop.sources.kernel.btf import Btf, BtfError
from schedtop.sources.kernel.tracefs import parse_format
from schedtop.sources.offcpu import before as offcpu_before
from schedtop.sources.offcpu import file_locks
from schedtop.sources.task import attributes as task_attributes
from schedtop.sources.task import identity as task_identity
from schedtop.sources.task import proc as task_proc
from schedtop.sources.task import under_way as task_under_way
from tests.fuzz.targets.promises import plain


def btf(data: bytes) -> None:
    """A blob of types: every question has an answer or a BtfError."""
    try:
        types = Btf(data)
    except BtfError:
        return
    for ask in (
        lambda: types.offset("task_struct", "se.sched_delayed"),
        lambda: types.offset("task_struct", "pid"),
        lambda: types.argument_count("btf_trace_sched_switch"),
        lambda: types.enumerator("cgroup_subsys_id", "cpu_cgrp_id"),
        lambda: types.per_cpu_offset("runqueues"),
        lambda: types.has_field("rq", "nr_running"),
    ):
        with suppress(BtfError):
            ask()


def tracefs(data: bytes) -> None:
    """A format file: whatever it says, offsets and sizes are numbers."""
    for field in parse_format(data.decode(errors="replace")).values():
        assert field.offset >= 0 <= field.size


def proc(data: bytes) -> None:
    """Files that describe the host."""
    text = data.decode(errors="surrogateescape")
    with suppress(ValueError):
        parse_stat(data, 4)
    with suppress(ValueError):
        assert parse_pressure(text).some_ns >= 0
    cpu_hierarchy(text)
    cpu_group(text)
    with suppress(ValueError):
        pid_namespace(text)
    place = _host()
    for name in ("cpu.max", "cpu.stat", "cpu.pressure", "cpu.cfs_quota_us", "cpu.cfs_period_us"):
        (place / name).write_bytes(data)
    for unified in (True, False):
        quota_ratio(str(place), unified)
        with suppress(ValueError):
            read_statistics(str(place), unified)
    cpu = place / "cpu" / "cpu0" / "cache" / "index0"
    for path in (cpu / "shared_cpu_list", cpu / "level", place / "node" / "node0" / "cpulist"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    read_topology(2, place)


def tasks(data: bytes) -> None:
    """Files of a task, each with the same content: it may name itself as it likes, and end in the middle."""
    place = _host()
    task = place / "7" / "task" / "7"
    task.mkdir(parents=True, exist_ok=True)
    for name in ("stat", "status", "comm", "cgroup", "cmdline", "schedstat", "syscall", "stack"):
        (task / name).write_bytes(data)
        (place / "7" / name).write_bytes(data)
    (place / "locks").write_bytes(data)
    with suppress(SourceError):
        who = task_identity.identify(7, place)
        plain(who.comm, who.process, who.command_line)
    task_proc.read_stat(7, 7, place)
    task_proc.run_ns(7, 7, place)
    task_proc.thread_count(7, place)
    task_under_way.current_call(7, 7, {0: "read"}, place)
    found = task_attributes.AttributeReader(7, 7, place, "").read()
    if found:
        plain(found.cgroup, found.affinity)
    offcpu_before.read_thread(7, 7, place)
    offcpu_before.kernel_stack(7, 7, place)
    for holders in file_locks.lock_holders({7}, place).values():
        assert holders


@cache
def _host() -> Path:
    return Path(tempfile.mkdtemp(prefix="schedtop-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
