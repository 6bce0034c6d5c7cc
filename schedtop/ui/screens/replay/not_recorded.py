"""What makes no sense for a recording."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen


class NotRecorded:
    """Keys of the dashboard that do nothing for a recording but say why."""

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen

    def action_threshold(self, direction: int) -> None:
        """Says why not."""
        self._screen.notify(
            "the threshold is the one it was recorded with: shorter waits are not in the file", timeout=4
        )

    def action_measure(self) -> None:
        """Says why not."""
        self._screen.notify("a recording runs no kernel programs: there is nothing to time", timeout=4)

    def action_interrupts(self) -> None:
        """Says why not."""
        self._screen.notify("a recording has the interrupts that were timed when it was made, or none", timeout=4)

    def action_record(self) -> None:
        """Says why not."""
        self._screen.notify("this is a recording already; e exports what is shown", timeout=4)
