"""The cause of a slow wait from its evidence, on hand-made rows."""

from typing import Any

import numpy as np
import pytest

from schedtop.model.containers import is_within
from schedtop.model.host import Topology
from schedtop.model.rows import SLOW_WAIT_DTYPE, THROTTLING_DTYPE, Rows
from schedtop.model.waits import BEGINNINGS, CAUSES, DOMAINS, EVIDENCE
from schedtop.sources.scheduler.causes import (
    assign_causes,
    infer_throttled,
    note_domains,
    stolen_at_least,
)

MS = 1_000_000


def wait(began: str = "preemption", **fields: Any) -> Rows:
    """A wait of 10 ms on CPU 1."""
    row = np.zeros(1, SLOW_WAIT_DTYPE)
    row["wait_ns"], row["cpu"], row["enqueue_cpu"], row["tid"], row["idle_cpu"] = 10 * MS, 1, 1, 77, -1
    row["kind"] = BEGINNINGS.index(began)
    for name, value in fields.items():
        row[name] = value
    return row


def cause(row: Rows, throttled: bool | None = None) -> tuple[str, str]:
    assign_causes(row, None if throttled is None else np.array([throttled]))
    return CAUSES[row["cause"][0]], EVIDENCE[row["evidence"][0]]


@pytest.mark.parametrize("began", ["wakeup", "preemption", "yield"])
def test_cause_without_other_evidence_is_the_kind_of_wait(began: str) -> None:
    assert cause(wait(began)) == (began, "")


def test_causes_exclude_each_other_in_their_order() -> None:
    idle = {"idle_cpu": 0, "idle_cpu_ns": 6 * MS, "evidence": EVIDENCE.index("pinned")}
    assert cause(wait(**idle)) == ("idle-cpu", "pinned")
    assert cause(wait(stolen_ns=5 * MS, **idle)) == ("stolen", "")
    assert cause(wait("throttled", stolen_ns=5 * MS, **idle)) == ("throttled", "")
    assert cause(wait(stolen_ns=9 * MS, **idle), throttled=True) == ("throttled", "inferred")
    assert cause(wait(**idle), throttled=False) == ("idle-cpu", "pinned")


@pytest.mark.parametrize("began", ["wakeup", "preemption", "throttled"])
def test_a_wait_is_throttled_if_its_quota_took_most_of_it(began: str) -> None:
    idle = {"idle_cpu": 0, "idle_cpu_ns": 9 * MS, "evidence": EVIDENCE.index("not balanced")}
    assert cause(wait(began, throttled_ns=5 * MS, **idle)) == ("throttled", "")
    assert cause(wait(began, throttled_ns=5 * MS - 1, **idle)) == ("idle-cpu", "not balanced")


def test_a_wait_that_queued_for_longer_than_its_quota_took_is_queueing() -> None:
    assert cause(wait("throttled", throttled_ns=5 * MS - 1)) == ("preemption", "")


def test_less_than_half_of_a_wait_is_no_cause() -> None:
    assert cause(wait(idle_cpu=0, idle_cpu_ns=5 * MS - 1, evidence=2)) == ("preemption", "")
    assert cause(wait(stolen_ns=5 * MS - 1)) == ("preemption", "")


def test_stolen_time_is_at_least_what_the_rest_leaves() -> None:
    rows = np.concatenate([wait(wait_ns=900 * MS), wait(wait_ns=100 * MS), wait(wait_ns=3000 * MS, cpu=0)])
    assert stolen_at_least(rows, np.array([2000 * MS, 500 * MS]), 1000 * MS).tolist() == [390 * MS, 0, 1990 * MS]


def throttling(**groups: int) -> Rows:
    rows = np.zeros(len(groups), THROTTLING_DTYPE)
    rows["cgroup_id"] = [int(name.removeprefix("g")) for name in groups]
    rows["throttled_ns"] = list(groups.values())
    return rows


PATHS = {1: "/", 2: "/a", 3: "/a/b", 4: "/ab"}


def test_a_group_above_throttles_too_but_not_one_of_a_similar_name() -> None:
    idle = {"cpu_idle_ns": 6 * MS}
    rows = [wait(cgroup_id=3, **idle), wait(cgroup_id=4, **idle), wait(cgroup_id=99, **idle)]
    rows = np.concatenate([*rows, wait("wakeup", cgroup_id=3, **idle), wait("yield", cgroup_id=3, **idle)])
    assert infer_throttled(rows, throttling(g2=6 * MS), PATHS).tolist() == [True, False, False, True, False]
    assert infer_throttled(rows, throttling(g2=4 * MS), PATHS).tolist() == [False] * 5


def test_what_the_kernel_told_is_not_inferred() -> None:
    row = wait(cgroup_id=3, cpu_idle_ns=6 * MS, throttled_ns=4 * MS)
    assert infer_throttled(row, throttling(g2=9 * MS), PATHS).tolist() == [False]


def test_a_wait_that_others_explain_was_not_throttled() -> None:
    row = wait(cgroup_id=3, others_ns=6 * MS, cpu_idle_ns=4 * MS)
    assert infer_throttled(row, throttling(g2=9 * MS), PATHS).tolist() == [False]


def test_within_is_the_group_or_below() -> None:
    assert is_within("/a/b", "/a")
    assert is_within("/a", "/a")
    assert is_within("/a", "/")
    assert not is_within("/ab", "/a")
    assert not is_within("", "/")


def test_a_wait_that_moved_says_what_it_crossed() -> None:
    rows = np.concatenate([wait(), wait(enqueue_cpu=0), wait(enqueue_cpu=2), wait(enqueue_cpu=2, cpu=2)])
    note_domains(rows, Topology(caches=(0, 1, 2), nodes=(0, 0, 1)))
    assert [DOMAINS[value] for value in rows["domain"]] == ["", "cache", "numa", ""]
    note_domains(rows[:1], None)


@pytest.mark.parametrize("began", ["wakeup", "preemption", "fork"])
def test_a_task_of_sched_ext_has_no_cpu_to_be_stolen_from(began: str) -> None:
    row = wait(began, evidence=EVIDENCE.index("sched_ext"))
    assert stolen_at_least(row, np.array([0, 10**9]), 10 * MS) == 0
    assert cause(row) == (began, "sched_ext")
