"""Cgroups of tasks from /proc, on a made-up tree."""

from pathlib import Path

import pytest

from schedtop.sources.host import task_cgroups
from schedtop.sources.host.cgroups import group_directory, mounted_group
from schedtop.sources.host.pid_numbers import SameNumbers
from schedtop.sources.host.task_cgroups import TaskCgroups, cpu_group, levels_above


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("0::/system.slice/a.service\n", "/system.slice/a.service"),
        ("4:memory:/m\n2:cpu,cpuacct:/docker/1\n0::/unified\n", "/docker/1"),
        ("4:cpuacct:/no\n0::/u:with:colons\n", "/u:with:colons"),
        ("", ""),
    ],
)
def test_the_group_of_the_cpu_controller(text: str, path: str) -> None:
    assert cpu_group(text) == path


def host(tmp_path: Path, groups: dict[int, str]) -> tuple[Path, Path]:
    root, proc = tmp_path / "cgroup", tmp_path / "proc"
    for tid, path in groups.items():
        (root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
        (proc / str(tid)).mkdir(parents=True)
        (proc / str(tid) / "cgroup").write_text(f"0::{path}\n")
    return root, proc


def test_ids_are_inodes_and_unknown_ones_are_zero(tmp_path: Path) -> None:
    root, proc = host(tmp_path, {1: "/a", 2: "/a/b", 3: "/a"})
    (proc / "2" / "cgroup").write_text("0::/vanished\n")
    ids = TaskCgroups(root, proc).ids([1, 2, 3, 4])
    inode = (root / "a").stat().st_ino
    assert ids == [inode, 0, inode, 0]
    assert TaskCgroups(None, proc).ids([1]) == [0]


def test_lookups_of_task_groups_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_cgroups, "MOST_A_TIME", 2)
    root, proc = host(tmp_path, dict.fromkeys(range(1, 6), "/a"))
    groups = TaskCgroups(root, proc)
    assert [sum(number > 0 for number in groups.ids([1, 2, 3, 4, 5])) for _ in range(4)] == [2, 4, 5, 5]


def test_a_task_that_proc_does_not_show_yet_is_looked_up_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, proc = host(tmp_path, {3: "/a"})
    numbers = SameNumbers(proc)
    groups = TaskCgroups(root, proc, numbers)
    with monkeypatch.context() as container:
        container.setattr(numbers, "inside", lambda _: 0)
        assert groups.ids([3]) == [0]
    assert groups.ids([3]) == [(root / "a").stat().st_ino]


@pytest.mark.parametrize(
    ("top", "path", "directory"),
    [
        ("/", "/a/b", "/cg/a/b"),
        ("/", "/", "/cg/"),
        ("/", "/../other", None),  # outside of the cgroup namespace, and not above the mount
        ("/", "/..a", "/cg/..a"),
        ("/docker/1", "/docker/1/x", "/cg/x"),  # a container's own group alone is mounted
        ("/docker/1", "/docker/1", "/cg"),
        ("/docker/1", "/docker/12", None),
        ("/../..", "/a", None),  # the host's mount in a namespace: nobody knows by which names it is reached
    ],
)
def test_a_group_is_found_below_its_mount_or_not_at_all(top: str, path: str, directory: str | None) -> None:
    assert group_directory(Path("/cg"), top, path) == directory


@pytest.mark.parametrize(
    ("namespace", "top", "kthreadd", "levels"),
    [
        (4026531835, "/", "/", 0),
        (4026531835, "/docker/1", "/", 2),
        (4026532999, "/", "/../..", 2),
        (4026532999, "/../..", "/../..", 0),
        (4026532999, "/", None, None),  # a /proc that does not show it
    ],
)
def test_mount_knows_its_depth_on_the_host(
    tmp_path: Path, namespace: int, top: str, kthreadd: str | None, levels: int | None
) -> None:
    own = tmp_path / "self"
    (own / "ns").mkdir(parents=True)
    (own / "ns" / "cgroup").symlink_to(f"cgroup:[{namespace}]")
    (own / "mountinfo").write_text(
        f"30 20 0:1 / / rw - ext4 x rw\n31 30 0:26 {top} /cg ro,nosuid - cgroup2 cgroup rw\n"
    )
    if kthreadd:
        (tmp_path / "2").mkdir()
        (tmp_path / "2" / "stat").write_text("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0\n")
        (tmp_path / "2" / "cgroup").write_text(f"0::{kthreadd}\n")
    assert mounted_group(Path("/cg"), own / "mountinfo") == top
    if levels is None:
        with pytest.raises(ValueError, match="cgroupns=host"):
            levels_above(Path("/cg"), tmp_path)
    else:
        assert levels_above(Path("/cg"), tmp_path) == levels
