"""The strip of states: what a column shows, how columns are made, and that nothing is wider than it may be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedtop.base.units import NS_PER_S
from schedtop.widgets.state_strip import State, StateStrip, in_columns
from schedtop.widgets.strips import spans_width

STATES = (State("R", "running", "busy"), State("w", "waits", "preemption"), State("s", "sleeping", "dim"))
SLOT_NS = 100_000_000


def drawn(times: list[list[int]], width: int = 60, height: int = 6) -> list[str]:
    lines = StateStrip(STATES).lines(np.array(times, np.int64).reshape(-1, 3), SLOT_NS, width, height)
    assert all(spans_width(line) <= width for line in lines)
    assert len(lines) <= height
    return ["".join(text for text, _ in line) for line in lines]


def test_a_column_shows_what_took_most_of_it_and_every_share_as_a_bar() -> None:
    lines = drawn([[10, 0, 0], [1, 8, 1], [0, 2, 8], [0, 0, 0]])
    assert "Rws·" in lines[0]
    running, waits, sleeping = (line for line in lines[1:4])
    assert "▇▁" in running and running.startswith("R running")
    assert waits.rstrip().endswith("33.3 %")
    assert "▆" in sleeping
    assert lines[-1].rstrip().endswith("now")


def test_few_lines_have_a_legend_instead_of_bars() -> None:
    lines = drawn([[10, 0, 0], [0, 0, 10]], height=3)
    assert "Rs" in lines[0]
    assert "R running 50.0 %" in lines[1] and "s sleeping 50.0 %" in lines[1]
    assert drawn([[10, 0, 0]], height=4)[0].startswith("R running")


def test_unknown_states_have_no_share() -> None:
    assert all(line.rstrip().endswith("-") for line in drawn([])[1:4])


def test_times_below_it_are_round_and_right() -> None:
    axis = drawn([[1, 0, 0]] * 400, width=120)[-1]
    strip = 120 - len("sleeping   ") - 8
    column_ns = -(-400 // strip) * SLOT_NS
    start = len("sleeping   ")
    for text in [word for word in axis.split("  ") if "-" in word]:
        back_ns = float(text.strip().removeprefix("-").removesuffix(" s")) * NS_PER_S
        assert axis.index(text.strip()) == start + strip - round(back_ns / column_ns)


@given(st.integers(0, 300), st.integers(1, 80))
def test_columns_lose_nothing(slots: int, columns: int) -> None:
    times = np.arange(slots * 2, dtype=np.int64).reshape(slots, 2)
    merged, per_column = in_columns(times, columns)
    assert len(merged) <= columns
    assert merged.sum() == times.sum()
    assert len(merged) == -(-slots // per_column)


def test_columns_stay_while_slots_are_added() -> None:
    times = np.random.default_rng(1).integers(0, 9, (201, 3))
    (before, _), (after, _) = in_columns(times[:199], 50), in_columns(times, 51)
    assert (before[:48] == after[:48]).all()


@pytest.mark.parametrize("width", [0, 5, 20, 21, 25, 40])
def test_a_narrow_one_is_no_error(width: int) -> None:
    StateStrip(STATES).lines(np.ones((30, 3), np.int64), SLOT_NS, width, 6)


def test_the_same_costs_nothing() -> None:
    strip = StateStrip(STATES)
    times = np.ones((30, 3), np.int64)
    assert strip.lines(times, SLOT_NS, 60, 6) is strip.lines(times.copy(), SLOT_NS, 60, 6)
