"""What plotext draws, as lines of the cells and styles that were asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from schedtop.base.ascii import to_ascii
from schedtop.base.units import format_count
from schedtop.charts.chart import MARGIN, Chart, Line, scale_of
from schedtop.charts.drawing import canvas, plain


def drawn(*lines: Line, columns: int = 30, rows: int = 9) -> list[list[tuple[str, str]]]:
    chart = Chart("title", lines, format_count, least_high=10.0)
    return canvas(chart, scale_of(chart), columns, rows)


@pytest.mark.parametrize("columns", [1, 2, 3, 30, 200])
@pytest.mark.parametrize("rows", [1, 2, 5, 40])
def test_lines_are_as_many_and_as_wide_as_asked(columns: int, rows: int) -> None:
    lines = plain(drawn(Line("one", "busy", [5.0] * columns), columns=columns, rows=rows))
    assert len(lines) == rows
    assert {len(line) for line in lines} == {MARGIN + max(columns, 2)}


def test_the_scale_is_beside_the_lines() -> None:
    lines = plain(drawn(Line("one", "busy", [0.0, 10.0])))
    assert lines[0].startswith("    10┤") and lines[4].startswith("     5┤") and lines[8].startswith("     0┤")


def test_every_value_is_in_its_column_and_in_its_style() -> None:
    peak = [0.0] * 30
    peak[12] = 10.0
    rows = drawn(Line("one", "steal", peak))
    assert plain(rows)[0][MARGIN:].strip() != "" and plain(rows)[0][MARGIN + 12] != " "
    assert {style for text, style in rows[0] if text.strip()} == {"head", "steal"}


def test_nothing_is_drawn_across_what_is_not_known() -> None:
    values: list[float | None] = [10.0] * 5 + [None] * 20 + [10.0] * 5
    top = plain(drawn(Line("one", "busy", values)))[0][MARGIN:]
    assert top[:5].strip() and top[-5:].strip() and not top[6:24].strip()


def test_a_filled_line_is_an_area_and_another_one_lies_over_it() -> None:
    rows = drawn(Line("before", "dim", [8.0] * 30, filled=True), Line("after", "strong", [4.0] * 30))
    text = "\n".join(plain(rows))
    assert text.count("░") > 100
    assert {"dim", "strong"} <= {style for row in rows for _, style in row}


def test_a_chart_is_readable_in_ascii() -> None:
    lines = plain(drawn(Line("one", "busy", [float(value % 11) for value in range(30)])))
    assert to_ascii("\n".join(lines)).isascii() and "?" not in to_ascii("\n".join(lines))


def test_plotext_is_imported_when_something_is_drawn() -> None:
    words = (
        "import sys; import schedtop.ui.screens.dashboard.screen, schedtop.run.headless, schedtop.commands.report; "
        "import schedtop.commands.diff; print('plotext' in sys.modules); from schedtop.charts.drawing import plotext; "
        "plotext(); print('plotext' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
