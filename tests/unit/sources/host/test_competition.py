"""Who competes, read from a made-up /proc and hierarchy: weights, groups of both versions, autogroups, limits."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pytest

from schedtop.base.units import NS_PER_S
from schedtop.entitlement.times import Times
from schedtop.model.rows import TASK_DTYPE
from schedtop.sources.host import competition
from schedtop.sources.host.competition import CompetitionReader


@pytest.fixture(autouse=True)
def affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up tids may run on CPUs 0 and 1."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda tid: {0, 1})


def times_of(run_ns: Mapping[int, int], cpus: Iterable[int] = (0, 1)) -> Times:
    """A window of a second: how long each tid ran; all of it on CPU 0."""
    times = Times()
    times.interval_ns, times.cpus = NS_PER_S, tuple(cpus)
    times.rows = np.zeros(len(run_ns), TASK_DTYPE)
    times.rows["tid"] = times.rows["tgid"] = [*run_ns]
    times.rows["run_ns"] = [*run_ns.values()]
    return times


class Host:
    """A made-up /proc, and a hierarchy of cgroups."""

    def __init__(self, tmp_path: Path, kind: str) -> None:
        self.proc, self.root, self.kind = tmp_path / "proc", tmp_path / "cgroup", kind
        self.root.mkdir()
        (self.proc / "sys/kernel").mkdir(parents=True)
        (self.proc / "sys/kernel/sched_autogroup_enabled").write_text("1\n")

    @property
    def mounts(self) -> str:
        """As in /proc/self/mounts."""
        return f"cgroup {self.root} cgroup rw,cpu 0 0\n" if self.kind == "v1" else f"c {self.root} cgroup2 rw 0 0\n"

    def task(self, tid: int, cgroup: str = "/", nice: int = 0, policy: int = 0, autogroup: str = "") -> None:
        """A task with these settings."""
        directory = self.proc / str(tid) / "task" / str(tid)
        directory.mkdir(parents=True)
        fields = ["0"] * 50
        fields[0], fields[16], fields[38] = "R", str(nice), str(policy)
        (directory / "stat").write_text(f"{tid} (a) b) {' '.join(fields)}\n")
        number = "1:cpu:" if self.kind == "v1" else "0::"
        (directory / "cgroup").write_text(f"{number}{cgroup}\n")
        if autogroup:
            (self.proc / str(tid) / "autogroup").write_text(autogroup)

    def group(self, path: str, **files: str) -> None:
        """A group with these files, `_` for `.`."""
        directory = self.root / path.lstrip("/")
        directory.mkdir(parents=True, exist_ok=True)
        for name, value in files.items():
            (directory / name.replace("_", ".", 1)).write_text(f"{value}\n")

    def read(self, times: Times, *tids: int) -> competition.Competition:
        """The Competition."""
        return CompetitionReader(self.proc, self.mounts).read(times, tids)


def test_groups_of_v1_have_their_shares(tmp_path: Path) -> None:
    host = Host(tmp_path, "v1")
    host.group("/a", cpu_shares="1024")
    host.group("/a/b", cpu_shares="4096", cpu_cfs_quota_us="50000", cpu_cfs_period_us="100000")
    host.task(5, "/a/b", nice=5, autogroup="/autogroup-9 nice 0\n")
    found = host.read(times_of({5: NS_PER_S // 4}))
    (one,) = found.contenders
    assert (one.weight, one.groups, one.used) == (335, ("cgroup /a", "cgroup /a/b"), 0.25)
    assert [(group.weight, group.quota) for group in found.groups.values()] == [(1024, None), (4096, 0.5)]
    assert found.groups["cgroup /a/b"].file == f"{host.root}/a/b/cpu.shares"


def test_groups_of_v2_end_where_the_controller_does(tmp_path: Path) -> None:
    host = Host(tmp_path, "v2")
    host.group("/a", cpu_weight="400", cpu_max="max 100000")
    host.group("/a/b")
    host.group("/idle", cpu_weight="0", cpu_idle="1")
    host.task(5, "/a/b")
    host.task(6, "/idle", policy=5)
    found = host.read(times_of({5: NS_PER_S // 4, 6: NS_PER_S // 4}))
    assert [one.groups for one in found.contenders] == [("cgroup /a",), ("cgroup /idle",)]
    assert [group.weight for group in found.groups.values()] == [4096, 3]
    assert [(one.policy, one.weight) for one in found.contenders] == [("other", 1024), ("idle", 3)]


def test_only_a_task_of_the_root_is_in_its_autogroup(tmp_path: Path) -> None:
    host = Host(tmp_path, "v2")
    host.group("/a", cpu_weight="100")
    host.task(5, "/a", autogroup="/autogroup-9 nice 0\n")
    host.task(6, "/x", nice=-10, autogroup="/autogroup-9 nice 5\n")
    host.task(7, "/")  # a kernel thread
    times = times_of({5: NS_PER_S // 4, 6: NS_PER_S // 4, 7: NS_PER_S // 4})
    found = host.read(times)
    assert [one.groups for one in found.contenders] == [("cgroup /a",), ("autogroup 9",), ()]
    assert (found.groups["autogroup 9"].weight, found.groups["autogroup 9"].setting) == (335, 5)
    (host.proc / "sys/kernel/sched_autogroup_enabled").write_text("0\n")
    assert [one.groups for one in host.read(times).contenders] == [("cgroup /a",), (), ()]


def test_small_tasks_and_those_that_are_gone_are_off_the_capacity(tmp_path: Path) -> None:
    host = Host(tmp_path, "v1")
    host.task(5)
    host.task(6)
    found = host.read(times_of({5: NS_PER_S // 2, 6: NS_PER_S // 1000, 7: NS_PER_S // 4}))
    assert [one.tid for one in found.contenders] == [5]
    assert found.capacity == pytest.approx({0: 1 - 0.25 - 0.001, 1: 1.0})
    asked = host.read(times_of({5: NS_PER_S // 2, 6: NS_PER_S // 1000}), 6)
    assert [one.tid for one in asked.contenders] == [5, 6]


def test_so_many_tasks_are_looked_up_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(competition, "MOST_CONTENDERS", 3)
    host = Host(tmp_path, "v1")
    for tid in range(1, 9):
        host.task(tid)
    found = host.read(times_of({tid: tid * NS_PER_S // 50 for tid in range(1, 9)}))
    assert [one.tid for one in found.contenders] == [8, 7, 6]
    assert found.capacity[0] == pytest.approx(1 - (1 + 2 + 3 + 4 + 5) / 50)


def test_a_weight_that_cannot_be_read_is_an_error_and_no_guess(tmp_path: Path) -> None:
    host = Host(tmp_path, "v1")
    host.group("/a", cpu_shares="many")
    host.task(5, "/a")
    with pytest.raises(ValueError, match="the weight of the cgroup /a cannot be read"):
        host.read(times_of({5: NS_PER_S}))


def test_a_real_time_task_that_did_not_move_is_on_its_cpu_alone(tmp_path: Path) -> None:
    host = Host(tmp_path, "v1")
    host.task(5, policy=1)
    times = times_of({5: NS_PER_S // 2})
    times.rows["last_cpu"] = 1
    assert host.read(times).contenders[0].cpus == {1}
    times.rows["migrations"] = 3
    assert host.read(times).contenders[0].cpus == {0, 1}
