"""The interrupts that are over: how they are taken out of rings, and what they say of a span of time."""

import numpy as np

from schedtop.model.rows import Integers, Rows
from schedtop.sources.interrupts.spans import SpanReader, SpanRing
from schedtop.sources.kernel.constants import INTERRUPTS

SPAN = np.dtype([("end_ns", "<u8"), ("ns", "<u4"), ("source_and_tid", "<u4"), ("raiser", "<u4"), ("nested", "<u4")])
LEVEL = np.dtype([("span_count", "<u8")])
PLACES = 8


class Kernel:
    """The rings of two CPUs, as the kernel side fills them."""

    def __init__(self) -> None:
        self.spans = np.zeros(2 * INTERRUPTS.LEVELS * PLACES, SPAN)
        self.levels = np.zeros(2 * INTERRUPTS.LEVELS, LEVEL)
        self.reader = SpanReader(self.spans, self.levels, PLACES)

    def handle(
        self,
        end_ns: int,
        ns: int,
        source: int = 3,
        tid: int = 0,
        cpu: int = 0,
        level: int = 0,
        raiser: int = 0,
        nested: int = 0,
    ) -> None:
        ring = cpu * INTERRUPTS.LEVELS + level
        count = int(self.levels["span_count"][ring])
        packed = source << INTERRUPTS.SOURCE_SHIFT | tid
        self.spans[ring * PLACES + count % PLACES] = (end_ns, ns, packed, raiser, nested)
        self.levels["span_count"][ring] += 1


def at(*times: int) -> Integers:
    return np.array(times)


def test_a_wait_has_the_interrupts_of_its_cpu_and_time_alone() -> None:
    kernel = Kernel()
    kernel.handle(100, 30, tid=7)
    kernel.handle(200, 40, tid=7)
    kernel.handle(220, 10, source=20, tid=7, level=INTERRUPTS.LEVEL_HARD)
    kernel.handle(230, 5, source=20, level=INTERRUPTS.LEVEL_HARD)
    kernel.handle(210, 99, cpu=1)
    kernel.reader.collect()
    assert kernel.reader.total_ns(0, at(0, 90, 150, 300), at(400, 150, 225, 400)).tolist() == [85, 30, 50, 0]
    spans = kernel.reader.during(0, 90, 400)
    assert spans.by_source() == [(3, 50), (20, 15)], "the first one began before"
    assert spans.by_tid() == {0: 5, 7: 60}


def test_what_was_overwritten_is_counted() -> None:
    kernel = Kernel()
    for number in range(5):
        kernel.handle(number, 1)
    kernel.reader.collect()
    for number in range(5, 30):
        kernel.handle(number, 1)
    kernel.reader.collect()
    assert kernel.reader.overwritten >= 30 - 5 - PLACES
    total = int(kernel.reader.total_ns(0, at(-1), at(100))[0])
    assert total == 30 - kernel.reader.overwritten


def test_what_is_written_while_it_is_copied_is_not_believed() -> None:
    ring: Rows = np.zeros(PLACES, SPAN)
    ring["end_ns"], ring["ns"] = np.arange(PLACES), 1
    span_ring = SpanRing(ring)

    def count_now() -> int:
        ring["ns"] = 1_000  # what was copied before is not changed by it
        return PLACES + 3

    span_ring.collect(PLACES, count_now)
    # Three more were written, and a fourth one may be under way.
    assert span_ring.overwritten == 4
    assert span_ring.between(at(-1), at(100))[2].tolist() == [PLACES - 4]


def test_only_the_newest_are_kept() -> None:
    kernel = Kernel()
    reader = SpanReader(kernel.spans, kernel.levels, PLACES, kept=4)
    kernel.handle(0, 1, cpu=1)
    for number in range(0, 6, 2):
        kernel.handle(number, 1)
        kernel.handle(number + 1, 1)
        reader.collect()
    kept = reader.taken(-10, 100)
    assert kept["end_ns"].tolist() == [3, 4, 5, 0], "a busy CPU does not push out those of others"
    assert reader.dropped == 3
    assert reader.total_ns(0, at(-1), at(100)).tolist() == [3]


