"""What part of a past is shown: live, or frozen at a moment that one can move."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, Protocol, Self, TypeVar

from schedtop.base.units import NS_PER_S, NS_PER_US

Settings = TypeVar("Settings")
Seen = TypeVar("Seen")
Given = TypeVar("Given", contravariant=True)
Made = TypeVar("Made", covariant=True)

WINDOWS_NS: tuple[int, ...] = (NS_PER_S, 10 * NS_PER_S, 60 * NS_PER_S)

THRESHOLDS_NS: tuple[int, ...] = (
    *(digit * NS_PER_US * 10**power for power in range(2, 7) for digit in (1, 2, 5)),
    10 * NS_PER_S,
)
"""The steps of the slow-wait threshold: 100 µs to 10 s, each 1, 2 or 5 times a power of ten."""


class Past(Protocol[Given, Made]):
    """What was collected, interval by interval: a History, or that of another screen."""

    def __len__(self) -> int: ...

    @property
    def latest_ns(self) -> int:
        """The end of the newest interval."""
        ...

    @property
    def beginning(self) -> str:
        """Why it reaches back no further, in words."""
        ...

    def copy(self) -> Self:
        """A past that stays as this one is now."""
        ...

    def step(self, end_ns: int, steps: int) -> int:
        """The end of the interval `steps` after (or before) the one that ends at `end_ns`, within bounds."""
        ...

    def view(self, settings: Given, end_ns: int | None = None, latest_ns: int | None = None) -> Made:
        """What is to be shown of the window that ends at `end_ns` (`None`: now)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Timeline(Generic[Settings, Seen]):
    """Settings and the moment that is shown. Live: `frozen` is None. Frozen: a copy of the past and a moment in it.

    The copy keeps the past from being dropped while one looks at it; `end_ns` is the end of the window.
    """

    settings: Settings
    frozen: Past[Settings, Seen] | None = None
    end_ns: int = 0

    @property
    def is_frozen(self) -> bool:
        """Whether the moment stands still."""
        return self.frozen is not None

    def freeze(self, live: Past[Settings, Seen]) -> Self:
        """Stands still at now. Without any interval there is nothing to freeze."""
        return replace(self, frozen=live.copy(), end_ns=live.latest_ns) if len(live) else self

    def at(self, live: Past[Settings, Seen], end_ns: int) -> Self:
        """Stands still at the interval that ends then, or at the one before."""
        frozen = self if self.frozen is not None else self.freeze(live)
        return frozen if frozen.frozen is None else replace(frozen, end_ns=frozen.frozen.step(end_ns, 0))

    def thaw(self) -> Self:
        """Follows now again."""
        return replace(self, frozen=None, end_ns=0)

    def step(self, live: Past[Settings, Seen], steps: int) -> Self:
        """Moves the moment by intervals, at most to the oldest one kept and to now; live: nothing happens."""
        if self.frozen is None:
            return self
        history = self.frozen
        if steps > 0 and history.step(self.end_ns, steps) >= history.latest_ns and live.latest_ns > history.latest_ns:
            # Beyond the end of the copy: what has been collected since then is the way on to now.
            history = live.copy()
        return replace(self, frozen=history, end_ns=history.step(self.end_ns, steps))

    def view(self, live: Past[Settings, Seen]) -> Seen | None:
        """The view to show, `None` while there is no interval."""
        if self.frozen is not None:
            return self.frozen.view(self.settings, self.end_ns, live.latest_ns)
        return live.view(self.settings) if len(live) else None

    def with_settings(self, settings: Settings) -> Self:
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
