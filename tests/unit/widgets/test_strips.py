"""Text of an exact width, whatever characters it has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from schedtop.model.rows import text
from schedtop.widgets.bars import bars, tall_bars
from schedtop.widgets.columns import Column, place, row_lines
from schedtop.widgets.strips import clip, fit, side_by_side, spans_width, steady, strip_of, whole_parts, wrapped

HOSTILE = [
    "日本語のタスク名",
    "e\u0301e\u0301e\u0301",
    "👩‍👩‍👧‍👦 family",
    "🇩🇪🇫🇷 flags",
    "👍🏽 thumb",
    "❤️ heart",
    "\x1b[31mred\x1b[0m",
    "a\tb\nc\rd",
    "[bold]markup[/bold]",
    "\u202eright to left",
    "\u200bzero\u200dwidth",
    "ｆｕｌｌ",
]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("width", range(0, 12))
def test_fit_is_exact(name: str, width: int) -> None:
    shown = steady(text(name.encode()))
    assert cell_len(fit(shown, width)) == width
    assert cell_len(fit(shown, width, right=True)) == width


@given(st.binary(max_size=16), st.integers(0, 20))
def test_any_kernel_name_fits(name: bytes, width: int) -> None:
    shown = steady(text(name))
    assert all(char.isprintable() for char in shown)
    assert all(cell_len(char) for char in shown), "marks without a width join with their neighbours"
    assert cell_len(fit(shown, width)) == width


def test_steady_takes_what_terminals_disagree_on() -> None:
    assert steady("e\u0301") == "é"
    assert steady("🇩🇪") == "??"
    assert steady("👍🏽") == "👍?"
    assert steady("\x1b[31m") == "?[31m"
    assert steady("plain") == "plain"


def test_clip_ends_with_an_ellipsis() -> None:
    assert clip("containerd", 6) == "conta…"
    assert clip("containerd", 10) == "containerd"
    assert clip("日本語", 4) == "日…"


@given(st.lists(st.tuples(st.text(max_size=6), st.just("text")), max_size=6), st.integers(0, 12))
def test_strip_has_its_width(spans: list[tuple[str, str]], width: int) -> None:
    spans = [(steady(part), style) for part, style in spans]
    strip = strip_of(spans, width, lambda _name: Style())
    assert strip.cell_length == width == cell_len(strip.text)


def test_whole_parts_leaves_out_what_does_not_fit() -> None:
    parts = [[("first", "text")], [("much too long", "text")], [("end", "text")]]
    line = whole_parts(parts, 11, (" | ", "dim"))
    assert "".join(text for text, _ in line) == "first | end"
    assert spans_width(line) <= 11


def test_wrapped_breaks_at_spaces() -> None:
    assert wrapped("one two three", 8) == ["one two", "three"]


def test_columns_drop_by_rank_and_fill_the_width() -> None:
    columns: list[Column[list[str]]] = [
        Column("name", 5, lambda rows: rows, right=False, grow=3),
        Column("extra", 5, lambda rows: rows, rank=2),
        Column("value", 5, lambda rows: rows),
    ]
    assert [column.header for column, _ in place(columns, 17)] == ["name", "extra", "value"]
    assert [column.header for column, _ in place(columns, 16)] == ["name", "value"]
    assert {column.header: width for column, width in place(columns, 14, air_most=0)} == {"name": 8, "value": 5}
    for width in range(11, 60):
        placed = place(columns, width)
        (line,) = row_lines(placed, ["日本語"], 1)
        assert spans_width(line) <= width + 1


def test_bars() -> None:
    assert bars(np.array([0.0, 0.01, 0.5, 1.0, 2.0, np.nan])) == " ▁▄▇▇·"
    assert tall_bars(np.array([0.0, 0.5, 0.75, 1.0, np.nan]), 2) == ["  ▄█ ", " ███·"]
    assert tall_bars(np.array([0.5, np.nan]), 1) == ["▄·"]


@pytest.mark.parametrize(("rows_left", "rows_right"), [(3, 1), (1, 3), (0, 2), (2, 2)])
def test_blocks_side_by_side_begin_at_their_columns(rows_left: int, rows_right: int) -> None:
    left = [[("名前" * row, "text")] for row in range(rows_left)]
    right = [[(f"right {row}", "dim")] for row in range(rows_right)]
    joined = side_by_side(left, right, 6, 2)
    assert len(joined) == max(rows_left, rows_right)
    for row, line in enumerate(joined):
        assert spans_width(line) == 8 + (len("right 0") if row < rows_right else 0)
        assert row >= rows_right or line[-1] == right[row][0]
