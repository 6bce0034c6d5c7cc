"""A slow wait in words: each cause, each part that may be missing, and names that try something."""

from typing import Any

import numpy as np
import pytest

from schedtop.model.rows import SLOW_WAIT_DTYPE
from schedtop.model.waits import BEGINNINGS, CAUSES, DOMAINS, EVIDENCE, Distance
from schedtop.verdict.phrases import percent, task_words
from schedtop.verdict.wait import CAUSE_MEANINGS, cause_words, explain

MS = 1_000_000


def wait(kind: str = "preemption", cause: str = "", evidence: str = "", **fields: Any) -> np.void:
    """4.1 ms of `stress (4240)` on CPU 1, of which nothing else is known."""
    row = np.zeros(1, SLOW_WAIT_DTYPE)[0]
    row["tid"], row["comm"], row["wait_ns"] = 4240, b"stress", 4_100_000
    row["cpu"] = row["enqueue_cpu"] = 1
    row["idle_cpu"] = -1
    row["kind"], row["cause"] = BEGINNINGS.index(kind), CAUSES.index(cause or kind)
    row["evidence"] = EVIDENCE.index(evidence)
    for name, value in fields.items():
        row[name] = value
    return row


def blocked(row: np.void, *blockers: tuple[int, bytes, int]) -> np.void:
    for place, (tid, comm, run_ns) in enumerate(blockers):
        row["blocker_tid"][place], row["blocker_comm"][place], row["blocker_ns"][place] = tid, comm, run_ns
        row["covered_ns"] += run_ns
    return row


OTHER = {"preemptor_tid": 4241, "preemptor_comm": b"stress"}


def test_a_pinned_task_beside_an_idle_cpu() -> None:
    row = wait(cause="idle-cpu", evidence="pinned", idle_cpu=0, idle_cpu_ns=3_900_000, allowed_cpus=1, **OTHER)
    assert explain(blocked(row, (4241, b"stress", 4_100_000)), cpus=2) == (
        "stress (4240) lost CPU 1 to stress (4241) and waited 4.10 ms. "
        "CPU 0 was idle for 3.90 ms of it, but the affinity mask (1 of 2 CPUs) forbids it. "
        "Meanwhile its CPU ran stress (4241) for 100 % of the wait."
    )


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (wait(**OTHER), "stress (4240) lost CPU 1 to stress (4241) and waited 4.10 ms."),
        (wait(), "stress (4240) lost CPU 1 and waited 4.10 ms."),
        (wait("wakeup", waker_tid=9, waker_comm=b"cron"), "was woken by cron (9) and waited 4.10 ms for CPU 1."),
        (wait("wakeup", woken_by=1), "was woken by an interrupt and waited 4.10 ms for CPU 1."),
        (wait("wakeup", woken_by=2), "was woken by an interrupt (softirq) and waited 4.10 ms for CPU 1."),
        (
            wait(
                "wakeup",
                woken_by=2,
                waker_tid=14,
                waker_comm=b"ksoftirqd/0",
                waker_interrupt=b"softirq NET_RX",
                waker_raiser=b"irq eth0",
            ),
            "was woken by ksoftirqd/0 (14) in softirq NET_RX raised by irq eth0 and waited 4.10 ms for CPU 1.",
        ),
        (wait("wakeup"), "stress (4240) was woken and waited 4.10 ms for CPU 1."),
        (
            wait("fork", waker_tid=9, waker_comm=b"make"),
            "was started by make (9) and waited 4.10 ms to run for the first",
        ),
        (wait("yield"), "stress (4240) gave CPU 1 away with sched_yield and waited 4.10 ms."),
    ],
)
def test_wait_text_says_how_the_wait_began(row: np.void, expected: str) -> None:
    assert expected in explain(row)
    assert explain(row).endswith("Which task had the CPU is not known.")


def test_wait_text_reports_throttling_seen_by_the_kernel() -> None:
    assert explain(wait("throttled")) == (
        "stress (4240) was throttled on CPU 1 and waited 4.10 ms. Its cgroup had used up its CPU quota."
    )


