"""Names of cgroups by id, on a tree of plain directories."""

from pathlib import Path

import pytest

from schedtop.sources.host import cgroups
from schedtop.sources.host.cgroups import CgroupNames, cpu_hierarchy, find_group, walk

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
def test_hierarchy_without_cgroups_is_none(mounts: str) -> None:
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


def test_groups_without_a_hierarchy_have_no_names() -> None:
    assert dict(CgroupNames(None).resolve([1, 2])) == {}


ID = "3f2a9c1b77de" + "0123456789abcdef" * 3 + "feed"
OTHER = "3f2a00000000" + "0123456789abcdef" * 3 + "feed"
POD = "kubepods-burstable-pod1b2c3d4e_5f60_4711_8899_aabbccddeeff.slice"
USER = "/user.slice/user-1000.slice/user@1000.service"
TREE = [
    "/system.slice/nginx.service",
    "/system.slice/nginx.service/worker",
    f"/system.slice/docker-{ID}.scope/init.scope",
    f"/system.slice/docker-{ID}.scope/system.slice/cron.service",
    "/system.slice/cron.service",
    f"/docker/{OTHER}",
    f"/machine.slice/libpod-conmon-{ID}.scope",
    f"/kubepods.slice/{POD}/cri-containerd-{'b' * 64}.scope",
    r"/machine.slice/machine-my\x2dweb.scope/payload",
    f"{USER}/app.slice/nginx.service-like",
    *(f"/jobs/{name}/worker" for name in "abcd"),
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "cgroup" / "cpu,cpuacct"
    for path in TREE:
        (root / path[1:]).mkdir(parents=True)
    return root


@pytest.fixture
def mounts(tree: Path) -> Path:
    (tree.parent / "cpu").symlink_to("cpu,cpuacct")
    (tree.parent / "memory").mkdir()
    file = tree.parent.parent / "mounts"
    file.write_text(f"cgroup {tree} cgroup rw,cpu 0 0\ncgroup {tree.parent}/memory cgroup rw,memory 0 0\ntorn\n")
    return file


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/", "/"),
        ("/system.slice/nginx.service", "/system.slice/nginx.service"),
        ("system.slice/nginx.service/", "/system.slice/nginx.service"),
        ("{parent}/cpu,cpuacct", "/"),
        ("{parent}/cpu,cpuacct/jobs/a", "/jobs/a"),
        ("{parent}/cpu/jobs/a", "/jobs/a"),
        ("{parent}/memory/jobs/a/", "/jobs/a"),
        ("nginx.service", "/system.slice/nginx.service"),
        ("nginx", "/system.slice/nginx.service"),
        ("docker 3f2a9c1b77de", f"/system.slice/docker-{ID}.scope"),
        ("3f2a9c1b77de", f"/system.slice/docker-{ID}.scope"),
        ("3f2a9", f"/system.slice/docker-{ID}.scope"),
        (ID, f"/system.slice/docker-{ID}.scope"),
        (ID[:40], f"/system.slice/docker-{ID}.scope"),
        ("3f2a0", f"/docker/{OTHER}"),
        ("bbbbbbbbbbbb", f"/kubepods.slice/{POD}/cri-containerd-{'b' * 64}.scope"),
        ("1b2c3d4e-5f60", f"/kubepods.slice/{POD}"),
        ("1b2c3d4e", f"/kubepods.slice/{POD}"),
        ("pod 1b2c3d4e", f"/kubepods.slice/{POD}"),
        ("my-web", r"/machine.slice/machine-my\x2dweb.scope"),
        ("machine-my-web.scope", r"/machine.slice/machine-my\x2dweb.scope"),
    ],
)
def test_a_group_is_found_by_what_people_call_it(tree: Path, mounts: Path, text: str, path: str) -> None:
    inode = (tree / path[1:]).stat().st_ino
    assert find_group(tree, text.format(parent=tree.parent), mounts) == (path, inode)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("worker", "'worker' may be any of 5 cgroups: /jobs/a/worker, /jobs/b/worker, /jobs/c/worker and 2 more;"),
        ("3f2a", f"may be any of 2 cgroups: /docker/{OTHER}, /system.slice/docker-{ID}.scope; give the path"),
        (
            "cron",
            f"/system.slice/cron.service, /system.slice/docker-{ID}.scope/system.slice/cron.service; give the path",
        ),
        ("nginz.service", "no cgroup 'nginz.service' below .*; did you mean /system.slice/nginx.service?"),
        ("/sistem.slice/nginx.service", "did you mean /system.slice/nginx.service?"),
        ("zzzzzz", "no cgroup 'zzzzzz' below .*cpuacct$"),
        ("../../etc", "no cgroup"),
        ("3f2", "no cgroup"),
        (" ", "the name of a cgroup is empty"),
    ],
)
def test_ambiguous_group_is_an_error_of_one_sentence(tree: Path, mounts: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")) as error:
        find_group(tree, text, mounts)
    assert "\n" not in str(error.value)


def test_root_group_is_known_without_mounts(tree: Path) -> None:
    assert find_group(tree, f"{tree}/jobs/a", tree / "absent")[0] == "/jobs/a"
