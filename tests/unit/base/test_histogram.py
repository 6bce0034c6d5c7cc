"""The latency histogram: edges, merging, and how far off a percentile can be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedtop.base.histogram import (
    BUCKETS,
    FIRST_OCTAVE,
    HIGH_NS,
    LAST_OCTAVE,
    LOW_NS,
    SUB_BITS,
    Histogram,
    bucket_index,
)
from schedtop.sources.kernel.constants import header_constants

PROMISED_ERROR = 0.06
WAITS = st.lists(st.integers(100, 1_000 * 10**9), min_size=1, max_size=200)
RATIOS = st.sampled_from([0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0])


def exact_percentile(waits: list[int], ratio: float) -> int:
    """Nearest rank, from the waits themselves."""
    rank = max(1, int(np.ceil(ratio * len(waits) - 1e-9)))
    return sorted(waits)[rank - 1]


def test_the_buckets_cover_everything_without_gaps() -> None:
    assert len(LOW_NS) == len(HIGH_NS) == BUCKETS
    assert LOW_NS[0] == 0
    assert np.array_equal(HIGH_NS[:-1], LOW_NS[1:])
    assert (HIGH_NS > LOW_NS).all()


def test_the_buckets_reach_from_100_ns_to_1000_s_with_8_an_octave() -> None:
    inner = slice(1, BUCKETS - 1)
    assert LOW_NS[1] <= 100
    assert LOW_NS[-1] >= 1_000 * 10**9
    assert ((HIGH_NS[inner] - LOW_NS[inner]) * 8 <= LOW_NS[inner]).all()


@given(st.integers(0, 2**41))
def test_a_wait_lies_between_the_edges_of_its_bucket(ns: int) -> None:
    index = int(bucket_index(ns))
    assert LOW_NS[index] <= ns < HIGH_NS[index]


@given(st.integers(0, 2**41))
def test_the_index_is_the_one_that_the_kernel_side_computes(ns: int) -> None:
    # The same arithmetic as bpf/histogram.h: octave by the highest bit, sub-bucket by the next three.
    if ns < 64:
        expected = 0
    elif ns >= 2**40:
        expected = BUCKETS - 1
    else:
        octave = ns.bit_length() - 1
        expected = 1 + (octave - 6) * 8 + ((ns >> (octave - 3)) & 7)
    assert int(bucket_index(ns)) == expected


def test_c_and_python_agree_on_the_limits() -> None:
    constants = header_constants("histogram.h")
    names = ("SUB_BITS", "FIRST_OCTAVE", "LAST_OCTAVE", "LATENCY_BUCKETS")
    assert [constants[name] for name in names] == [SUB_BITS, FIRST_OCTAVE, LAST_OCTAVE, BUCKETS]


@given(WAITS, RATIOS)
def test_a_percentile_is_off_by_six_percent_at_most(waits: list[int], ratio: float) -> None:
    exact = exact_percentile(waits, ratio)
    assert Histogram.of(waits).percentile_ns(ratio) == pytest.approx(exact, rel=PROMISED_ERROR)


@pytest.mark.parametrize("index", range(1, BUCKETS - 1))
def test_edges_of_a_bucket_are_within_the_promise(index: int) -> None:
    # The second wait is longer, so that the longest one does not help.
    for wait in (int(LOW_NS[index]), int(HIGH_NS[index]) - 1):
        assert Histogram.of([wait, 10 * wait]).percentile_ns(0.5) == pytest.approx(wait, rel=PROMISED_ERROR)


@given(WAITS)
def test_a_percentile_never_exceeds_the_longest_wait(waits: list[int]) -> None:
    histogram = Histogram.of(waits)
    assert histogram.max_ns == max(waits)
    assert (histogram.percentile_ns(1.0) or 0) <= max(waits)


@given(WAITS, WAITS, WAITS)
def test_adding_is_the_same_as_counting_together(one: list[int], two: list[int], three: list[int]) -> None:
    together = Histogram.of(one + two + three)
    for added in (
        (Histogram.of(one) + Histogram.of(two)) + Histogram.of(three),
        Histogram.of(one) + (Histogram.of(two) + Histogram.of(three)),
    ):
        assert np.array_equal(added.counts, together.counts)
        assert (added.sum_ns, added.max_ns, added.count) == (together.sum_ns, together.max_ns, together.count)


def test_adding_narrow_counters_does_not_overflow() -> None:
    full = Histogram(np.full(BUCKETS, 2**32 - 1, np.uint32), 1, 1)
    assert (full + full).count == 2 * BUCKETS * (2**32 - 1)


def test_an_empty_histogram_has_no_percentile() -> None:
    empty = Histogram.empty()
    assert (empty.count, empty.percentile_ns(0.5), empty.mean_ns) == (0, None, None)
    assert Histogram.of([]).count == 0


def test_the_mean_is_exact() -> None:
    assert Histogram.of([100, 200, 600]).mean_ns == 300


def test_waits_beyond_the_range_are_kept() -> None:
    day = 86_400 * 10**9
    assert Histogram.of([5]).percentile_ns(0.5) == 5
    assert Histogram.of([day]).percentile_ns(0.5) == day
