"""Units to text and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedtop import units


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("500us", 500_000),
        ("500µs", 500_000),
        ("5 ms", 5_000_000),
        ("1.5s", 1_500_000_000),
        (".5", 500_000_000),
        ("2", 2_000_000_000),
        ("10m", 600_000_000_000),
        ("1H", 3_600_000_000_000),
        ("7ns", 7),
    ],
)
def test_durations_are_read_with_their_unit(text: str, ns: int) -> None:
    assert units.parse_duration(text) == ns


def test_a_bare_number_is_in_the_unit_of_the_option() -> None:
    assert units.parse_duration("3", "ms") == 3_000_000


@pytest.mark.parametrize("text", ["", "ms", "-5ms", "5 parsecs", "1e3s", "5ms5", "nan", "1,5s"])
def test_what_is_no_duration_is_refused_with_the_text_itself(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration") as caught:
        units.parse_duration(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "-"),
        (0, "0 ns"),
        (999, "999 ns"),
        (999.6, "1.00 µs"),
        (1_234, "1.23 µs"),
        (12_345_678, "12.3 ms"),
        (999_500_000, "1.00 s"),
        (123_400_000_000, "123 s"),
        (1_200_000_000_000, "20 min"),
        (-5_000_000, "-5.00 ms"),
    ],
)
def test_durations_have_three_digits(ns: float | None, text: str) -> None:
    assert units.format_ns(ns) == text


@pytest.mark.parametrize(("ns", "text"), [(5_000_000, "5 ms"), (1_500_000_000, "1.5 s"), (100_000, "100 µs")])
def test_chosen_durations_have_no_needless_zeros(ns: int, text: str) -> None:
    assert units.format_round_ns(ns) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0, "0"), (9.94, "9.9"), (842, "842"), (9_999, "9999"), (12_345, "12.3k"), (4_560_000, "4.56M")],
)
def test_counts_fit_in_five_characters(value: float | None, text: str) -> None:
    assert units.format_count(value) == text


@given(st.floats(min_value=0, max_value=9.9e14))
def test_no_count_is_wider_than_five_characters(value: float) -> None:
    assert len(units.format_count(value)) <= 5


@given(st.floats(min_value=1, max_value=59e9))
def test_a_shown_duration_reads_back_within_half_a_percent(ns: float) -> None:
    assert units.parse_duration(units.format_ns(ns)) == pytest.approx(ns, rel=0.006, abs=0.51)


@pytest.mark.parametrize(
    ("ratio", "text"), [(None, "-"), (0.0, "0 %"), (0.0512, "5.1 %"), (0.9996, "100 %"), (1.0, "100 %")]
)
def test_ratios_are_shown_as_percent(ratio: float | None, text: str) -> None:
    assert units.format_ratio(ratio) == text


def test_sizes_are_in_binary_units() -> None:
    assert [units.format_bytes(size) for size in (None, 0, 1024, 140 << 20)] == ["-", "0 B", "1 KiB", "140 MiB"]


def test_times_are_iso_8601_in_utc_and_keep_their_microseconds() -> None:
    assert units.iso_time(1_790_000_000_123_456_789) == "2026-09-21T14:13:20.123456Z"
    assert units.iso_time(0) == "1970-01-01T00:00:00.000000Z"


def test_a_rate_needs_a_count_and_time() -> None:
    assert units.rate(10, 500_000_000) == 20
    assert units.rate(None, 500_000_000) is None
    assert units.rate(10, 0) is None
