"""What interrupts have to do with slow waits, from hand-made spans."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from schedtop.model.rows import SLOW_WAIT_DTYPE, Integers, Rows
from schedtop.model.waits import CAUSES
from schedtop.sources.interrupts.reader import InterruptReader
from schedtop.sources.interrupts.spans import SpanReader
from schedtop.sources.kernel.constants import INTERRUPTS
from schedtop.sources.scheduler.causes import assign_causes
from schedtop.sources.scheduler.interrupting import Comms, note_interrupts
from schedtop.verdict.wait import explain
from tests.unit.sources.interrupts.test_spans import Kernel

MS = 1_000_000
EVENT = np.dtype(
    [(name, "<u8") for name in ("end_ns", "wait_ns", "throttled_ns", "enqueued_ns")]
    + [("cpu", "<u2"), ("sched_ext", "<u4"), ("waker_source", "<u4"), ("waker_raiser", "<u4")]
)


@dataclass
class Reader:
    """An InterruptReader, as far as slow waits ask it."""

    spans: SpanReader

    def name(self, source: int) -> bytes:
        return b"softirq NET_RX" if source == 3 else b"irq eth0"

    def raiser(self, raiser: int, comms: Comms) -> bytes:
        return InterruptReader.raiser(cast(InterruptReader, self), raiser, comms)


def reader(*spans: dict[str, Any]) -> Any:
    kernel = Kernel()
    for span in spans:
        kernel.handle(**span)
    kernel.reader.collect()
    return Reader(kernel.reader)


def wait(**fields: Any) -> tuple[Rows, Rows]:
    """A wait of 10 ms on CPU 0 that ended at 100 ms, behind task 7 for all of it, and its event."""
    event = np.zeros(1, EVENT)
    event["end_ns"], event["wait_ns"], event["enqueued_ns"] = 100 * MS, 10 * MS, 90 * MS
    row = np.zeros(1, SLOW_WAIT_DTYPE)
    row["wait_ns"] = row["covered_ns"] = 10 * MS
    row["blocker_tid"][0, 0], row["blocker_comm"][0, 0], row["blocker_ns"][0, 0] = 7, b"hog", 10 * MS
    row["idle_cpu"] = -1
    for name, value in fields.items():
        (event if name in (event.dtype.names or ()) else row)[name] = value
    return row, event


def comms(tids: Integers) -> np.ndarray[tuple[int], np.dtype[np.bytes_]]:
    """Every task has the same name."""
    return np.full(len(tids), b"iperf")


def sum_of_parts(row: Rows) -> int:
    return int(row["blocker_ns"].sum() + row["others_ns"][0] + row["cpu_idle_ns"][0] + row["interrupted_ns"][0])


def test_time_of_interrupts_is_no_longer_the_blockers() -> None:
    row, event = wait()
    spans = ({"end_ns": 95 * MS, "ns": 2 * MS, "tid": 7}, {"end_ns": 97 * MS, "ns": MS, "source": 40, "tid": 7})
    note_interrupts(row, event, reader(*spans), comms)
    assert row["interrupted_ns"][0] == 3 * MS
    assert row["interrupt"][0].tolist() == [b"softirq NET_RX", b"irq eth0", b""]
    assert row["interrupt_ns"][0].tolist() == [2 * MS, MS, 0]
    assert row["blocker_ns"][0, 0] == 7 * MS
    assert sum_of_parts(row) == row["covered_ns"][0] == 10 * MS


def test_idle_time_and_others_become_shorter_too_and_order_is_kept() -> None:
    row, event = wait(cpu_idle_ns=2 * MS, others_ns=2 * MS)
    row["blocker_ns"][0, :2], row["blocker_tid"][0, :2] = (4 * MS, 2 * MS), (7, 8)
    spans = (
        {"end_ns": 94 * MS, "ns": MS, "tid": 0},
        {"end_ns": 95 * MS, "ns": MS, "tid": 55},
        {"end_ns": 99 * MS, "ns": 3 * MS, "tid": 7},
    )
    note_interrupts(row, event, reader(*spans), comms)
    assert (row["cpu_idle_ns"][0], row["others_ns"][0]) == (MS, MS)
    assert row["blocker_tid"][0, :2].tolist() == [8, 7]
    assert row["blocker_ns"][0, :2].tolist() == [2 * MS, MS]
    assert sum_of_parts(row) == row["covered_ns"][0] == 10 * MS


def test_interrupts_in_time_of_which_nothing_else_is_known_are_covered() -> None:
    row, event = wait(covered_ns=4 * MS)
    row["blocker_ns"][0, 0] = 4 * MS
    note_interrupts(row, event, reader({"end_ns": 92 * MS, "ns": 2 * MS, "tid": 12}), comms)
    assert row["covered_ns"][0] == 6 * MS == sum_of_parts(row)


def test_the_parts_are_never_more_than_the_wait() -> None:
    row, event = wait()
    note_interrupts(row, event, reader({"end_ns": 92 * MS, "ns": 2 * MS, "tid": 12}), comms)
    assert row["interrupted_ns"][0] == row["interrupt_ns"][0, 0] == 0, "the blocker had all of it"
    assert sum_of_parts(row) == row["covered_ns"][0] == 10 * MS


def test_few_interrupts_and_tasks_of_sched_ext_are_left_alone() -> None:
    for fields, ns in (({}, MS // 20), ({"sched_ext": 1}, 5 * MS)):
        row, event = wait(**fields)
        note_interrupts(row, event, reader({"end_ns": 95 * MS, "ns": ns, "tid": 7}), comms)
        assert not row["interrupted_ns"][0]
        assert row["blocker_ns"][0, 0] == 10 * MS


def test_most_of_a_wait_in_interrupts_is_their_cause() -> None:
    for ns, cause in ((6 * MS, "interrupts"), (4 * MS, "wakeup")):
        row, event = wait()
        note_interrupts(row, event, reader({"end_ns": 99 * MS, "ns": ns, "tid": 7}), comms)
        assign_causes(row)
        assert CAUSES[row["cause"][0]] == cause


def test_the_interrupt_that_woke_a_task_is_named() -> None:
    row, event = wait(waker_source=4)
    note_interrupts(row, event, reader(), comms)
    assert row["waker_interrupt"][0] == b"softirq NET_RX"


def test_a_wakeup_by_ksoftirqd_tells_what_raised_its_softirq() -> None:
    """By when it woke the task, and on the CPU that its name says."""
    own = {"tid": 14, "nested": INTERRUPTS.SPAN_OF_KSOFTIRQD, "cpu": 1}
    spans = ({"end_ns": 89 * MS, "ns": MS, "raiser": 55, **own}, {"end_ns": 91 * MS, "ns": 2 * MS, "raiser": 77, **own})
    for name, expected in ((b"ksoftirqd/1", b"iperf (77)"), (b"ksoftirqd/0", b""), (b"ksoftirqd/99", b"")):
        row, event = wait(waker_tid=14, waker_comm=name, woken_by=2, waker_source=4)
        note_interrupts(row, event, reader(*spans), comms)
        assert row["waker_interrupt"][0] == b"softirq NET_RX"
        assert row["waker_raiser"][0] == expected
        assert not row["interrupted_ns"][0], "it is a task, and nothing was interrupted"


def test_what_raised_a_softirq_is_named_with_it() -> None:
    by_eth0 = 40 << INTERRUPTS.SOURCE_SHIFT
    row, event = wait(waker_source=4, waker_raiser=by_eth0)
    spans = (
        {"end_ns": 93 * MS, "ns": MS, "tid": 7, "raiser": by_eth0},
        {"end_ns": 95 * MS, "ns": 2 * MS, "tid": 7, "raiser": 1234},
        {"end_ns": 97 * MS, "ns": MS, "source": 40, "tid": 7, "level": INTERRUPTS.LEVEL_HARD},
    )
    note_interrupts(row, event, reader(*spans), comms)
    assert row["waker_raiser"][0] == b"irq eth0"
    assert row["interrupt"][0, :2].tolist() == [b"softirq NET_RX", b"irq eth0"]
    assert row["interrupt_raiser"][0].tolist() == [b"iperf (1234)", b"", b""], "that of most of its time"
    words = explain(row[0])
    assert "softirq NET_RX raised by iperf (1234) for 30 %" in words
