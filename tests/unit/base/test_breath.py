"""Breaths: when a thread gives the CPU away."""

from types import SimpleNamespace

import pytest

from schedtop.base import breath
from schedtop.base.breath import SLEEP_S, STRETCH_S, Breath


def test_breaths_are_taken_between_items_that_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [10.0]
    done: list[float | str] = []
    monkeypatch.setattr(breath, "time", SimpleNamespace(monotonic=lambda: now_s[0], sleep=done.append))
    one = Breath()
    one.begin()
    for item, takes_s in one.between([("a", 0), ("b", 2 * STRETCH_S), ("c", 0), ("d", STRETCH_S / 2)]):
        done.append(item)
        now_s[0] += takes_s
    assert done == ["a", "b", SLEEP_S, "c", "d"]
