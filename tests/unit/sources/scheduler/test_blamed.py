"""Slow waits and pairs from hand-made kernel structs, and the names of the tasks in them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedtop.model.rows import Rows
from schedtop.model.waits import BEGINNINGS, Evidence, WokenBy
from schedtop.sources.kernel.constants import header_constants
from schedtop.sources.scheduler import blamed
from schedtop.sources.scheduler.blamed import in_order, pair_rows, slow_wait_rows
from schedtop.sources.scheduler.names import TaskNames
from schedtop.sources.scheduler.process_names import ProcessNames

SEEN = 8
TREATED = [("sched_class", "u1"), ("policy", "u1"), ("priority", "<u2"), ("nice", "<i2")]
SLOT = np.dtype(
    [
        *(("tid", "<u4"), ("tgid", "<u4"), ("comm", "S16"), ("cgroup_id", "<u8")),
        *(("pid_namespace", "<u4"), ("pad", "<u4"), *TREATED, ("reserved", "<u2")),
    ]
)
PAIR = np.dtype(
    [("victim_tid", "<u4"), ("other_tid", "<u4")]
    + [(name, "<u4", (2,)) for name in ("epoch", "preemptions", "waits")]
    + [(name, "<u8", (2,)) for name in ("preempted_ns", "blocked_ns")]
)
EVENT = np.dtype(
    [
        (name, "<u8")
        for name in (
            "end_ns",
            "wait_ns",
            "cgroup_id",
            "stolen_ns",
            "throttled_ns",
            "covered_ns",
            "cpu_idle_ns",
            "others_ns",
            "dl_runtime_ns",
            "dl_period_ns",
            "dl_missed_ns",
        )
    ]
    + TREATED
    + [("over_runtime", "<u2")]
    + [(name, "<u4") for name in ("tid", "tgid", "kind", "yielded", "pid_namespace", "allowed_cpus", "switches")]
    + [("woken_by", "<u4"), ("sched_ext", "<u4")]
    + [(f"{who}_tid", "<u4") for who in ("preemptor", "previous", "waker")]
    + [(f"{who}comm", "S16") for who in ("", "preemptor_", "previous_", "waker_")]
    + [("queue_known", "<u4"), ("queue_length", "<u4", (2,))]
    + [("cpu", "<u2"), ("enqueue_cpu", "<u2"), ("blocker_ns", "<u8", (SEEN,)), ("blocker_tid", "<u4", (SEEN,))]
)


def names(tmp_path: Path, *tids: int, overflow: tuple[int, ...] = ()) -> TaskNames:
    """Tasks named after their tid, led by the next lower multiple of ten, in a table of 16 slots."""

    def fill(row: Any, tid: int) -> None:
        row["tid"], row["tgid"], row["comm"] = tid, tid // 10 * 10, b"t%d" % tid
        row["cgroup_id"], row["pid_namespace"] = 1000 + tid, 4

    slots, others = np.zeros(16, SLOT), np.zeros(len(overflow), SLOT)
    for tid in tids:
        fill(slots[tid % 16], tid)
    for index, tid in enumerate(overflow):
        fill(others[index], tid)
    return TaskNames(slots, others, ProcessNames(tmp_path))


def test_people_are_found_in_the_table_in_the_overflow_and_in_proc(tmp_path: Path) -> None:
    (tmp_path / "55").mkdir()
    (tmp_path / "55" / "comm").write_text("gone\n")
    found = names(tmp_path, 40, 41, overflow=(60, 57)).find(np.array([41, 57, 55, 56, 0, 40], np.uint32))
    assert found["comm"].tolist() == [b"t41", b"t57", b"gone", b"", b"", b"t40"]
    assert found["process"].tolist() == [b"t40", b"", b"", b"", b"", b"t40"]
    assert found["tgid"].tolist() == [40, 50, 0, 0, 0, 40]
    assert found["cgroup_id"].tolist() == [1041, 1057, 0, 0, 0, 1040]


def test_lookup_of_no_tasks_is_empty(tmp_path: Path) -> None:
    assert len(names(tmp_path).find(np.zeros(0, np.uint32))) == 0


def event(**fields: Any) -> Rows:
    row = np.zeros(1, EVENT)
    for name, value in fields.items():
        row[name] = value
    return row


def test_slow_waits_get_wall_clock_time_and_are_in_order(tmp_path: Path) -> None:
    events = np.concatenate([event(end_ns=90, tid=1, kind=1, comm=b"late"), event(end_ns=70, tid=2, yielded=1, kind=1)])
    rows = slow_wait_rows(in_order(events), 1000, names(tmp_path))
    assert rows["tid"].tolist() == [2, 1]
    assert rows["time_ns"].tolist() == [1070, 1090]
    assert [BEGINNINGS[kind] for kind in rows["kind"]] == ["yield", "preemption"]
    assert rows["comm"][1] == b"late"


def test_an_unknown_queue_is_not_an_empty_one(tmp_path: Path) -> None:
    events = np.concatenate([event(), event(queue_known=1), event(queue_known=1, queue_length=[[3, 2]])])
    rows = slow_wait_rows(events, 0, names(tmp_path))
    assert rows["queue_length"].tolist() == [-1, 0, 3]
    assert rows["fair_queue_length"].tolist() == [-1, 0, 2]


def test_the_longest_blockers_are_kept_with_their_names_and_the_others_added_up(tmp_path: Path) -> None:
    times = [5, 50, 0, 20, 7, 30, 0, 0]
    events = event(others_ns=3, blocker_ns=[times], blocker_tid=[[40, 41, 0, 42, 43, 44, 0, 0]])
    row = slow_wait_rows(events, 0, names(tmp_path, 40, 41, 42, 43, 44))[0]
    assert row["blocker_ns"].tolist() == [50, 30, 20, 7]
    assert row["blocker_tid"].tolist() == [41, 44, 42, 43]
    assert row["blocker_comm"].tolist() == [b"t41", b"t44", b"t42", b"t43"]
    assert row["others_ns"] == 8


def pair(victim: int, other: int, epoch: int, blocked_ns: int) -> Rows:
    row = np.zeros(1, PAIR)
    row["victim_tid"], row["other_tid"] = victim, other
    row["epoch"][0, epoch & 1] = epoch
    row["blocked_ns"][0] = [blocked_ns, blocked_ns + 1]
    row["waits"][0] = [3, 4]
    return row


def test_pairs_are_those_of_the_interval_alone(tmp_path: Path) -> None:
    pairs = np.concatenate([pair(41, 40, 7, 10), pair(40, 41, 7, 20), pair(42, 41, 5, 90), pair(42, 40, 6, 90)])
    rows, small_ns = pair_rows(pairs, 7, names(tmp_path, 40, 41, 42))
    assert rows["victim_comm"].tolist() == [b"t40", b"t41"]
    assert rows["other_tgid"].tolist() == [40, 40]
    assert (rows["blocked_ns"].tolist(), rows["waits"].tolist(), small_ns) == ([21, 11], [4, 4], 0)
    assert len(pair_rows(pairs[:0], 7, names(tmp_path))[0]) == 0


def test_pairs_that_are_all_of_another_interval_are_none(tmp_path: Path) -> None:
    """The kernel side drops old pairs for new ones: one that was noted may have a new place, in the next interval."""
    rows, small_ns = pair_rows(np.concatenate([pair(41, 40, 8, 10), pair(42, 41, 6, 90)]), 7, names(tmp_path, 40, 41))
    assert (len(rows), small_ns) == (0, 0)


def test_blame_adds_up_the_lightest_of_many_pairs(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(blamed, "MOST_PAIRS", 2)
    pairs = np.concatenate([pair(1, other, 8, 10 * other) for other in (2, 3, 4, 5)])
    rows, small_ns = pair_rows(pairs, 8, names(tmp_path))
    assert rows["other_tid"].tolist() == [4, 5]
    assert small_ns == 50


def test_each_kind_of_the_kernel_side_has_its_word(tmp_path: Path) -> None:
    kinds = ["WAIT_WAKEUP", "WAIT_PREEMPTION", "WAIT_FORK", "WAIT_THROTTLED"]
    in_c = header_constants("scheduler/maps.h")
    events = np.concatenate([event(kind=in_c[kind]) for kind in kinds])
    rows = slow_wait_rows(events, 0, names(tmp_path))
    assert [BEGINNINGS[kind] for kind in rows["kind"]] == ["wakeup", "preemption", "fork", "throttled"]


@pytest.mark.parametrize(
    ("woken_by", "comm", "named"),
    [
        (WokenBy.TASK, b"postgres", 41),
        (WokenBy.INTERRUPT, b"", 0),
        (WokenBy.SOFTIRQ, b"postgres", 0),
        (WokenBy.SOFTIRQ, b"ksoftirqd/1", 41),
    ],
)
def test_an_interrupted_task_is_no_waker(tmp_path: Path, woken_by: WokenBy, comm: bytes, named: int) -> None:
    events = event(woken_by=woken_by, waker_tid=41 if comm else 0, waker_comm=comm)
    row = slow_wait_rows(events, 0, names(tmp_path))[0]
    assert (row["waker_tid"], row["waker_comm"], row["woken_by"]) == (named, comm if named else b"", woken_by)


def test_a_task_of_sched_ext_has_its_evidence(tmp_path: Path) -> None:
    rows = [slow_wait_rows(event(sched_ext=ext), 0, names(tmp_path))[0] for ext in (0, 1)]
    assert [row["evidence"] for row in rows] == [Evidence.NONE, Evidence.SCHED_EXT]
