"""Caches and nodes by CPU, from trees like sysfs's."""

from pathlib import Path

import pytest

from schedtop.sources.host.proc import possible_cpus
from schedtop.sources.host.topology import cpu_list, read_topology


def add_cache(root: Path, cpu: int, index: int, level: str, shared: str) -> None:
    directory = root / "cpu" / f"cpu{cpu}" / "cache" / f"index{index}"
    directory.mkdir(parents=True)
    (directory / "level").write_text(f"{level}\n")
    (directory / "shared_cpu_list").write_text(f"{shared}\n")


def add_node(root: Path, node: int, cpus: str) -> None:
    directory = root / "node" / f"node{node}"
    directory.mkdir(parents=True)
    (directory / "cpulist").write_text(f"{cpus}\n")


@pytest.fixture
def two_sockets(tmp_path: Path) -> Path:
    """16 CPUs: two sockets, each with two last-level caches of two cores, whose second threads are CPUs 8 to 15."""
    for cpu in range(16):
        core = cpu % 8
        first = core // 2 * 2
        for index in (0, 1):
            add_cache(tmp_path, cpu, index, "1", f"{core},{core + 8}")
        add_cache(tmp_path, cpu, 2, "2", f"{core},{core + 8}")
        add_cache(tmp_path, cpu, 3, "3", f"{first}-{first + 1},{first + 8}-{first + 9}")
    add_node(tmp_path, 0, "0-3,8-11")
    add_node(tmp_path, 1, "4-7,12-15")
    (tmp_path / "node" / "power").mkdir()
    (tmp_path / "node" / "online").write_text("0-1\n")
    return tmp_path


def test_two_sockets_with_two_caches_each(two_sockets: Path) -> None:
    topology = read_topology(16, two_sockets)
    assert topology.caches == (0, 0, 2, 2, 4, 4, 6, 6) * 2
    assert topology.nodes == (0, 0, 0, 0, 1, 1, 1, 1) * 2
    assert topology.crossing(0, 9) == ""
    assert topology.crossing(0, 2) == "cache"
    assert topology.crossing(0, 15) == "numa"


def test_threads_of_a_core_by_the_new_name_and_the_old_one(tmp_path: Path) -> None:
    for cpu, name in ((0, "core_cpus_list"), (1, "thread_siblings_list"), (2, "core_cpus_list")):
        directory = tmp_path / "cpu" / f"cpu{cpu}" / "topology"
        directory.mkdir(parents=True)
        (directory / name).write_text(f"{cpu % 2},{cpu % 2 + 2}\n")
    # Of CPU 3 nothing is known: it is a core of its own.
    assert read_topology(4, tmp_path).cores == (0, 1, 0, 3)


def test_a_cpu_without_information_crosses_nothing_inside_its_node(two_sockets: Path) -> None:
    for index in range(4):
        for file in (two_sockets / "cpu" / "cpu5" / "cache" / f"index{index}").iterdir():
            file.unlink()
    (two_sockets / "node" / "node1" / "cpulist").write_text("4,6-7,12-15\n")
    topology = read_topology(20, two_sockets)
    # CPU 5 is offline: in no node's list; 16 to 19 may come one day.
    assert (topology.caches[5], topology.nodes[5]) == (0, 0)
    assert (topology.caches[16:], topology.nodes[16:]) == ((0,) * 4, (0,) * 4)
    assert topology.crossing(0, 5) == ""


def test_cpus_of_a_node_share_one_cache_where_none_is_known(tmp_path: Path) -> None:
    assert read_topology(4, tmp_path / "absent").caches == (0, 0, 0, 0)
    add_node(tmp_path, 0, "0-1")
    add_node(tmp_path, 3, "2-3")
    topology = read_topology(4, tmp_path)
    assert topology.nodes == (0, 0, 3, 3)
    assert [topology.crossing(*pair) for pair in ((0, 1), (2, 3), (1, 2))] == ["", "", "numa"]


def test_cores_without_the_third_level_share_what_they_have(tmp_path: Path) -> None:
    for cpu in (0, 1):
        add_cache(tmp_path, cpu, 3, "3", "0-1")
    for cpu in (2, 3):
        add_cache(tmp_path, cpu, 2, "2", "2-3")
    assert read_topology(4, tmp_path).caches == (0, 0, 2, 2)


@pytest.mark.parametrize(("level", "shared"), [("", "0-1"), ("three", "0-1"), ("3", ""), ("3", "0-"), ("3", "1-0")])
def test_a_garbled_cache_is_none(tmp_path: Path, level: str, shared: str) -> None:
    add_cache(tmp_path, 0, 3, level, shared)
    add_cache(tmp_path, 1, 3, "3", "1")
    assert read_topology(2, tmp_path).caches == (1, 1)


def test_a_node_without_cpus_or_with_garbage_has_none(tmp_path: Path) -> None:
    add_node(tmp_path, 0, "0-1")
    add_node(tmp_path, 1, "")
    add_node(tmp_path, 2, "0-x")
    (tmp_path / "node" / "node4").mkdir()
    assert read_topology(2, tmp_path).nodes == (0, 0)


def test_topology_of_this_machine_is_read() -> None:
    cpus = possible_cpus()
    topology = read_topology(cpus)
    assert (len(topology.caches), len(topology.nodes)) == (cpus, cpus)
    assert all(0 <= cache < cpus for cache in topology.caches)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0\n", [0]),
        ("0-3,8-11\n", [0, 1, 2, 3, 8, 9, 10, 11]),
        ("0,2,4\n", [0, 2, 4]),
        ("3-3", [3]),
        ("\n", []),
        ("", []),
    ],
)
def test_lists_of_cpus(text: str, cpus: list[int]) -> None:
    assert cpu_list(text) == cpus


@pytest.mark.parametrize("text", ["x", "1-", "-1", "3-1", "1,,2", "0-99999999999", "0-3-5"])
def test_wrong_list_of_cpus_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (int's or our own)
        cpu_list(text)
