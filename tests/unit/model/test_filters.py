"""Filters: read from text, written back, and what they let through."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedtop.model.filters import Filter
from schedtop.model.rows import TASK_DTYPE

NUMBERS = st.lists(st.integers(0, 2**22), max_size=3).map(tuple)
# What a word of the filter line can hold: no blanks, commas or separators, and no bare number.
COMMS = st.lists(st.from_regex(re.compile(r"[a-z/_.\-][a-z0-9/_.\-]{0,14}", re.ASCII), fullmatch=True), max_size=3).map(
    tuple
)


@given(COMMS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, COMMS, NUMBERS)
def test_a_filter_reads_back_what_it_writes(
    comms: tuple[str, ...],
    tids: tuple[int, ...],
    tgids: tuple[int, ...],
    cpus: tuple[int, ...],
    numbers: tuple[int, ...],
    cgroups: tuple[str, ...],
    pid_namespaces: tuple[int, ...],
) -> None:
    chosen = Filter(comms, tids, tgids, cpus, numbers, cgroups, pid_namespaces)
    assert Filter.parse(str(chosen)) == chosen


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", Filter()),
        ("   ", Filter()),
        ("nginx", Filter(comms=("nginx",))),
        ("comm:nginx,java", Filter(comms=("nginx", "java"))),
        ("COMM=nginx", Filter(comms=("nginx",))),
        ("tid:1 tid:2", Filter(tids=(1, 2))),
        ("pid:7", Filter(tgids=(7,))),
        ("tgid:7,8", Filter(tgids=(7, 8))),
        ("cpu:0-3,8", Filter(cpus=(0, 1, 2, 3, 8))),
        ("cpu:0,3 java", Filter(comms=("java",), cpus=(0, 3))),
        ("4242", Filter(numbers=(4242,))),
        ("comm:4242", Filter(comms=("4242",))),
        ("cgroup:docker,ssh", Filter(cgroups=("docker", "ssh"))),
        ("pidns:4026531836", Filter(pid_namespaces=(4026531836,))),
        ("kworker/1:2", Filter(comms=("kworker/1:2",))),
    ],
)
def test_filters_are_read(words: str, expected: Filter) -> None:
    assert Filter.parse(words) == expected


@pytest.mark.parametrize(
    "words", ["tid:x", "cpu:-1", "cpu:3-1", "cpu:0-99999999", "tid:1-3", "tgid:1.5", "prio:5", "cpu:²"]
)
def test_wrong_filter_is_reported_in_a_sentence(words: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        Filter.parse(words)


def test_filter_is_true_only_with_a_condition() -> None:
    assert not Filter()
    assert Filter(cpus=(0,))
    assert Filter(tids=(0,))


def test_per_cpu_data_stays_whole_only_under_a_filter_of_cpus() -> None:
    assert not Filter(cpus=(0,)).names_tasks
    assert all(Filter.parse(words).names_tasks for words in ("java", "tid:1", "tgid:1", "1", "cgroup:a", "pidns:1"))


def rows() -> np.ndarray:
    table = np.zeros(4, TASK_DTYPE)
    table["tid"], table["tgid"] = (10, 11, 12, 20), (10, 10, 12, 11)
    table["comm"], table["last_cpu"] = (b"nginx", b"nginx-worker", b"java", b"Java"), (0, 1, 0, 1)
    return table


@pytest.mark.parametrize(
    ("words", "tids"),
    [
        ("", [10, 11, 12, 20]),
        ("nginx", [10, 11]),
        ("JAVA", [12, 20]),
        ("comm:java,worker", [11, 12, 20]),
        ("tid:11", [11]),
        ("tgid:10", [10, 11]),
        ("11", [11, 20]),
        ("cpu:0", [10, 12]),
        ("cpu:0 java", [12]),
        ("tid:10 tgid:12", []),
        ("cpu:7", []),
    ],
)
def test_a_row_passes_if_every_part_of_the_filter_holds(words: str, tids: list[int]) -> None:
    assert list(Filter.parse(words).rows(rows(), "last_cpu")["tid"]) == tids


@pytest.mark.parametrize(
    ("words", "tids"),
    [("cgroup:SSH", [10, 11]), ("cgroup:docker,ssh", [10, 11, 12]), ("cgroup:nothing", []), ("pidns:7", [12, 20])],
)
def test_a_row_passes_by_its_cgroup_or_its_namespace(words: str, tids: list[int]) -> None:
    table = rows()
    table["cgroup_id"], table["pid_namespace"] = (5, 5, 6, 0), (1, 1, 7, 7)
    paths = {5: "/system.slice/ssh.service", 6: "/docker/" + "a" * 64}
    assert list(Filter.parse(words).rows(table, "last_cpu", paths)["tid"]) == tids


def test_an_empty_table_stays_empty() -> None:
    assert not len(Filter.parse("java").rows(np.zeros(0, TASK_DTYPE), "last_cpu"))
