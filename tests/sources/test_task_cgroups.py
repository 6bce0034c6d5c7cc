"""Cgroups of tasks from /proc, on a made-up tree."""

from pathlib import Path

import pytest

from schedtop.sources import task_cgroups
from schedtop.sources.task_cgroups import TaskCgroups, cpu_group


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


def test_only_so_many_are_looked_up_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_cgroups, "MOST_A_TIME", 2)
    root, proc = host(tmp_path, dict.fromkeys(range(1, 6), "/a"))
    groups = TaskCgroups(root, proc)
    assert [sum(number > 0 for number in groups.ids([1, 2, 3, 4, 5])) for _ in range(4)] == [2, 4, 5, 5]
