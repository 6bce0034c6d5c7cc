"""The idle CPU that a slow wait could have had: the choice, on machines that are written as files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedtop.model.rows import Rows
from schedtop.model.waits import DISTANCES, EVIDENCE
from schedtop.sources.host.isolation import read_isolation, unified_hierarchies
from schedtop.sources.host.topology import read_topology
from schedtop.sources.kernel.constants import SCHEDULER
from schedtop.sources.scheduler.causes import assign_causes
from schedtop.sources.scheduler.idle_cpus import Reach, note_idle_cpus
from tests.unit.sources.scheduler.test_causes import MS, cause, wait

CPUS = 8
"""Two nodes of two caches of one core of two threads: CPU 1 is the other thread of CPU 0, and so on."""

SMALL = {"node0": "0-7", "cores": ("0", "1", "2", "3", "4", "5", "6", "7"), "caches": ("0-3", "4-7")}
LARGE = {"node0": "0-3", "node1": "4-7", "cores": ("0-1", "2-3", "4-5", "6-7"), "caches": ("0-3", "4-5", "6-7")}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def machine(root: Path, described: Mapping[str, Any], isolated: str = "", nohz_full: str = "(null)") -> Reach:
    """A machine by files as sysfs has them; of no task the affinity is known."""

    def members(lists: tuple[str, ...], cpu: int) -> str:
        return next(text for text in lists if int(text[0]) <= cpu <= int(text[-1]))

    for name, cpulist in described.items():
        if name.startswith("node"):
            write(root / "node" / name / "cpulist", cpulist)
    for cpu in range(CPUS):
        directory = root / "cpu" / f"cpu{cpu}"
        write(directory / "topology" / "core_cpus_list", members(described["cores"], cpu))
        write(directory / "cache" / "index3" / "shared_cpu_list", members(described["caches"], cpu))
        write(directory / "cache" / "index3" / "level", "3")
    write(root / "cpu" / "isolated", isolated)
    write(root / "cpu" / "nohz_full", nohz_full)

    def gone(tid: int) -> set[int]:
        assert tid == 77
        raise ProcessLookupError

    return Reach(read_topology(CPUS, root), CPUS, read_isolation(root / "cpu"), gone)


def with_mask(reach: Reach, *mask: int) -> Reach:
    return Reach(reach.topology, reach.possible, reach.isolation, lambda _: set(mask))


def found(reach: Reach, idle_ms: dict[int, float], bonds: int = 0, complete: bool = True, **fields: Any) -> Rows:
    """A wait of 10 ms on CPU 1, of a task that may run everywhere, beside CPUs that were idle for so long."""
    row = wait(**{"allowed_cpus": CPUS, **fields})
    idle_ns = np.array([[int(ms * MS) for ms in idle_ms.values()]])
    idle = (np.array(list(idle_ms), np.int64), idle_ns, complete)
    note_idle_cpus(row, np.array([bonds]), idle, reach)
    return row


def told(row: Rows) -> tuple[int, str, str]:
    return int(row["idle_cpu"][0]), EVIDENCE[row["evidence"][0]], DISTANCES[row["idle_distance"][0]]


@pytest.fixture
def small(tmp_path: Path) -> Reach:
    return machine(tmp_path, SMALL)


@pytest.fixture
def large(tmp_path: Path) -> Reach:
    return machine(tmp_path, LARGE)


NOTHING = (-1, "", "")


def test_an_idle_cpu_that_the_mask_forbids_means_pinned(small: Reach) -> None:
    assert told(found(small, {0: 9, 2: 7}, allowed_cpus=1)) == (0, "pinned", "same_cache")
    assert told(found(with_mask(small, 1, 3), {0: 9}, allowed_cpus=2)) == (0, "pinned", "same_cache")
    row = found(with_mask(small, 1), {0: 9}, allowed_cpus=0)
    assert told(row) == (0, "pinned", "same_cache")
    assert row["allowed_cpus"][0] == 1, "what the front end could not tell"


def test_an_idle_cpu_that_the_mask_allows_is_named_first_and_means_not_balanced(small: Reach) -> None:
    assert told(found(small, {0: 9})) == (0, "not balanced", "same_cache")
    row = found(with_mask(small, 1, 2), {0: 9, 2: 6}, allowed_cpus=2)
    assert told(row) == (2, "not balanced", "same_cache")
    assert row["idle_cpu_ns"][0] == 6 * MS


@pytest.mark.parametrize(
    ("idle_ms", "expected"),
    [
        pytest.param({7: 10, 5: 9, 3: 6}, (3, "same_cache"), id="same-cache"),
        pytest.param({7: 10, 0: 6}, (0, "same_core"), id="same-core"),
        pytest.param({0: 10, 2: 6, 3: 7}, (3, "same_cache"), id="a-core-of-its-own-before-a-share-of-one"),
        pytest.param({4: 8, 6: 9}, (6, "other_node"), id="other-node"),
    ],
)
def test_the_nearest_idle_cpu_is_named(large: Reach, idle_ms: dict[int, float], expected: tuple[int, str]) -> None:
    number, _, distance = told(found(large, idle_ms))
    assert (number, distance) == expected


def test_another_cache_is_told_from_another_node(small: Reach, large: Reach) -> None:
    assert told(found(small, {4: 8})) == (4, "not balanced", "other_cache")
    assert told(found(large, {4: 8}, cpu=7, enqueue_cpu=7)) == (4, "not balanced", "other_cache")
    assert told(found(large, {2: 8}, cpu=7, enqueue_cpu=7)) == (2, "not balanced", "other_node")


def test_cause_is_never_pinned_where_idle_cpus_are_unknown(small: Reach) -> None:
    some = with_mask(small, 1, 3)
    assert told(found(some, {0: 9}, complete=False, allowed_cpus=2)) == (0, "", "same_cache")
    assert told(found(small, {0: 9}, complete=False, allowed_cpus=1)) == (0, "pinned", "same_cache")
    assert told(found(some, {3: 9}, complete=False, allowed_cpus=2)) == (3, "not balanced", "same_cache")


def test_cause_of_an_ended_task_is_never_pinned(small: Reach) -> None:
    row = found(small, {0: 9}, allowed_cpus=2)
    assert told(row) == (0, "", "same_cache")
    assert cause(row) == ("idle-cpu", "")


def test_a_mask_as_long_as_there_are_cpus_online_is_looked_at(small: Reach) -> None:
    # Of the CPUs that it allows some may be offline: it is not all of those that are there.
    assert told(found(with_mask(small, 1, 2), {0: 9}, allowed_cpus=CPUS - 1)) == (0, "pinned", "same_cache")


def test_its_own_queues_and_short_idle_times_do_not_count(small: Reach) -> None:
    assert told(found(small, {1: 10})) == NOTHING
    assert told(found(small, {0: 10}, enqueue_cpu=0)) == NOTHING, "it waited there itself"
    assert told(found(small, {0: 4})) == NOTHING
    assert told(found(small, {})) == NOTHING


def test_cpus_that_the_scheduler_does_not_use_are_not_named(tmp_path: Path) -> None:
    isolated = machine(tmp_path, SMALL, isolated="2-3", nohz_full="5")
    assert told(found(isolated, {2: 10, 3: 10, 5: 9})) == NOTHING
    assert told(found(isolated, {2: 10, 0: 6})) == (0, "not balanced", "same_cache")
    assert told(found(isolated, {2: 10}, allowed_cpus=1)) == NOTHING, "nothing was kept from it by its mask alone"
    # Nothing is moved away from an isolated CPU either; its mask may forbid it all the same.
    assert told(found(isolated, {0: 9}, cpu=3, enqueue_cpu=3)) == NOTHING
    assert told(found(isolated, {0: 9}, cpu=3, enqueue_cpu=3, allowed_cpus=1)) == (0, "pinned", "same_cache")


def test_isolated_partitions_of_cgroups_count(tmp_path: Path) -> None:
    group = tmp_path / "cgroup"
    write(group / "cpuset.cpus.isolated", "6-7")
    write(tmp_path / "isolated", "2")
    assert read_isolation(tmp_path, [group]).apart == {2, 6, 7}
    assert read_isolation(tmp_path / "nowhere", [tmp_path]).apart == set()
    mounts = f"cgroup /old cgroup rw,cpu 0 0\nnone {group} cgroup2 rw 0 0\n"
    assert unified_hierarchies(mounts) == [group]


def test_a_task_that_had_migration_disabled_could_not_be_moved(small: Reach) -> None:
    row = found(small, {0: 10}, bonds=SCHEDULER.BOUND_TO_CPU)
    assert told(row) == NOTHING
    assign_causes(row)
    assert cause(row) == ("preemption", "")


def test_where_a_kernel_does_not_tell_what_binds_a_task_there_is_no_claim_but_of_its_mask(small: Reach) -> None:
    row = found(small, {0: 10}, bonds=SCHEDULER.BOUND_UNKNOWN)
    assert told(row) == (0, "", "same_cache")
    assert cause(row) == ("idle-cpu", "")
    assert told(found(small, {0: 10}, bonds=SCHEDULER.BOUND_UNKNOWN, allowed_cpus=1)) == (0, "pinned", "same_cache")


def test_core_scheduling_leaves_only_cores_that_were_idle_as_a_whole(large: Reach) -> None:
    forced = SCHEDULER.BOUND_BY_CORE
    assert told(found(large, {2: 10}, bonds=forced)) == NOTHING, "CPU 3 ran what may have forced it"
    assert told(found(large, {2: 8, 3: 6}, bonds=forced)) == NOTHING, "together for 4 ms at least"
    assert told(found(large, {2: 8, 3: 7}, bonds=forced)) == (2, "not balanced", "same_cache")
    assert told(found(large, {0: 10}, bonds=forced)) == NOTHING, "the other thread of its own core"


def test_the_nearest_cpus_rank_lowest(large: Reach) -> None:
    ranks = large.ranks(np.array([1, 1]))
    assert ranks.tolist() == [1, 1, 0, 0, 3, 3, 3, 3]
    assert large.ranks(np.array([1, 7])).tolist() == [1, 1, 0, 0, 2, 2, 1, 1]


def test_a_task_of_sched_ext_waits_beside_no_idle_cpu(tmp_path: Path) -> None:
    reach = machine(tmp_path, SMALL)
    assert found(reach, {2: 10})["idle_cpu"] == 2
    assert found(reach, {2: 10}, evidence=EVIDENCE.index("sched_ext"))["idle_cpu"] == -1
