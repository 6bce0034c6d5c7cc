"""Grouping: every grouping keeps the totals, ids and names belong together, ten thousand tasks are no matter."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedtop.model.containers import HOST
from schedtop.model.groups import (
    FIRST_INTERRUPT_ID,
    GROUP_DTYPE,
    GROUP_PAIR_DTYPE,
    NO_CONTAINER,
    container_ids,
    group_key,
    group_members,
    group_name,
    group_pairs,
    group_tasks,
    is_by_name,
)
from schedtop.model.rows import (
    GROUPS,
    PAIR_DTYPE,
    SLOW_WAIT_DTYPE,
    TASK_DTYPE,
    Rows,
    merge_pairs,
    other_names,
)

ONE = "/system.slice/docker-" + "a" * 64 + ".scope"
CGROUPS = {1: "/", 7: "/system.slice/ssh.service", 8: ONE, 9: ONE + "/inner", 10: "/user.slice/日本語" * 6}

task = st.tuples(*(st.integers(0, most) for most in (6, 3, 12, 4)), st.integers(0, 10**12), st.integers(0, 10**12))


def tasks(made: list[tuple[int, ...]]) -> Rows:
    rows = np.zeros(len(made), TASK_DTYPE)
    for row, (tid, tgid, cgroup, namespace, delay, wait) in zip(rows, made, strict=True):
        row["tid"], row["tgid"], row["cgroup_id"], row["pid_namespace"] = tid, tgid, cgroup, namespace
        row["run_delay_ns"], row["max_wait_ns"], row["waiting_ns"] = delay, wait, wait % 2
        row["comm"] = b"task"
    return rows


@pytest.mark.parametrize("kind", GROUPS)
@given(st.lists(task, max_size=30))
def test_every_grouping_keeps_the_totals(kind: str, made: list[tuple[int, ...]]) -> None:
    rows = tasks(made)
    grouped = group_tasks(rows, kind, CGROUPS)
    assert grouped.dtype == GROUP_DTYPE
    assert grouped["tasks"].sum() == len(rows)
    for name in ("run_delay_ns", "run_ns", "migrations", "voluntary_switches"):
        assert grouped[name].sum() == rows[name].sum()
    assert grouped["max_wait_ns"].max(initial=0) == rows["max_wait_ns"].max(initial=0)
    assert grouped["waiting"].sum() == (rows["waiting_ns"] > 0).sum()
    assert len(set(grouped["id"].tolist())) == len(grouped)
    assert set(grouped["id"].tolist()) == set(group_key(rows, kind, CGROUPS).tolist())


@pytest.mark.parametrize("kind", GROUPS)
@given(st.lists(st.tuples(task, task), max_size=20))
def test_every_grouping_of_pairs_keeps_the_totals(kind: str, made: list[tuple[tuple[int, ...], ...]]) -> None:
    rows = np.zeros(len(made), PAIR_DTYPE)
    for role, index in (("victim", 0), ("other", 1)):
        people = tasks([pair[index] for pair in made])
        for field in ("tid", "tgid", "comm", "cgroup_id", "pid_namespace"):
            rows[f"{role}_{field}"] = people[field]
    rows["blocked_ns"] = np.arange(len(rows)) + 1
    rows["preempted_ns"] = 7
    grouped = group_pairs(rows, kind, CGROUPS)
    assert grouped.dtype == GROUP_PAIR_DTYPE
    assert grouped["blocked_ns"].sum() == rows["blocked_ns"].sum()
    assert grouped["preempted_ns"].sum() == 7 * len(rows)
    keys = list(zip(grouped["victim_id"].tolist(), grouped["other_id"].tolist(), strict=True))
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("kind", GROUPS)
def test_sources_of_interrupts_are_groups_of_their_own(kind: str) -> None:
    rows = np.zeros(4, PAIR_DTYPE)
    rows["victim_tid"] = rows["victim_tgid"] = rows["victim_cgroup_id"] = 7
    rows["other_comm"][0], rows["other_tid"][0], rows["other_tgid"][0] = b"hog", 9, 9
    rows["other_interrupt"] = [b"", b"softirq NET_RX", b"irq eth0", b"softirq NET_RX"]
    rows["blocked_ns"] = [1, 10, 100, 1000]
    grouped = group_pairs(rows, kind, CGROUPS)
    of_interrupts = grouped[grouped["other_id"] >= FIRST_INTERRUPT_ID]
    named = dict(zip(of_interrupts["other_name"].tolist(), of_interrupts["blocked_ns"].tolist(), strict=True))
    assert named == {b"softirq NET_RX": 1010, b"irq eth0": 100}
    assert grouped["blocked_ns"].sum() == 1111
    alone = group_pairs(rows[1:2], kind, CGROUPS)
    assert alone["other_id"][0] in grouped["other_id"], "a selected row stays the same"


def test_tasks_that_are_alike_are_added_up_by_name_and_counted() -> None:
    rows = np.zeros(6, PAIR_DTYPE)
    rows["victim_tid"], rows["victim_comm"] = [1, 2, 3, 3, 9, 9], [b"cat", b"cat", b"cat", b"cat", b"web", b"web"]
    rows["other_tid"], rows["other_comm"] = [7, 7, 7, 8, 1, 0], [b"date", b"date", b"date", b"date", b"cat", b""]
    rows["other_interrupt"][5] = b"softirq NET_RX"
    rows["blocked_ns"] = [1, 2, 4, 8, 16, 32]
    short = {role: np.isin(rows[f"{role}_comm"], [b"cat", b"date"]) for role in ("victim", "other")}
    grouped = group_pairs(rows, "thread", {}, short)
    told = {
        (row["victim_name"], int(row["victim_tasks"]), row["other_name"], int(row["other_tasks"])): int(
            row["blocked_ns"]
        )
        for row in grouped
    }
    assert told == {
        (b"cat", 3, b"date", 2): 15,
        (b"web", 0, b"cat", 1): 16,
        (b"web", 0, b"softirq NET_RX", 0): 32,
    }
    assert is_by_name(grouped["victim_id"]).tolist() == [name == b"cat" for name in grouped["victim_name"].tolist()]
    assert not group_pairs(rows, "thread", {})["victim_tasks"].any()
    assert len(group_pairs(rows, "thread", {})) == 6


def test_pairs_of_interrupts_are_merged_by_their_names() -> None:
    rows = np.zeros(3, PAIR_DTYPE)
    rows["victim_tid"], rows["waits"] = 7, 1
    rows["other_interrupt"] = [b"softirq NET_RX", b"", b"irq eth0"]
    merged = merge_pairs([rows, rows[:1]])
    assert sorted(zip(merged["other_interrupt"].tolist(), merged["waits"].tolist(), strict=True)) == [
        (b"", 1), (b"irq eth0", 1), (b"softirq NET_RX", 2),
    ]  # fmt: skip
    assert other_names(merged).tolist() == merged["other_interrupt"].tolist()


def test_names() -> None:
    rows = tasks([(1, 1, 7, 4026531836, 5, 0), (2, 1, 8, 4026531836, 6, 0), (3, 3, 9, 0, 7, 0), (4, 4, 0, 0, 8, 0)])
    rows["process"][:2] = b"main"
    assert group_name(rows, "thread", CGROUPS) == ["task"] * 4
    assert group_name(rows, "process", CGROUPS) == ["main", "main", "task", "task"]
    assert group_name(rows, "pid namespace", CGROUPS) == ["pidns 4026531836"] * 2 + ["?"] * 2
    assert group_name(rows, "cgroup", CGROUPS)[3] == "?"
    assert group_name(rows, "cgroup", {}) == ["cgroup 7", "cgroup 8", "cgroup 9", "?"]
    first, second, _inner, unknown = group_name(rows, "container", CGROUPS)
    assert (first, unknown) == (HOST, "?")
    assert second not in (HOST, "?")


def test_a_container_is_all_of_its_cgroups() -> None:
    same = {8: "/system.slice/docker-" + "b" * 64 + ".scope", 5: "/docker/" + "b" * 64}
    assert container_ids(CGROUPS)[7] == NO_CONTAINER
    assert set(group_members([NO_CONTAINER], "container", CGROUPS)) == {1, 7, 10}
    assert group_members([5], "cgroup", same) == [5]
    for cgroup, container in container_ids(same).items():
        assert cgroup in group_members([container], "container", same)


def test_long_names_are_cut_at_a_whole_character() -> None:
    rows = tasks([(1, 1, 10, 1, 5, 0)])
    (row,) = group_tasks(rows, "cgroup", CGROUPS)
    assert "�" not in row["name"].decode()


def test_slow_waits_have_groups_too() -> None:
    rows = np.zeros(2, SLOW_WAIT_DTYPE)
    rows["cgroup_id"], rows["comm"] = (7, 0), b"java"
    assert "ssh" in group_name(rows, "cgroup", CGROUPS)[0]
    assert group_name(rows, "process", CGROUPS) == ["java", "java"]
    assert group_name(rows[:0], "cgroup", CGROUPS) == []


@pytest.mark.parametrize("kind", GROUPS)
def test_ten_thousand_tasks_are_grouped_at_once(kind: str) -> None:
    rows = np.zeros(10_000, TASK_DTYPE)
    rows["tid"] = np.arange(10_000)
    rows["tgid"], rows["cgroup_id"] = rows["tid"] // 4, rows["tid"] % 300
    cgroups = {number: f"/docker/{number:064x}" for number in range(300)}
    took = []
    for _ in range(3):
        start = time.thread_time()
        group_tasks(rows, kind, cgroups)
        took.append(time.thread_time() - start)
    assert min(took) < 0.05
