"""The cells of the slow waits."""

import pytest

from schedtop.panes.scheduler.slow_waits.rows import WaitRows, columns_for
from tests.unit.verdict.frames import MS, blocked, waits


@pytest.mark.parametrize(
    ("throttled_ms", "share", "text"),
    [
        (67, 0.04, "96 % its quota +1"),  # what had the CPU after the quota came back is the smaller part
        (20, 0.7, "70 % hog (66) +1"),
        (0, 0.04, "~4 % hog (66)"),  # inferred: for how long is not known
        (0, 0.0, "its quota"),
    ],
)
def test_quota_is_what_blocks_a_throttled_wait_if_it_does_so_longest(
    throttled_ms: int, share: float, text: str
) -> None:
    rows = waits(1, "throttled", wait_ns=70 * MS, throttled_ns=throttled_ms * MS)
    rows = blocked(rows, (66, b"hog", share)) if share else rows
    (column,) = (each for each in columns_for("thread", "wait_ns") if each.header.strip() == "blocked by")
    assert [cell.strip() for cell in column.cells(WaitRows(rows, "thread", {}))] == [text]
