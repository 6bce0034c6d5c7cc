"""Class, policy, priority and nice of tasks: in words, as JSON, as weights, in filters, and in the kernel's numbers."""

from __future__ import annotations

import numpy as np
import pytest

from schedtop.model.encoded_rows import decode_rows, encode_rows
from schedtop.model.filters import Filter
from schedtop.model.groups import group_pairs
from schedtop.model.rows import PAIR_DTYPE, SLOW_WAIT_DTYPE, TASK_DTYPE
from schedtop.model.sched_class import (
    POLICIES,
    SCHED_CLASSES,
    UNKNOWN_TREATMENT,
    Policy,
    SchedClass,
    Treatment,
    class_words,
    is_ordinary,
    treatment,
    treatments,
)
from schedtop.sources.kernel.constants import SCHEDULER

FAIR, RT, DEADLINE = SchedClass.FAIR, SchedClass.RT, SchedClass.DEADLINE

TOLD = {
    Treatment(FAIR, Policy.OTHER): ("", 1024),
    Treatment(FAIR, Policy.OTHER, nice=19): ("nice 19", 15),
    Treatment(FAIR, Policy.OTHER, nice=-20): ("nice -20", 88761),
    Treatment(FAIR, Policy.BATCH, nice=5): ("batch nice 5", 335),
    Treatment(FAIR, Policy.IDLE, nice=7): ("idle", 3),
    Treatment(RT, Policy.FIFO, 50): ("fifo 50", None),
    Treatment(RT, Policy.RR, 1): ("rr 1", None),
    Treatment(RT, Policy.UNKNOWN, 9): ("rt 9", None),
    Treatment(RT, Policy.OTHER, 9): ("rt 9", None),  # lifted by a lock
    Treatment(DEADLINE, Policy.DEADLINE): ("deadline", None),
    Treatment(SchedClass.STOP, Policy.FIFO, 99): ("stop", None),
    Treatment(SchedClass.EXT, Policy.OTHER, nice=3): ("ext nice 3", None),
    UNKNOWN_TREATMENT: ("", None),
}


def test_words_are_those_of_the_kernel_side() -> None:
    for words, prefix in ((SCHED_CLASSES, "CLASS"), (POLICIES, "POLICY")):
        assert SCHEDULER.names(prefix) == ("unknown", *words[1:])


@pytest.mark.parametrize(("told", "expected"), TOLD.items())
def test_treatment_in_words_and_weight(told: Treatment, expected: tuple[str, int | None]) -> None:
    assert (told.words, told.weight) == expected
    assert class_words(told.as_json()) == told.words


def test_json_has_null_where_it_does_not_apply() -> None:
    assert UNKNOWN_TREATMENT.as_json() == dict.fromkeys(("sched_class", "policy", "priority", "nice", "weight"))
    assert Treatment(RT, Policy.FIFO, 50).as_json() == {
        "sched_class": "rt", "policy": "fifo", "priority": 50, "nice": None, "weight": None,
    }  # fmt: skip
    assert Treatment(FAIR, Policy.OTHER).as_json()["nice"] == 0


def tasks(*told: Treatment) -> np.ndarray:
    rows = np.zeros(len(told), TASK_DTYPE)
    rows["tid"] = 1 + np.arange(len(told))
    for place, each in enumerate(told):
        for name in ("sched_class", "policy", "priority", "nice"):
            rows[name][place] = getattr(each, name)
    return rows


def test_rows_hold_it_and_recordings_keep_it() -> None:
    rows = tasks(*TOLD)
    assert treatments(rows) == [*TOLD]
    assert [treatment(row) for row in decode_rows(encode_rows(rows), TASK_DTYPE)] == [*TOLD]


def test_an_old_recording_tells_no_class() -> None:
    old = decode_rows({"rows": 1, "tid": [7]}, TASK_DTYPE)
    assert treatment(old[0]) == UNKNOWN_TREATMENT
    assert is_ordinary(old)


@pytest.mark.parametrize(("name", "value"), [("sched_class", 6), ("policy", 9), ("nice", 300), ("priority", -1)])
def test_what_cannot_be_is_refused(name: str, value: int) -> None:
    with pytest.raises((ValueError, OverflowError)):
        decode_rows({"rows": 1, name: [value]}, TASK_DTYPE)


def test_blockers_of_a_wait_are_told_one_by_one() -> None:
    rows = np.zeros(1, SLOW_WAIT_DTYPE)
    rows["blocker_sched_class"][0, 1], rows["blocker_policy"][0, 1], rows["blocker_priority"][0, 1] = RT, Policy.RR, 3
    again = decode_rows(encode_rows(rows), SLOW_WAIT_DTYPE)
    assert treatment(again[0], "blocker_", 0) == UNKNOWN_TREATMENT
    assert treatment(again[0], "blocker_", 1) == Treatment(RT, Policy.RR, 3)


def test_ordinary_tasks_need_no_column() -> None:
    assert is_ordinary(tasks(Treatment(FAIR, Policy.OTHER), UNKNOWN_TREATMENT))
    for told in TOLD:
        assert is_ordinary(tasks(told)) == (told.words == "")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("class:rt", [6, 7, 8, 9]),
        ("class:fifo", [6, 11]),
        ("class=Batch,deadline", [4, 10]),
        ("class:idle", [5]),
        ("class:fair", [1, 2, 3, 4, 5]),
        ("class:ext", [12]),
        ("class:rt tid:7", [7]),
    ],
)
def test_filter_asks_for_a_class_or_a_policy(words: str, expected: list[int]) -> None:
    chosen = Filter.parse(words)
    assert chosen.rows(tasks(*TOLD), "")["tid"].tolist() == expected
    assert chosen.names_tasks
    assert Filter.parse(str(chosen)) == chosen


def test_filter_refuses_what_is_no_class() -> None:
    with pytest.raises(ValueError, match="class:realtime is no scheduling class or policy: other fifo"):
        Filter.parse("class:realtime")


def test_groups_of_pairs_tell_what_their_tasks_have_in_common() -> None:
    rows = np.zeros(3, PAIR_DTYPE)
    rows["victim_tgid"], rows["other_tgid"], rows["blocked_ns"] = 1, 2, 5
    rows["victim_tid"], rows["other_tid"] = (10, 11, 12), 20
    rows["other_sched_class"], rows["other_policy"], rows["other_priority"] = RT, Policy.FIFO, 50
    rows["victim_sched_class"], rows["victim_policy"], rows["victim_nice"] = FAIR, Policy.OTHER, (0, 5, 5)
    (by_process,) = group_pairs(rows, "process", {})
    assert treatment(by_process, "other_").words == "fifo 50"
    assert treatment(by_process, "victim_") == UNKNOWN_TREATMENT or not treatment(by_process, "victim_").nice
    assert [treatment(row, "victim_").words for row in group_pairs(rows, "thread", {})] == ["", "nice 5", "nice 5"]
