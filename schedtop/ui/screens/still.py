"""What is under a help, a verdict or a list of actions is seen around that, where it was."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen


def is_on_top(screen: Screen[Any]) -> bool:
    """Whether no other screen is over this one: then Textual paints it, and may place its parts anew.

    Else it would paint it with what is over it, all of both, each second: three times the CPU of the dashboard alone.
    What changes around a text is painted past it.
    """
    stack = screen.app.screen_stack
    return bool(stack) and stack[-1] is screen
