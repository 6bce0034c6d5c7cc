"""The keys that the benchmark presses: what it waits for must be where the screen draws it."""

from __future__ import annotations

from pathlib import Path

from tests.bench.key_latency import KEYS, WINDOW

SNAPSHOT = Path(__file__).parents[1] / "ui" / "snapshots" / "160x50" / "1-overview.txt"


def test_window_of_the_key_w_is_where_the_benchmark_waits_for_it() -> None:
    # Once the header moved by a line, and the first key got no answer.
    lines = SNAPSHOT.read_text().splitlines()
    row = next(row for row, line in enumerate(lines, 1) if "│ window 1 s" in line)
    column = lines[row - 1].index("window 1 s") + len("window ") + 1
    for first_cell_that_changes in (column, column + 1):
        assert WINDOW.search(b"\x1b[%d;%dH" % (row, first_cell_that_changes))
    assert [shown for name, _, shown in KEYS if name == "w"] == [WINDOW] * 3