def test_wait_text_marks_inferred_throttling_and_names_blockers() -> None:
    row = wait(cause="throttled", evidence="inferred", covered_ns=1, cpu_idle_ns=1)
    assert "had used up its CPU quota (inferred from cpu.stat)." in explain(row)
    assert "only under 1 % of the wait is known" in explain(row)


def test_wait_text_reports_steal() -> None:
    row = blocked(wait(cause="stolen", wait_ns=15 * MS, stolen_ns=12 * MS), (7, b"cc1", 15 * MS))
    assert "The hypervisor had the CPU for at least 12.0 ms of 15.0 ms." in explain(row)
    assert "ran cc1 (7) for 100 % of the wait (stolen time included)." in explain(row)


@pytest.mark.parametrize(
    ("evidence", "fields", "expected"),
    [
        ("pinned", {"allowed_cpus": 0}, "CPU 3 was idle for 4.00 ms of it, but the affinity mask forbids it."),
        ("pinned", {"allowed_cpus": 1}, "but the affinity mask (1 CPU) forbids it."),
        ("not balanced", {"allowed_cpus": 4}, "the affinity mask (4 CPUs) allows it, but the task was not moved there"),
        ("not balanced", {"idle_distance": Distance.SAME_CACHE}, "CPU 3 (same cache) was idle for 4.00 ms of it and"),
        ("not balanced", {"idle_distance": Distance.SAME_CORE}, "CPU 3 (the other thread of its core) was idle for"),
        ("", {}, "whether the task could have run there is not known."),
        ("", {"idle_cpu": -1}, "Another CPU was idle for 4.00 ms of it;"),
    ],
)
def test_an_idle_cpu_with_its_evidence(evidence: str, fields: dict[str, int], expected: str) -> None:
    row = wait("wakeup", "idle-cpu", evidence, **{"idle_cpu": 3, "idle_cpu_ns": 4 * MS, **fields})
    assert expected in explain(row)


def test_wait_text_names_all_blockers_and_its_coverage() -> None:
    row = blocked(wait(wait_ns=10 * MS), (7, b"cc1", 5 * MS), (8, b"", 1 * MS))
    row["others_ns"], row["cpu_idle_ns"] = MS // 2, MS
    row["covered_ns"] += MS + MS // 2
    assert (
        "Meanwhile its CPU ran cc1 (7) for 50 %, task 8 for 10 % and others for 5 % of the wait and was idle for 10 %; "
        "only 75 % of the wait is known." in explain(row)
    )


def test_a_cpu_that_was_idle_all_the_time() -> None:
    row = wait("wakeup", covered_ns=4_100_000, cpu_idle_ns=4_100_000)
    assert explain(row).endswith("Meanwhile its CPU was idle for 100 %.")


def test_blocker_without_a_tid_is_unknown() -> None:
    row = wait(covered_ns=4_100_000)
    row["blocker_ns"][0] = 4_100_000
    assert "idle" not in explain(row) and "task 0" not in explain(row)


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        ("", "It began to wait on CPU 0 and ran on CPU 1."),
        ("cache", "ran on CPU 1, which has another cache."),
        ("numa", "ran on CPU 1, which is in another NUMA node."),
    ],
)
def test_a_wait_that_moved_names_both_cpus(domain: str, expected: str) -> None:
    assert expected in explain(wait("wakeup", enqueue_cpu=0, domain=DOMAINS.index(domain)))


@pytest.mark.parametrize("queued", [1, -1])
def test_a_wait_that_did_not_move_names_one(queued: int) -> None:
    assert "began to wait" not in explain(wait(enqueue_cpu=queued))
    assert "lost CPU 1" in explain(wait(enqueue_cpu=queued))


def test_names_cannot_steer_the_terminal() -> None:
    row = wait(comm=b"\x1b[2Jevil", preemptor_tid=5, preemptor_comm=b"a\nb")
    row = blocked(row, (6, b"\x9b31m\xff", 4_100_000))
    assert explain(row).isprintable()
    assert "?[2Jevil (4240)" in explain(row)


