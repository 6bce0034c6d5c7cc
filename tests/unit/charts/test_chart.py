"""Scales hold what they show, and names of lines never hide each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedtop.base.units import format_count
from schedtop.charts.chart import LABELS, Chart, Line, Scale, names, row_of, scale_of

VALUES = st.lists(st.one_of(st.none(), st.just(0.0), st.floats(1e-9, 1e12)), max_size=8)


def chart(*values: list[float | None], logarithmic: bool = False) -> Chart:
    lines = tuple(Line(f"l{number}", "text", one) for number, one in enumerate(values))
    return Chart("title", lines, format_count, logarithmic)


@pytest.mark.parametrize(
    ("most", "high"), [(0.0, 1.0), (1.0, 1.0), (1.01, 2.0), (2.0, 2.0), (4.9, 5.0), (5.1, 10.0), (1234.0, 2000.0)]
)
def test_a_linear_scale_ends_at_a_round_number(most: float, high: float) -> None:
    assert scale_of(chart([0.0, most])) == Scale(0.0, high, False)


def test_a_logarithmic_scale_has_whole_decades() -> None:
    scale = scale_of(chart([None, 3e4, 2e7], logarithmic=True))
    assert (scale.low, scale.high) == (1e4, 1e8)
    assert scale.ticks(9) == [1e4, 1e5, 1e6, 1e7, 1e8]
    assert scale.ticks(3) == [1e4, 1e6, 1e8]
    assert scale.share(1e6) == pytest.approx(0.5)
    assert scale.share(0.0) == 0.0


@given(VALUES, VALUES, st.booleans(), st.integers(1, 20))
def test_every_value_is_on_the_scale(one: list[float | None], other: list[float | None], log: bool, rows: int) -> None:
    made = chart(one, other, logarithmic=log)
    scale = scale_of(made)
    assert all(0 <= scale.share(value) <= 1 for value in made.known)
    assert all(0 <= row_of(scale, value, rows) < rows for value in made.known)
    assert all(0 <= scale.share(tick) <= 1 for tick in scale.ticks(rows))


@given(st.lists(st.floats(0, 10), min_size=1, max_size=5), st.integers(5, 12))
def test_every_line_has_its_name_on_a_row_of_its_own(values: list[float], rows: int) -> None:
    made = chart(*([value] for value in values))
    labels = names(made, scale_of(made), rows)
    assert [len(text) for text, _ in labels] == [LABELS] * rows
    shown = [text.split()[0] for text, _ in labels if text.strip()]
    assert sorted(shown) == sorted(line.name for line in made.lines)


def test_names_tell_the_values_of_a_column_or_the_newest() -> None:
    made = chart([1.0, 7.0, None])
    scale = scale_of(made)
    assert [text.split() for text, _ in names(made, scale, 1)] == [["l0", "7"]]
    assert [text.split() for text, _ in names(made, scale, 1, 0)] == [["l0", "1"]]
    assert [text.split() for text, _ in names(made, scale, 1, 2)] == [["l0", "-"]]
    assert names(made, scale, 1, cells=6, values=False) == [(" l0   ", "text")]
