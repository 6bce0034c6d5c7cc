"""A few seconds of the monkey (`make monkey` plays for minutes): one seed is always the same, one is new each time."""

from __future__ import annotations

import random

import pytest

from schedtop.ui.app import SchedtopApp
from schedtop.ui.text_screen import TextScreen

from ..monkey.__main__ import round_of
from .drive import GivenSource, collected


@pytest.mark.parametrize("place", ["replay", "live"])
@pytest.mark.parametrize("seed", [7, random.SystemRandom().randrange(10**6)], ids=["fixed", "random"])
async def test_whatever_is_pressed_nothing_breaks(place: str, seed: int) -> None:
    print(f"seed {seed}")
    await round_of(place, seed, 2.5)


async def test_a_double_click_beside_a_text_closes_only_that() -> None:
    app = SchedtopApp(source := GivenSource())
    async with app.run_test(size=(120, 40)) as pilot:
        await collected(pilot, source)
        await pilot.press("v")
        assert isinstance(app.screen, TextScreen)
        await pilot.click(offset=(0, 0), times=3)
        assert app.screen is app.dashboard
