"""The latency histogram: its buckets agree with their edges, and no percentile is off by more than 6 %."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedtop.histogram import BUCKETS, HIGH_NS, LOW_NS, Histogram, bucket_index

WAITS = st.lists(st.integers(64, 2**40 - 1), min_size=1, max_size=60)


def test_the_buckets_leave_no_gap_and_do_not_overlap() -> None:
    assert len(LOW_NS) == len(HIGH_NS) == BUCKETS
    assert LOW_NS[0] == 0
    assert (HIGH_NS[:-1] == LOW_NS[1:]).all()
    assert (HIGH_NS > LOW_NS).all()


def test_eight_sub_buckets_an_octave() -> None:
    inner = LOW_NS[1:-1].reshape(-1, 8)
    assert (inner[:, 0] == 2 ** np.arange(6, 40)).all()
    assert (np.diff(inner, axis=1) == inner[:, :1] // 8).all()


@given(st.integers(0, 2**50))
def test_the_index_is_that_of_the_bucket_whose_edges_hold_the_wait(ns: int) -> None:
    index = int(bucket_index(ns))
    assert LOW_NS[index] <= ns < HIGH_NS[index]


@given(st.integers(64, 2**40 - 1))
def test_the_index_is_what_shifts_in_the_kernel_compute(ns: int) -> None:
    octave = ns.bit_length() - 1
    assert bucket_index(ns) == 1 + (octave - 6) * 8 + ((ns >> (octave - 3)) & 7)


@given(WAITS, st.floats(0.01, 1))
def test_a_percentile_is_off_by_six_percent_at_most(waits: list[int], ratio: float) -> None:
    exact = sorted(waits)[max(1, int(np.ceil(ratio * len(waits) - 1e-9))) - 1]
    found = Histogram.of(waits).percentile_ns(ratio)
    assert found == pytest.approx(exact, rel=0.06, abs=1)


@given(WAITS)
def test_percentiles_rise_and_stay_below_the_longest_wait(waits: list[int]) -> None:
    histogram = Histogram.of(waits)
    found = [histogram.percentile_ns(ratio) or 0 for ratio in (0.1, 0.5, 0.9, 0.99, 0.999, 1)]
    assert found == sorted(found)
    assert found[-1] <= histogram.max_ns == max(waits)


@given(WAITS, WAITS)
def test_the_sum_is_the_histogram_of_both(one: list[int], other: list[int]) -> None:
    added, both = Histogram.of(one) + Histogram.of(other), Histogram.of(one + other)
    assert (added.counts == both.counts).all()
    assert (added.sum_ns, added.max_ns, added.count) == (both.sum_ns, both.max_ns, len(one) + len(other))


def test_nothing_has_no_percentile_and_no_mean() -> None:
    assert Histogram.empty().percentile_ns(0.5) is None
    assert Histogram.of([]).mean_ns is None


def test_the_outer_buckets_take_what_is_shorter_and_longer() -> None:
    histogram = Histogram.of([0, 63, 2**40, 2**45])
    assert histogram.counts[0] == 2
    assert histogram.counts[-1] == 2
    assert histogram.percentile_ns(1) == 2**45


def test_counts_of_32_bits_do_not_overflow_when_added() -> None:
    counts = np.zeros(BUCKETS, np.uint32)
    counts[10] = 2**32 - 1
    half = Histogram(counts, 0, 0)
    assert (half + half).count == 2**33 - 2