def test_wait_text_does_not_guess_at_causes_of_a_later_version() -> None:
    row = wait(cause="wakeup")
    row["kind"], row["cause"], row["evidence"], row["domain"], row["enqueue_cpu"] = 99, 99, 99, 99, 0
    assert "Why is not known." in explain(row)
    assert cause_words(row) == "unknown"


def test_an_empty_row_can_be_explained() -> None:
    assert explain(np.zeros(1, SLOW_WAIT_DTYPE)[0]).startswith("idle was woken and waited 0 ns")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (wait(), "preemption"),
        (wait("wakeup"), "wakeup"),
        (wait("yield"), "yield"),
        (wait("throttled"), "throttled"),
        (wait(cause="throttled", evidence="inferred"), "throttled?"),
        (wait(cause="stolen"), "stolen"),
        (wait(cause="idle-cpu", evidence="pinned"), "idle CPU, pinned"),
        (wait(cause="idle-cpu", evidence="not balanced"), "idle CPU, allowed"),
        (wait(cause="idle-cpu", evidence="not balanced", idle_distance=Distance.SAME_CORE), "idle, same core"),
        (wait(cause="idle-cpu", evidence="not balanced", idle_distance=Distance.SAME_CACHE), "idle, same cache"),
        (wait(cause="idle-cpu", evidence="not balanced", idle_distance=Distance.OTHER_CACHE), "idle, other cache"),
        (wait(cause="idle-cpu", evidence="not balanced", idle_distance=Distance.OTHER_NODE), "idle, other node"),
        (wait(cause="idle-cpu", evidence="pinned", idle_distance=Distance.OTHER_NODE), "idle CPU, pinned"),
        (wait(cause="idle-cpu"), "idle CPU"),
        (wait(evidence="sched_ext"), "preemption, ext"),
    ],
)
def test_the_cause_fits_a_cell(row: np.void, words: str) -> None:
    assert cause_words(row) == words
    assert len(words) <= 18


def test_every_cause_has_a_meaning() -> None:
    assert set(CAUSE_MEANINGS) == set(CAUSES)


def test_tasks_and_shares_in_words() -> None:
    assert [task_words(1, b"init"), task_words(2, b""), task_words(0, b"swapper")] == ["init (1)", "task 2", "idle"]
    assert [percent(ratio) for ratio in (0, 0.001, 0.126, 1.2, -1)] == ["0 %", "under 1 %", "13 %", "100 %", "0 %"]


def test_a_wait_in_a_queue_of_sched_ext_has_no_blocker() -> None:
    assert "so no task is blamed" in explain(wait(evidence="sched_ext"))


@pytest.mark.parametrize(
    ("own_ms", "other_ms", "words"),
    [
        (3, 100, "Its time slice is 3 ms, that of hog (66) 100 ms."),
        (100, 3, "Its time slice is 100 ms, that of hog (66) 3 ms: when woken, the task with the shorter one may take"),
        (3, 5, ""),
        (0, 100, ""),
        (3, 0, ""),
    ],
)
def test_slices_of_another_length_are_told(own_ms: int, other_ms: int, words: str) -> None:
    row = blocked(wait(slice_ns=own_ms * MS), (66, b"hog", 5 * MS), (67, b"cc1", 2 * MS))
    row["blocker_slice_ns"][0] = other_ms * MS
    assert words in explain(row, kernel="6.18.44-amd64")
    assert ("time slice" in explain(row)) == bool(words)


@pytest.mark.parametrize("kernel", ["6.12.117+deb13-amd64", "7.3.4", ""])
def test_which_slice_is_first_is_said_only_where_it_was_measured(kernel: str) -> None:
    row = blocked(wait(slice_ns=100 * MS), (66, b"hog", 5 * MS))
    row["blocker_slice_ns"][0] = 3 * MS
    assert "Its time slice is 100 ms, that of hog (66) 3 ms" in explain(row, kernel=kernel)
    assert "at once" not in explain(row, kernel=kernel)
