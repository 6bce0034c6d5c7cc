"""Puts a command into the clipboard of the terminal."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen

from schedtop.widgets.strips import steady

SECONDS = 4
"""So long it is said."""


def copy_command(screen: Screen[Any], command: str) -> None:
    """By OSC 52, which most terminals know, some only if they are told to (docs/terminal.md): it is not answered."""
    if not command:
        screen.notify("the verdict has no command to be typed", severity="warning", timeout=SECONDS)
        return
    screen.app.copy_to_clipboard(steady(command))
    screen.notify(f"Copied, if the terminal allows it: {steady(command)}", timeout=SECONDS, markup=False)
