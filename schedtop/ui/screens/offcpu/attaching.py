"""The keys that attach anew: for longer waits alone, with the stacks of wakers, or from the beginning."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen
from textual.timer import Timer

from schedtop.base.units import NS_PER_MS, NS_PER_S, NS_PER_US
from schedtop.offcpu.measurement import Wakers
from schedtop.offcpu.threads import Measured
from schedtop.ui.feed import ItemSource
from schedtop.ui.keys.bindings import key
from schedtop.ui.on_demand import MakeOffCpu
from schedtop.ui.screens.offcpu.feed import prepared

MINIMA_NS = (0, 10 * NS_PER_US, 100 * NS_PER_US, NS_PER_MS, 10 * NS_PER_MS, 100 * NS_PER_MS, NS_PER_S)
"""The shortest waits that + and - choose from."""

CHOOSING_S = 0.6
"""How long after + or - the programs are attached anew: one may press it more than once."""


class Attaching:
    """What is measured: waits of at least `min_ns`, and `wakers` with or without stacks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("plus,equals_sign", "minimum(1)", "Minimum up", "Leaves out shorter waits: starts over"),
        key("minus,underscore", "minimum(-1)", "Minimum down", "Down to every wait: starts over"),
        key("W", "waker_stacks", "Wakers", "Wakers with stacks, or names alone (cheaper): starts over"),
        key("x", "anew", "Reset", "Starts over: forgets what was measured", shown=True),
    ]

    def __init__(
        self,
        screen: Screen[Any],
        make_source: MakeOffCpu,
        min_ns: int,
        attach_anew: Callable[[], None],
        changed: Callable[[], None],
    ) -> None:
        """`changed` is called when another shortest wait is wanted, a while before it holds."""
        self.min_ns = min_ns
        self.wakers = Wakers.NAMES
        self._screen = screen
        self._make_source = make_source
        self._attach_anew = attach_anew
        self._changed = changed
        self._choosing: Timer | None = None

    def source(self) -> AbstractContextManager[ItemSource[Measured]]:
        """What measures that, not open yet."""
        return prepared(self._make_source(self.min_ns, self.wakers))

    def action_minimum(self, direction: int) -> None:
        """Another shortest wait. It is the kernel's to leave out the others, so measuring begins anew."""
        steps = [ns for ns in MINIMA_NS if (ns > self.min_ns if direction > 0 else ns < self.min_ns)]
        if not steps:
            self._screen.notify("every wait counts" if direction < 0 else "this is the largest", timeout=2)
            return
        self.min_ns = steps[0] if direction > 0 else steps[-1]
        if self._choosing is not None:
            self._choosing.stop()
        self._choosing = self._screen.set_timer(CHOOSING_S, self._attach_anew)
        self._changed()

    def action_waker_stacks(self) -> None:
        """Wakers with their stacks, or by name alone."""
        self.wakers = Wakers.NAMES if self.wakers is Wakers.STACKS else Wakers.STACKS
        self._attach_anew()

    def action_anew(self) -> None:
        """Begins anew."""
        self._attach_anew()
