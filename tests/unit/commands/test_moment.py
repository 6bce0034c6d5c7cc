"""Places in a recording as users name them."""

from datetime import UTC, datetime

import click
import pytest

from schedtop.cli.types import Moment

START = datetime(2026, 7, 1, 14, 3, 10, 500_000)
START_NS = int(START.timestamp() * 1000) * 1_000_000


def place(text: str, start_ns: int = START_NS) -> float:
    """Seconds after the beginning."""
    return (Moment().convert(text, None, None).time_ns(start_ns) - start_ns) / 1e9


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("2m", 120), ("0", 0), (" 1.5 ", 1.5), ("1h", 3600)])
def test_a_duration_counts_from_the_beginning(text: str, seconds: float) -> None:
    assert place(text) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"), [("14:03:12", 1.5), ("14:03:10", -0.5), ("14:03:11.25", 0.75), ("14:04", 49.5)]
)
def test_a_time_of_day_is_local(text: str, seconds: float) -> None:
    assert place(text) == seconds


def test_a_time_of_day_before_the_beginning_is_that_of_the_next_day() -> None:
    assert place("00:00:10") == pytest.approx((24 - 14) * 3600 - 190.5 + 10)


def test_a_time_with_a_date_and_a_zone() -> None:
    start_ns = int(datetime(2026, 7, 1, 12, tzinfo=UTC).timestamp()) * 10**9
    for text in ("2026-07-01T12:00:05Z", "2026-07-01T14:00:05+02:00", "12:00:05Z", "2026-07-01 12:00:05+00:00"):
        assert place(text, start_ns) == 5
    assert place("2026-07-01T14:03:12") == 1.5


@pytest.mark.parametrize("text", ["", "x", "25:00", "2026-13-01", "-5s", "14:03:99", "1" * 400, "9999999-01-01"])
def test_anything_else_is_explained(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is no moment: write 90s"):
        Moment().convert(text, None, None)
