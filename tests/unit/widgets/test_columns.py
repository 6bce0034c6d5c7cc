"""Columns: which fit, and the style of each cell."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.panes.levels import busy_styles, delay_styles, wait_styles
from schedtop.widgets.columns import Column, fewer_words, place, row_lines

Values = Sequence[int]

NAME: Column[Values] = Column("name", 4, lambda values: ["0"] * len(values), right=False, style="strong")
NUMBER: Column[Values] = Column("CPU", 3, lambda values: list(map(str, values)), named=True)
PLAIN: Column[Values] = Column("n", 3, lambda values: list(map(str, values)))
BLUE: Column[Values] = Column("b", 3, lambda values: list(map(str, values)), style="busy")
LEVEL: Column[Values] = Column(
    "w", 3, lambda values: list(map(str, values)), level=lambda values: ["notice" if one > 5 else "" for one in values]
)


def cells(*columns: Column[Values], values: Values) -> list[list[tuple[str, str]]]:
    width = sum(column.width + 1 for column in columns) - 1
    return [
        [(text.strip(), style) for text, style in line]
        for line in row_lines(place(columns, width), values, len(values))
    ]


def test_zeros_are_dim_each_in_its_cell() -> None:
    assert cells(PLAIN, values=[0, 7]) == [[("0", "dim")], [("7", "text")]]
    assert cells(PLAIN, BLUE, values=[0, 7]) == [[("0   0", "dim")], [("7", "text"), ("7", "busy")]]


def test_numbers_that_are_names_are_not_dim() -> None:
    assert cells(NAME, NUMBER, values=[0]) == [[("0", "strong"), ("0", "text")]]


def test_a_value_has_the_style_of_its_level() -> None:
    assert cells(LEVEL, values=[0, 5, 6]) == [[("0", "dim")], [("5", "text")], [("6", "notice")]]


def test_neighbours_of_one_style_are_one_span() -> None:
    assert [len(line) for line in row_lines(place((PLAIN, LEVEL), 8), [0, 3, 9], 3)] == [1, 1, 2]


def test_every_row_is_as_wide_as_its_columns() -> None:
    lines = row_lines(place((NAME, NUMBER, PLAIN, BLUE, LEVEL), 40), [0, 6], 2)
    assert len({sum(len(text) for text, _ in line) for line in lines}) == 1


@pytest.mark.parametrize(
    ("ns", "style"), [(0, ""), (4 * NS_PER_MS, ""), (5 * NS_PER_MS, "raised"), (NS_PER_S, "grave"), (None, "")]
)
def test_waits_are_coloured_from_the_threshold_on(ns: int | None, style: str) -> None:
    assert wait_styles([ns], 5 * NS_PER_MS) == [style]


def test_run_delay_is_coloured_by_its_share_of_the_time() -> None:
    delays = [0, 99 * NS_PER_MS, 100 * NS_PER_MS, 500 * NS_PER_MS]
    assert delay_styles(delays, NS_PER_S) == ["", "", "raised", "grave"]


def test_a_busy_cpu_is_bright_and_no_notice() -> None:
    assert busy_styles([None, 0.0, 0.049, 0.05, 0.89, 0.9]) == ["", "dim", "dim", "", "", "text"]


@pytest.mark.parametrize(
    ("width", "told"),
    [
        (25, "video (9887, fifo 50) +2"),
        (23, "video (9887) +2"),
        (15, "video (9887) +2"),
        (14, "vid… (9887) +2"),
        # No name would be left: it is cut at the end.
        (13, "video (9887, fifo 50) +2"),
    ],
)
def test_a_long_cell_keeps_the_number_of_its_task(width: int, told: str) -> None:
    assert fewer_words("video (9887, fifo 50) +2", width) == told


@pytest.mark.parametrize(
    ("text", "width", "told"),
    [
        ("100 % video (fifo 50)", 16, "100 % video"),
        ("odd (name) (12, rr 7)", 15, "odd (name) (12)"),
        ("docker 4f5ab1c09d3e", 10, "docker 4f5ab1c09d3e"),
        (" 98 % its quota +1", 17, " 98 % its quota"),
        (" 98 % its quota +1", 14, " 98 % its quota +1"),
        ("", 0, ""),
    ],
)
def test_other_long_cells(text: str, width: int, told: str) -> None:
    assert fewer_words(text, width) == told
