"""Samples of run queues between two Readings, on hand-made kernel structs."""

import numpy as np

from schedtop.model.queue_lengths import MOST_QUEUED
from schedtop.model.rows import Rows
from schedtop.sources.scheduler.reading import difference
from tests.unit.sources.scheduler.test_reading import CPU_STATE, MS, reading, stat

SLOTS = MOST_QUEUED + 1
QUEUE = np.dtype(
    [
        *((name, "<u8") for name in ("samples", "idle", "failed")),
        *((name, "<u8", (2,)) for name in ("sum", "longest_epoch")),
        ("longest", "<u8", (4,)),
        ("counts", "<u4", (2 * SLOTS,)),
    ]
)
SECOND = 1000 * MS
BOTH = (0, 1)


def queues() -> Rows:
    return np.zeros(2, QUEUE)


def sample(rows: Rows, cpu: int, whole: int, fair: int, times: int = 1, epoch: int = 1) -> None:
    """What the kernel side does at a sample."""
    row = rows[cpu]
    row["samples"] += times
    row["longest_epoch"][epoch & 1] = epoch
    for kind, length in enumerate((whole, fair)):
        row["sum"][kind] += times * length
        row["counts"][kind * SLOTS + min(length, MOST_QUEUED)] += times
        place = (epoch & 1) * 2 + kind
        row["longest"][place] = max(row["longest"][place], length)


def test_samples_are_differences_by_cpu_and_kind() -> None:
    earlier = queues()
    sample(earlier, 0, 5, 5, times=3, epoch=0)
    later = earlier.copy()
    sample(later, 0, 2, 1, times=60)
    sample(later, 1, 0, 0, times=99)
    sample(later, 0, 3, 3, times=39)
    table = difference(
        reading(0, queues=earlier, sampled_cpus=BOTH), reading(SECOND, queues=later, sampled_cpus=BOTH)
    ).queue
    assert table is not None
    assert table.samples.tolist() == table.expected.tolist() == [99, 99]
    assert table.counts.shape == (2, 2, 4), "no wider than the longest queue"
    assert table.lengths("all", [0]).counts.tolist() == [0, 0, 60, 39]
    assert table.lengths("fair", [0]).counts.tolist() == [0, 60, 0, 39]
    assert table.lengths("all").counts.tolist() == [99, 0, 60, 39]
    assert table.sums.tolist() == [[60 * 2 + 39 * 3, 0], [60 + 39 * 3, 0]]
    assert table.longest.tolist() == [[3, 0], [3, 0]]


def test_queues_beyond_the_last_slot_keep_their_sum_and_the_longest() -> None:
    later = queues()
    sample(later, 0, 700, 2)
    sample(later, 0, 600, 2)
    table = difference(reading(0, queues=queues(), sampled_cpus=BOTH), reading(SECOND, queues=later)).queue
    assert table is not None
    assert table.lengths("all", [0]).percentile(0.5) == MOST_QUEUED
    assert table.longest[:, 0].tolist() == [700, 2]
    assert table.sums[0, 0] == 1300


def test_the_longest_is_that_of_the_interval() -> None:
    earlier = queues()
    sample(earlier, 0, 900, 0, epoch=0)
    later = earlier.copy()
    sample(later, 0, 4, 0)
    table = difference(reading(0, queues=earlier, sampled_cpus=BOTH), reading(SECOND, queues=later)).queue
    assert table is not None
    assert table.longest[0, 0] == 4


def test_interval_without_samples_has_no_queue() -> None:
    assert difference(reading(0), reading(SECOND)).queue is None
    assert difference(reading(0), reading(SECOND, queues=queues(), sampled_cpus=BOTH)).queue is None
    ended = difference(reading(0, queues=queues(), sampled_cpus=BOTH), reading(SECOND, queues=queues()))
    assert ended.queue is not None, "sampled until now"


def test_missing_samples_are_counted_but_not_those_that_an_idle_cpu_slept_through() -> None:
    earlier, later = queues(), queues()
    sample(later, 0, 1, 1, times=90)
    sample(later, 1, 1, 1, times=40)
    sample(later, 1, 0, 0, times=9)
    later["idle"][1] = 9
    cpus = [np.zeros(2, CPU_STATE), np.zeros(2, CPU_STATE)]
    cpus[1]["idle_ns"][1] = SECOND // 2
    table = difference(
        reading(0, queues=earlier, sampled_cpus=BOTH, cpus=cpus[0]), reading(SECOND, queues=later, cpus=cpus[1])
    ).queue
    assert table is not None
    assert table.expected.tolist() == [99, 99]
    assert table.slept.tolist() == [0, 40], "idle for 49 samples, of which 9 were taken"
    assert table.samples.tolist() == [90, 89]
    assert table.lengths("all", [1]).counts.tolist() == [49, 40]
    assert table.missed() == 19


def test_a_cpu_that_went_offline_expects_nothing() -> None:
    online = stat(0, 0, 0, 0, online=(True, False))
    later = reading(SECOND, queues=queues(), stat=online)
    table = difference(reading(0, queues=queues(), sampled_cpus=BOTH, stat=online), later).queue
    assert table is not None
    assert table.expected.tolist() == [99, 0]


def test_a_cpu_that_is_not_sampled_expects_nothing() -> None:
    table = difference(reading(0, queues=queues(), sampled_cpus=(1,)), reading(SECOND, queues=queues())).queue
    assert table is not None
    assert table.expected.tolist() == [0, 99]
    assert table.lengths("all", [0]).mean is None
