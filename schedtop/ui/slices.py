"""Work in steps, with a breath between them in which others get the CPU, and in which keys are seen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from schedtop.base.breath import Breath

Step = Callable[[], object]

LOOK_S = 0.005
MOST_LOOKS = 20
"""How often, and how many times at most, it is looked whether a key has had its effect: then the steps go on anyway."""


class Slices:
    """Steps one after the other. Steps that are given later replace those that are left of the ones before."""

    def __init__(self, keys_wait: Callable[[bool], bool], later: Callable[[Step], object]) -> None:
        """`keys_wait`: whether a key has come that nobody has seen; given true, also whether one has not had all its
        effect. `later`: has a step done behind what waits already."""
        self._keys_wait = keys_wait
        self._later = later
        self._steps: Iterator[Step] = iter(())
        self._looks = 0
        self._breath = Breath()

    def run(self, steps: Iterable[Step]) -> None:
        """Does these steps, at once as far as no key comes between."""
        self._steps, self._looks = iter(steps), 0
        self._go_on(self._steps)

    def begin(self) -> None:
        """The event loop has just been woken: a stretch begins."""
        self._breath.begin()

    def breathe(self) -> None:
        """Gives the CPU away if it was kept for a while. Within a step: where its first half is done."""
        self._breath.take()

    def _go_on(self, steps: Iterator[Step]) -> None:
        # A step may have begun others in their place.
        while steps is self._steps and (step := next(steps, None)) is not None:
            step()
            if self._keys_wait(False):
                self._wait(steps)
                return
            self.breathe()

    def _wait(self, steps: Iterator[Step]) -> None:
        """Goes on when the key has had its effect."""
        self._looks += 1
        asyncio.get_running_loop().call_later(LOOK_S, self._later, partial(self._look, steps))

    def _look(self, steps: Iterator[Step]) -> None:
        if steps is not self._steps:
            return
        self.begin()
        if self._looks < MOST_LOOKS and self._keys_wait(True):
            self._wait(steps)
        else:
            self._looks = 0
            self._go_on(steps)
