"""How a screen over the dashboard closes."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen


def close(screen: Screen[Any], result: object = None) -> None:
    """Closes the screen, which gives `result`, if it is the one on top.

    `dismiss` closes whatever is on top: the second click of a double click would close another screen, or fail.
    """
    if screen.app.screen is screen:
        screen.dismiss(result)
