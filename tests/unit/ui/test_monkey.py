"""A few seconds of the monkey, the same each time: what is new is looked for by `make monkey`, for minutes."""

from __future__ import annotations

import pytest

from schedtop.ui.app import SchedtopApp
from schedtop.ui.screens.text import TextScreen
from tests.monkey.__main__ import round_of
from tests.unit.ui.drive import GivenSource, collected


@pytest.mark.parametrize("seconds", [2.5, pytest.param(30, marks=pytest.mark.stress)])
@pytest.mark.parametrize("place", ["replay", "live"])
@pytest.mark.parametrize("seed", [7, 8])
async def test_random_keys_break_nothing(place: str, seed: int, seconds: float) -> None:
    print(f"seed {seed}")
    await round_of(place, seed, seconds)


async def test_a_double_click_beside_a_text_closes_only_that() -> None:
    app = SchedtopApp(source := GivenSource())
    async with app.run_test(size=(120, 40)) as pilot:
        await collected(pilot, source)
        await pilot.press("v")
        assert isinstance(app.screen, TextScreen)
        await pilot.click(offset=(0, 0), times=3)
        assert app.screen is app.dashboard
