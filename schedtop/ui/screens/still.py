"""What is under a help, a verdict or a list of actions stands still."""

from __future__ import annotations

from textual.screen import Screen


class StillScreen(Screen[None]):
    """A screen that is not painted while another one is over it, but seen around that, as it was.

    Textual would paint it all again, with what is over it, each second: three times the CPU of the dashboard alone.
    """

    @property
    def is_current(self) -> bool:
        """Whether it is to be painted: if it is on top."""
        stack = self.app.screen_stack
        return bool(stack) and stack[-1] is self
