"""What part of the History is shown: live, or frozen at a moment that one can move."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from schedtop.base.units import NS_PER_S, NS_PER_US
from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings

WINDOWS_NS: tuple[int, ...] = (NS_PER_S, 10 * NS_PER_S, 60 * NS_PER_S)

THRESHOLDS_NS: tuple[int, ...] = (
    *(digit * NS_PER_US * 10**power for power in range(2, 7) for digit in (1, 2, 5)),
    10 * NS_PER_S,
)
"""The steps of the slow-wait threshold: 100 µs to 10 s, each 1, 2 or 5 times a power of ten."""


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Settings and the moment that is shown. Live: `frozen` is None. Frozen: a copy of the History and a moment in it.

    The copy keeps the past from being dropped while one looks at it; `end_ns` is the end of the window.
    """

    settings: ViewSettings = field(default_factory=ViewSettings)
    frozen: History | None = None
    end_ns: int = 0

    @property
    def is_frozen(self) -> bool:
        """Whether the moment stands still."""
        return self.frozen is not None

    def freeze(self, live: History) -> Timeline:
        """Stands still at now. Without any Frame there is nothing to freeze."""
        return replace(self, frozen=live.copy(), end_ns=live.latest_ns) if len(live) else self

    def at(self, live: History, end_ns: int) -> Timeline:
        """Stands still at the Frame that ends then, or at the one before."""
        frozen = self if self.frozen is not None else self.freeze(live)
        return frozen if frozen.frozen is None else replace(frozen, end_ns=frozen.frozen.step(end_ns, 0))

    def thaw(self) -> Timeline:
        """Follows now again."""
        return replace(self, frozen=None, end_ns=0)

    def step(self, live: History, steps: int) -> Timeline:
        """Moves the moment by Frames, at most to the oldest one kept and to now; live: nothing happens."""
        if self.frozen is None:
            return self
        history = self.frozen
        if steps > 0 and history.step(self.end_ns, steps) >= history.latest_ns and live.latest_ns > history.latest_ns:
            # Beyond the end of the copy: what has been collected since then is the way on to now.
            history = live.copy()
        return replace(self, frozen=history, end_ns=history.step(self.end_ns, steps))

    def view(self, live: History) -> View | None:
        """The View to show, `None` while there is no Frame."""
        if self.frozen is not None:
            return self.frozen.view(self.settings, self.end_ns, live.latest_ns)
        return live.view(self.settings) if len(live) else None

    def with_settings(self, settings: ViewSettings) -> Timeline:
        """The same moment with other settings."""
        return replace(self, settings=settings)


def next_window(window_ns: int) -> int:
    """The window after this one, the first after the last."""
    return next((window for window in WINDOWS_NS if window > window_ns), WINDOWS_NS[0])


def next_threshold(threshold_ns: int, direction: int) -> int:
    """The next larger (direction 1) or smaller (-1) step; at the end of the steps the last one."""
    if direction > 0:
        return min((step for step in THRESHOLDS_NS if step > threshold_ns), default=THRESHOLDS_NS[-1])
    return max((step for step in THRESHOLDS_NS if step < threshold_ns), default=THRESHOLDS_NS[0])


def cycled(keys: list[str], current: str, step: int) -> str:
    """The key `step` places after the current one, around the end."""
    return keys[(keys.index(current) + step) % len(keys)] if current in keys else keys[0]
