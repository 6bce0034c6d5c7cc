"""Panes with little to show leave lines to others, and take them back at once."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

from schedtop.ui.layout.heights import KEPT, STEP, WantedHeights

LIVE: Any = SimpleNamespace(frozen=False, later=(), host=SimpleNamespace(recorded_source=""))
FROZEN: Any = SimpleNamespace(frozen=True, later=(), host=SimpleNamespace(recorded_source=""))


@dataclass
class Table:
    """What a pane tells of its height."""

    wanted_lines: int | None
    id: str = "tasks"
    hidden: bool = False


def test_heights_grow_at_once_and_shrink_when_nothing_filled_them_for_a_while() -> None:
    heights, table = WantedHeights(), Table(30)
    panes = cast(Any, [table])
    assert heights.take(panes, LIVE) == {"tasks": 32}
    table.wanted_lines = 6
    taken = [heights.take(panes, LIVE)["tasks"] for _ in range(KEPT)]
    assert taken == [32] * (KEPT - 1) + [2 * STEP]
    table.wanted_lines = 50
    assert heights.take(panes, LIVE) == {"tasks": 52}


def test_heights_never_shrink_while_one_moves_through_time() -> None:
    heights, table = WantedHeights(), Table(30)
    panes = cast(Any, [table])
    heights.take(panes, LIVE)
    table.wanted_lines = 6
    assert {heights.take(panes, FROZEN)["tasks"] for _ in range(2 * KEPT)} == {32}
    table.wanted_lines = 41
    assert heights.take(panes, FROZEN) == {"tasks": 44}


def test_a_pane_that_can_fill_any_height_or_is_not_seen_says_nothing() -> None:
    heights = WantedHeights()
    assert heights.take(cast(Any, [Table(None), Table(7, hidden=True)]), LIVE) == {}
