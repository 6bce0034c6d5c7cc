"""Units to text and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedtop.base import units


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("500us", 500_000),
        ("500 µs", 500_000),
        ("5ms", 5_000_000),
        ("1.5s", 1_500_000_000),
        (".5s", 500_000_000),
        ("2", 2_000_000_000),
        ("10m", 600_000_000_000),
        ("1MIN", 60_000_000_000),
        ("1h", 3_600_000_000_000),
        (" 7ns ", 7),
    ],
)
def test_durations_are_read(text: str, ns: int) -> None:
    assert units.parse_duration(text) == ns


def test_a_bare_number_has_the_unit_of_its_place() -> None:
    assert units.parse_duration("5", default_unit="ms") == 5_000_000


@pytest.mark.parametrize("text", ["", "ms", "5 parsecs", "-1s", "1e3s", "nan", "inf", "1s 2s", "."])
def test_parse_names_a_wrong_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        units.parse_duration(text)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "-"),
        (0, "0 ns"),
        (999, "999 ns"),
        (999.6, "1.00 µs"),
        (1_500, "1.50 µs"),
        (99_949, "99.9 µs"),
        (999_499, "999 µs"),
        (999_500, "1.00 ms"),
        (12_345_678, "12.3 ms"),
        (2_000_000_000, "2.00 s"),
        (1_200_000_000_000, "20 min"),
        (-1_500, "-1.50 µs"),
    ],
)
def test_durations_are_written(ns: float | None, text: str) -> None:
    assert units.format_ns(ns) == text


@given(st.integers(1, 10**12 - 10**9))
def test_a_written_duration_reads_back_within_its_three_digits(ns: int) -> None:
    assert units.parse_duration(units.format_ns(ns)) == pytest.approx(ns, rel=0.00501)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "-"),
        (0, "0ns"),
        (999.4, "999ns"),
        (999.6, "1.0µs"),
        (9_940, "9.9µs"),
        (9_960, "10µs"),
        (4_060_000, "4.1ms"),
        (999_400_000, "999ms"),
        (999_600_000, "1.0s"),
        (10**12, "17min"),
    ],
)
def test_durations_are_written_short(ns: float | None, text: str) -> None:
    assert units.format_short_ns(ns) == text
    assert len(text) <= 5


def test_a_chosen_duration_has_no_needless_zeros() -> None:
    assert [units.format_round_ns(ns) for ns in (100_000, 5_000_000, 1_500_000_000, 100_000_000)] == [
        "100 µs",
        "5 ms",
        "1.5 s",
        "100 ms",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0"),
        (3, "3"),
        (3.14, "3.1"),
        (9_999, "9999"),
        (9_999.6, "10.0k"),
        (12_345, "12.3k"),
        (999_499, "999k"),
        (999_500, "1.00M"),
        (4.56e6, "4.56M"),
        (2e12, "2T"),
        (-12_345, "-12.3k"),
    ],
)
def test_counts_are_written(value: float | None, text: str) -> None:
    assert units.format_count(value) == text


@given(st.floats(0, 9e11))
def test_a_count_takes_at_most_six_characters(value: float) -> None:
    assert len(units.format_count(value)) <= 6


@pytest.mark.parametrize(
    ("ratio", "text"), [(None, "-"), (0, "0 %"), (0.0512, "5.1 %"), (0.9999, "100 %"), (1, "100 %")]
)
def test_ratios_are_written(ratio: float | None, text: str) -> None:
    assert units.format_ratio(ratio) == text


@pytest.mark.parametrize(
    ("size", "text"), [(None, "-"), (0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (140 << 20, "140 MiB")]
)
def test_sizes_are_written(size: float | None, text: str) -> None:
    assert units.format_bytes(size) == text


def test_times_are_utc_with_microseconds() -> None:
    assert units.iso_time(1_790_000_000_123_456_789) == "2026-09-21T14:13:20.123456Z"
    assert units.iso_time(1_790_000_000_000_000_000) == "2026-09-21T14:13:20.000000Z"


def test_the_milliseconds_of_a_clock_time_are_cut_not_rounded_up() -> None:
    # A float of seconds since 1970 has no nanoseconds: it would round this up to the next second, and keep the 999 ms.
    assert units.format_clock_ms(1_790_000_039_999_999_999).endswith(":59.999")


def test_rates() -> None:
    assert units.rate(10, 2_000_000_000) == 5
    assert units.rate(None, 1) is None
    assert units.rate(10, 0) is None


@pytest.mark.parametrize(("ns", "words"), [(0, "1 s"), (1_400_000_000, "1 s"), (15_970_000_000, "16 s")])
def test_a_span_in_whole_seconds_is_the_nearest(ns: int, words: str) -> None:
    assert units.format_whole_s(ns) == words


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 waits"), (1, "1 wait"), (2, "2 waits"), (12_345, "12.3k waits"), (None, "- waits")]
)
def test_a_count_has_the_form_of_its_noun(count: int | None, words: str) -> None:
    assert units.format_counted(count, "wait") == words


def test_a_noun_may_have_a_plural_of_its_own() -> None:
    assert [units.format_counted(count, "switch", "switches") for count in (1, 3)] == ["1 switch", "3 switches"]
