"""Readings of interrupts and their differences, on hand-made structs."""

from dataclasses import replace

import numpy as np

from schedtop.model.interrupts import RAISED_DTYPE, SourceName
from schedtop.model.rows import Rows
from schedtop.sources.interrupts.programs import FEWEST_SPANS, MOST_SPANS, source_count, span_places
from schedtop.sources.interrupts.reader import Interrupted, InterruptReading, difference
from schedtop.sources.kernel.constants import INTERRUPTS

HANDLED = np.dtype([("count", "<u8"), ("total_ns", "<u8"), ("max_epoch", "2<u8"), ("max_ns", "2<u8")])
LEVEL = np.dtype([("unmatched", "<u8"), ("unattributed_ns", "<u8")])
NAMES = {1: SourceName("softirq", "NET_RX"), 3: SourceName("hardirq", "eth0")}


def rows() -> Rows:
    """Two CPUs and four sources."""
    return np.zeros((2, 4), HANDLED)


def handle(table: Rows, cpu: int, source: int, ns: int, epoch: int, times: int = 1) -> None:
    """What the kernel side does at the end of an interrupt."""
    row = table[cpu, source]
    row["count"] += times
    row["total_ns"] += ns * times
    if row["max_epoch"][epoch & 1] != epoch:
        row["max_epoch"][epoch & 1], row["max_ns"][epoch & 1] = epoch, 0
    row["max_ns"][epoch & 1] = max(row["max_ns"][epoch & 1], ns)


def reading(table: Rows, epoch: int, unmatched: int = 0) -> InterruptReading:
    levels = np.zeros(4, LEVEL)
    levels["unmatched"] = [0, unmatched, 0, 1]
    return InterruptReading(table.copy(), levels, NAMES, epoch)


def test_a_table_is_what_came_between() -> None:
    counters = rows()
    handle(counters, 0, 1, 900, epoch=4, times=5)
    earlier = reading(counters, 4)
    handle(counters, 0, 1, 30, epoch=5, times=10)
    handle(counters, 0, 1, 70, epoch=5)
    handle(counters, 1, 3, 50, epoch=5)
    handle(counters, 1, 3, 99, epoch=6)  # of the interval that has begun
    table = difference(earlier, reading(counters, 5, unmatched=2))
    assert table is not None
    assert table.sources == (NAMES[1], NAMES[3])
    assert table.counts.tolist() == [[11, 0], [0, 2]]
    assert table.total_ns.tolist() == [[370, 0], [0, 149]]
    assert table.max_ns[0].tolist() == [70, 0]
    assert 75 <= table.max_ns[1, 1] <= 149, "what is counted twice is at least the mean"
    assert (table.unmatched, table.unattributed_ns) == (2, 0)


def test_raisers_are_those_of_the_interval_that_ends_by_the_tables_sources() -> None:
    counters = rows()
    earlier = reading(counters, 4)
    handle(counters, 1, 1, 50, epoch=5)
    handle(counters, 1, 3, 50, epoch=5)
    raised = np.zeros(3, RAISED_DTYPE)
    raised["source"], raised["tid"], raised["count"] = [1, 1, 2], [7, 0, 9], [3, 4, 5]
    raised["by"][1] = b"irq eth0"
    later = replace(reading(counters, 5), raised=raised).named(lambda tids: np.array([b"task%d" % tid for tid in tids]))
    table = difference(earlier, later)
    assert table is not None
    assert table.raised[["source", "tid", "by"]].tolist() == [(0, 7, b"task7"), (0, 0, b"irq eth0")], "2 had none"


def test_there_is_no_table_without_two_readings() -> None:
    counters = rows()
    handle(counters, 0, 1, 900, epoch=1)
    assert difference(None, reading(counters, 1)) is None
    assert difference(reading(counters, 1), None) is None
    assert difference(reading(counters, 1), reading(rows(), 2)) is None, "attached anew"
    table = difference(reading(counters, 1), reading(counters, 2))
    assert table is not None and table.sources == () and table.counts.shape == (2, 0)


def test_tasks_get_what_was_taken_from_them() -> None:
    taken = Interrupted(np.array([4, 9]), np.array([40, 90]))
    assert taken.of(np.array([9, 1, 4, 12])).tolist() == [90, 0, 40, 0]
    assert Interrupted(np.zeros(0, int), np.zeros(0, int)).of(np.array([9])).tolist() == [0]


def test_sizes_follow_the_host() -> None:
    assert source_count(40) > INTERRUPTS.FIRST_IRQ + 40
    assert source_count(100_000) == INTERRUPTS.MOST_SOURCES
    assert (span_places(2, 16), span_places(4096, 16)) == (MOST_SPANS, FEWEST_SPANS)
    places = span_places(64, 16)
    assert places & (places - 1) == 0
