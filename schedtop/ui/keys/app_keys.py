"""The keys that work wherever the focus is: what they do is in the app."""

from __future__ import annotations

from textual.binding import BindingType

from schedtop.ui.keys.bindings import key

APP_KEYS: list[BindingType] = [
    key("t", "next_theme", "Theme", "Other colours: dark, light, contrast, the terminal's own, none"),
    key("ctrl+l", "redraw", "Redraw", "Writes the whole screen again, if something else has written to it"),
    key("ctrl+z", "suspend_process", "Suspend", "To the shell; its fg brings schedtop back", priority=True),
    key("ctrl+c", "interrupt", "Interrupt", "Ends schedtop with status 130", priority=True),
]
