"""Steps of a frame: in order, replaced by newer ones, and behind keys."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import pytest

from schedtop.base import breath
from schedtop.ui.slices import Slices


class Keys:
    """Keys as the steps see them: one that has come, and one that has not had its effect."""

    def __init__(self) -> None:
        self.has_input = False
        self.is_settled = True

    def wait(self, of_any: bool) -> bool:
        return self.has_input or (of_any and not self.is_settled)


def slices(keys: Keys) -> Slices:
    return Slices(keys.wait, lambda step: step())


def noting(done: list[str], *names: str) -> list[Callable[[], object]]:
    return [partial(done.append, name) for name in names]


def test_steps_are_done_in_their_order() -> None:
    done: list[str] = []
    slices(Keys()).run(noting(done, "view", "header", "pane"))
    assert done == ["view", "header", "pane"]


def test_steps_given_within_a_step_replace_those_that_are_left() -> None:
    done: list[str] = []
    some = slices(Keys())
    some.run([lambda: some.run(noting(done, "new")), *noting(done, "old")])
    assert done == ["new"]


async def test_a_key_goes_before_the_steps_that_are_left() -> None:
    done: list[str] = []
    keys = Keys()
    some = slices(keys)

    def pressed() -> None:
        keys.has_input, keys.is_settled = True, False

    some.run([*noting(done, "first"), pressed, *noting(done, "second")])
    assert done == ["first"]
    keys.has_input = False
    await asyncio.sleep(0.02)
    assert done == ["first"]
    done.append("key")
    keys.is_settled = True
    while len(done) < 3:
        await asyncio.sleep(0.002)
    assert done == ["first", "key", "second"]


async def test_steps_go_on_though_keys_never_settle() -> None:
    done: list[str] = []
    keys = Keys()
    keys.has_input = True
    slices(keys).run(noting(done, "first", "second"))
    while len(done) < 2:
        await asyncio.sleep(0.01)


async def test_what_a_key_draws_replaces_what_it_interrupted() -> None:
    done: list[str] = []
    keys = Keys()
    keys.has_input = True
    some = slices(keys)
    some.run(noting(done, "before", "dropped"))
    keys.has_input = False
    some.run(noting(done, "after"))
    await asyncio.sleep(0.05)
    assert done == ["before", "after"]


def test_what_was_done_before_the_steps_counts_as_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop was woken by a Frame, which took a while: the CPU is given away after the first step."""
    now_s, sleeps = [10.0], []
    monkeypatch.setattr(breath, "time", SimpleNamespace(monotonic=lambda: now_s[0], sleep=sleeps.append))
    monkeypatch.setattr(breath, "is_alone", lambda: False)
    some = slices(Keys())
    some.begin()
    now_s[0] += 2 * breath.STRETCH_S
    some.run([int, int])
    assert sleeps == [breath.SLEEP_S]
