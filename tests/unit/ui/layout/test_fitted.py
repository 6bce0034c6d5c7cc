"""A pane is no higher than its rows need, and does not follow each of them."""

from __future__ import annotations

from schedtop.panes.path.profile import ProfilePane
from schedtop.ui.layout.fitted import FRAME, STEP, Fitted


def heights(*rows: int, most: int = 1000) -> list[float | None]:
    pane = ProfilePane()
    fitted = Fitted(pane, most)
    found: list[float | None] = []
    for count in rows:
        fitted.fit(abs(count), alone=count < 0)
        bound = pane.styles.max_height
        found.append(None if bound is None else bound.value)
    return found


def test_a_pane_grows_in_steps_with_its_rows() -> None:
    assert heights(1, STEP, STEP + 1, 3 * STEP) == [STEP + FRAME, STEP + FRAME, 2 * STEP + FRAME, 3 * STEP + FRAME]


def test_a_pane_keeps_its_height_until_it_has_much_fewer_rows() -> None:
    assert heights(3 * STEP, STEP + 1, STEP) == [3 * STEP + FRAME, 3 * STEP + FRAME, STEP + FRAME]


def test_a_pane_that_is_alone_has_no_bound() -> None:
    assert heights(2, -2, 2) == [STEP + FRAME, None, STEP + FRAME]


def test_a_pane_has_no_more_lines_than_it_may() -> None:
    assert heights(50, most=13) == [13]
