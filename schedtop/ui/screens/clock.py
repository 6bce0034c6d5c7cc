"""What moves the moment that a screen shows."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """What moves the moment that is shown: see TimeKeys."""

    @property
    def stands_still(self) -> bool:
        """Whether what is shown does not follow what arrives."""

    def action_freeze(self) -> None:
        """Freezes or thaws what is shown."""

    def action_step(self, steps: int) -> None:
        """Moves the frozen moment."""
