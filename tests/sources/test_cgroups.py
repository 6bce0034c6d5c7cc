"""Names of cgroups by id, on a tree of plain directories."""

from pathlib import Path

import pytest

from schedtop.sources import cgroups
from schedtop.sources.cgroups import CgroupNames, cpu_hierarchy, walk

V2 = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"
HYBRID = """tmpfs /sys/fs/cgroup tmpfs ro 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0
"""


@pytest.mark.parametrize(
    ("mounts", "path"),
    [
        (V2, "/sys/fs/cgroup"),
        (HYBRID, "/sys/fs/cgroup/cpu,cpuacct"),
        (HYBRID.replace("rw,nosuid,cpu,cpuacct", "rw,cpuacct"), "/sys/fs/cgroup/unified"),
    ],
)
def test_the_hierarchy_is_that_of_the_cpu_controller(mounts: str, path: str) -> None:
    assert cpu_hierarchy(mounts) == Path(path)


@pytest.mark.parametrize("mounts", ["", "proc /proc proc rw 0 0\n", "torn line\n"])
def test_without_cgroups_there_is_none(mounts: str) -> None:
    assert cpu_hierarchy(mounts) is None


def test_the_id_of_a_group_is_its_inode(tmp_path: Path) -> None:
    inner = tmp_path / "system.slice" / "nginx.service"
    inner.mkdir(parents=True)
    (inner / "cgroup.procs").touch()
    assert walk(tmp_path) == {
        tmp_path.stat().st_ino: "/",
        inner.parent.stat().st_ino: "/system.slice",
        inner.stat().st_ino: "/system.slice/nginx.service",
    }


def test_a_group_with_a_dot_keeps_it(tmp_path: Path) -> None:
    (tmp_path / ".hidden").mkdir()
    assert walk(tmp_path)[(tmp_path / ".hidden").stat().st_ino] == "/.hidden"


def test_a_hierarchy_that_is_gone_has_no_groups(tmp_path: Path) -> None:
    assert walk(tmp_path / "gone") == {}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(cgroups.time, "monotonic", lambda: now[0])
    return now


def test_a_new_group_is_found_but_the_tree_is_not_walked_all_the_time(tmp_path: Path, clock: list[float]) -> None:
    names = CgroupNames(tmp_path)
    root = tmp_path.stat().st_ino
    assert names.resolve([root])[root] == "/"
    (tmp_path / "new").mkdir()
    new = (tmp_path / "new").stat().st_ino
    assert new not in names.resolve([new])
    clock[0] += 10
    assert names.resolve([new])[new] == "/new"


def test_known_ids_do_not_walk(tmp_path: Path, clock: list[float]) -> None:
    names = CgroupNames(tmp_path)
    root = tmp_path.stat().st_ino
    before = names.resolve([root])
    clock[0] += 10
    assert names.resolve([root, 0]) is before


def test_a_group_that_is_gone_keeps_its_name(tmp_path: Path, clock: list[float]) -> None:
    group = tmp_path / "job"
    group.mkdir()
    inode = group.stat().st_ino
    names = CgroupNames(tmp_path)
    assert names.resolve([inode])[inode] == "/job"
    group.rmdir()
    clock[0] += 10
    assert names.resolve([inode, 1])[inode] == "/job"


def test_without_a_hierarchy_nothing_has_a_name() -> None:
    assert dict(CgroupNames(None).resolve([1, 2])) == {}
