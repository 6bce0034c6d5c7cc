"""Pairs of which interrupts had a part, from hand-made spans."""

from typing import Any

import numpy as np
import pytest

from schedtop.model.rows import PAIR_DTYPE, TASK_DTYPE, Rows
from schedtop.sources.kernel.constants import INTERRUPTS
from schedtop.sources.scheduler.interrupted_pairs import with_interrupts
from tests.unit.sources.interrupts.test_spans import Kernel

MS = 1_000_000
HOG, OTHER, VICTIM, SECOND = 7, 8, 20, 21


class Reader:
    """An InterruptReader, as far as pairs ask it."""

    def __init__(self, *spans: dict[str, Any]) -> None:
        kernel = Kernel()
        for span in spans:
            kernel.handle(**span)
        kernel.reader.collect()
        self.spans = kernel.reader

    def name(self, source: int) -> bytes:
        return {3: b"softirq NET_RX", 40: b"irq eth0"}.get(source, b"local_timer")


def pairs(*rows: tuple[int, int, int, int]) -> Rows:
    """(victim, other, waits, blocked ms) of each."""
    found = np.zeros(len(rows), PAIR_DTYPE)
    for row, (victim, other, waits, blocked_ms) in zip(found, rows, strict=True):
        row["victim_tid"], row["other_tid"], row["waits"], row["blocked_ns"] = victim, other, waits, blocked_ms * MS
        row["victim_comm"], row["other_comm"], row["preemptions"] = b"victim", b"hog", 2
    return found


def tasks(*rows: tuple[int, int, int]) -> Rows:
    """(tid, run ms, interrupted ms) of each."""
    found = np.zeros(len(rows), TASK_DTYPE)
    for row, (tid, run_ms, interrupted_ms) in zip(found, rows, strict=True):
        row["tid"], row["run_ns"], row["interrupted_ns"] = tid, run_ms * MS, interrupted_ms * MS
    return found


def shares(rows: Rows) -> list[tuple[int, int, bytes, int]]:
    return [
        (int(row["victim_tid"]), int(row["other_tid"]), bytes(row["other_interrupt"]), int(row["blocked_ns"]) // MS)
        for row in rows
    ]


def given(rows: Rows, of: Rows, reader: Reader, start_ns: int = 0, end_ns: int = 1000 * MS) -> Rows:
    return with_interrupts(rows, of, reader, start_ns, end_ns)  # type: ignore[arg-type]


def test_what_was_taken_from_a_blocker_is_shared_among_its_victims() -> None:
    reader = Reader(
        {"end_ns": 500 * MS, "ns": 30 * MS, "tid": HOG},
        {"end_ns": 600 * MS, "ns": 10 * MS, "source": 40, "tid": HOG, "level": INTERRUPTS.LEVEL_HARD},
    )
    rows = pairs((VICTIM, HOG, 5, 100), (SECOND, HOG, 3, 50), (SECOND, OTHER, 4, 10))
    found = given(rows, tasks((HOG, 200, 40), (OTHER, 100, 0)), reader)
    assert shares(found) == [
        (VICTIM, 0, b"irq eth0", 5),
        (VICTIM, 0, b"softirq NET_RX", 15),
        (VICTIM, HOG, b"", 80),
        (SECOND, 0, b"irq eth0", 2),
        (SECOND, 0, b"softirq NET_RX", 7),
        (SECOND, HOG, b"", 40),
        (SECOND, OTHER, b"", 10),
    ]
    assert found["blocked_ns"].sum() == rows["blocked_ns"].sum()
    assert found["preemptions"].sum() == rows["preemptions"].sum()
    assert found["waits"].tolist() == [5, 5, 5, 3, 3, 3, 4]
    assert set(found["victim_comm"].tolist()) == {b"victim"}
    assert rows["blocked_ns"][0] == 100 * MS, "what was handed in stays as it was"


def test_one_source_that_took_from_two_blockers_is_one_row() -> None:
    reader = Reader({"end_ns": 5, "ns": 4, "tid": HOG}, {"end_ns": 15, "ns": 4, "tid": OTHER})
    rows = pairs((VICTIM, HOG, 5, 100), (VICTIM, OTHER, 3, 50))
    found = given(rows, tasks((HOG, 100, 10), (OTHER, 100, 20)), reader)
    assert shares(found) == [(VICTIM, 0, b"softirq NET_RX", 20), (VICTIM, HOG, b"", 90), (VICTIM, OTHER, b"", 40)]
    assert found["waits"].tolist() == [5, 5, 3]


@pytest.mark.parametrize(
    ("of", "span"),
    [
        (tasks((HOG, 100, 0)), {"end_ns": 500 * MS, "ns": MS, "tid": HOG}),
        (tasks((OTHER, 100, 50)), {"end_ns": 500 * MS, "ns": MS, "tid": HOG}),
        (tasks((HOG, 100, 50)), {"end_ns": 5000 * MS, "ns": MS, "tid": HOG}),
        (tasks((HOG, 100, 50)), {"end_ns": 500 * MS, "ns": MS, "tid": HOG, "nested": INTERRUPTS.SPAN_OF_KSOFTIRQD}),
    ],
    ids=["nothing-taken", "not-counted", "of-another-interval", "ksoftirqd"],
)
def test_pairs_stay_as_they_are_where_nothing_is_known(of: Rows, span: dict[str, Any]) -> None:
    rows = pairs((VICTIM, HOG, 5, 100))
    assert given(rows, of, Reader(span)) is rows


def test_more_than_all_is_never_taken() -> None:
    reader = Reader({"end_ns": 5, "ns": 3, "tid": HOG}, {"end_ns": 9, "ns": 2, "source": 40, "tid": HOG, "level": 1})
    rows = pairs((VICTIM, HOG, 5, 100))
    found = given(rows, tasks((HOG, 100, 300)), reader)
    assert found["blocked_ns"].sum() == 100 * MS
    assert (found["blocked_ns"] >= 0).all()
    assert shares(found)[-1] == (VICTIM, HOG, b"", 0)