def test_what_is_kept_stays_as_it_was_while_more_comes_and_the_oldest_go() -> None:
    """Nothing is put together anew: what is new goes behind, and what is kept is moved at times, with breaths."""
    kernel, breaths = Kernel(), []
    reader = SpanReader(kernel.spans, kernel.levels, PLACES, kept=50)
    for number in range(400):
        kernel.handle(number, number % 2)
        if number % 3 == 0:
            reader.collect(lambda: breaths.append(None))
    reader.collect()
    kept = range(350, 400)
    assert (reader.overwritten, reader.dropped, reader.dropped_until_ns) == (0, 350, 349)
    assert reader.taken(-10, 500)["end_ns"].tolist() == list(kept)
    for start, end in ((-1, 500), (349, 399), (360, 371), (399, 500)):
        assert reader.total_ns(0, at(start), at(end)).tolist() == [sum(n % 2 for n in kept if start < n <= end)]
    assert breaths


def test_those_of_ksoftirqd_take_nothing_but_tell_what_it_did() -> None:
    kernel = Kernel()
    kernel.handle(100, 30, tid=12, raiser=77, nested=INTERRUPTS.SPAN_OF_KSOFTIRQD | 10)
    kernel.handle(90, 10, source=40, tid=12, level=INTERRUPTS.LEVEL_HARD)
    kernel.reader.collect()
    assert kernel.reader.total_ns(0, at(0), at(200)).tolist() == [10]
    assert kernel.reader.during(0, 0, 200).by_source() == [(40, 10)]
    taken = kernel.reader.taken(0, 200)
    assert taken[["start_ns", "end_ns", "ns", "source", "is_soft"]].tolist() == [(80, 90, 10, 40, 0)]
    sources, raisers, _ = kernel.reader.under_way(0, INTERRUPTS.LEVEL_SOFT, at(59, 60, 100, 101))
    assert (sources.tolist(), raisers.tolist()) == ([-1, 3, 3, -1], [0, 77, 77, 0])


def test_what_was_under_way_is_what_ended_next_if_it_had_begun() -> None:
    kernel = Kernel()
    hard, soft = INTERRUPTS.LEVEL_HARD, INTERRUPTS.LEVEL_SOFT
    kernel.handle(140, 10, source=40, level=hard)  # within the softirq, which lasted from 100 to 200
    kernel.handle(200, 90, source=3, raiser=77, nested=10)
    kernel.reader.collect()
    sources, raisers, began = kernel.reader.under_way(0, soft, at(99, 101, 150, 200, 201))
    assert began[1:4].tolist() == [100, 100, 100]
    assert (sources.tolist(), raisers.tolist()) == ([-1, 3, 3, 3, -1], [0, 77, 77, 77, 0])
    assert kernel.reader.under_way(0, hard, at(129, 135, 141))[0].tolist() == [-1, 40, -1]
    assert kernel.reader.under_way(1, soft, at(150))[0].tolist() == [-1]


def test_a_task_woken_on_another_cpu_is_enqueued_after_the_softirq_and_still_finds_its_raiser() -> None:
    kernel = Kernel()
    kernel.handle(100, 40, source=3, raiser=77)
    kernel.handle(120, 10, source=1, raiser=88)
    kernel.handle(200, 40, source=3, raiser=99)
    kernel.reader.collect()
    raisers = [kernel.reader.last_raiser(0, 3, at_ns) for at_ns in (59, 60, 100, 130, 160)]
    assert raisers == [0, 77, 77, 77, 99]
    assert kernel.reader.last_raiser(0, 2, 300) == kernel.reader.last_raiser(1, 3, 300) == 0


def test_the_raiser_of_a_softirq_is_found_before_many_others() -> None:
    kernel = Kernel()
    kernel.handle(10, 5, source=3, raiser=77)
    for number in range(300):
        kernel.handle(20 + 10 * number, 5, source=1, raiser=88)
        kernel.reader.collect()
    assert [kernel.reader.last_raiser(0, softirq, 10_000) for softirq in (3, 1, 2)] == [77, 88, 0]
