"""What a pane that is not seen says in its cell of the strip: no number is cut."""

from types import SimpleNamespace
from typing import Any

import pytest

from schedtop.panes.levels import NORMAL
from schedtop.ui.layout.strip import _cell
from schedtop.widgets.strips import Span, spans_width

LONG = [("orders-api ×3", "preemption"), (" 70.7 ms", "text")]


def told(glance: list[Span], width: int) -> str:
    pane: Any = SimpleNamespace(strip_name="Blame", flag=NORMAL, glance=lambda: glance)
    line = _cell(pane, width)
    assert spans_width(line) == width and line[-1][0].endswith(" ")
    return "".join(text for text, _ in line).rstrip()


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (28, "Blame orders-api ×3 70.7 ms"),
        (26, "Blame orders-api… 70.7 ms"),
        (20, "Blame orde… 70.7 ms"),
        (18, "Blame orders-api…"),
        (4, "Bl…"),
    ],
)
def test_a_name_gives_way_to_the_number_behind_it(width: int, expected: str) -> None:
    assert told(LONG, width) == expected


def test_parts_that_have_no_room_are_left_out_whole() -> None:
    parts: list[Span] = [("p99 ", "dim"), ("4.02 ms", "strong"), (" · max 17 ms", "text")]
    assert told(parts, 30) == "Blame p99 4.02 ms · max 17 ms"
    assert told(parts, 29) == "Blame p99 4.02 ms"
    assert told([], 3) == "B…"
