"""What the terminal can show and what was asked for, and so which theme, how many colours, and which characters."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from schedtop.base.ascii import locale_is_unicode
from schedtop.ui.terminal.ink import Depth
from schedtop.ui.terminal.themes import AUTO, DARK, LEAST_COLOURS, MONO, PREFIX, TERMINAL, THEMES

_FEW_GLYPHS = re.compile(r"linux|vt[0-9]|ansi|cons|sun|dumb", re.IGNORECASE)
"""Terminals with few characters beyond ASCII in their fonts, whatever the locale says: consoles, serial lines."""


@dataclass(frozen=True, slots=True)
class Appearance:
    """How the screen looks: a theme of `themes.THEMES`, how many colours the terminal has, ASCII or all characters."""

    theme: str = DARK.name
    depth: Depth = Depth.TRUE
    ascii: bool = False

    def depth_of(self, theme: str) -> Depth:
        """How many colours are sent with a theme: those without colours need none, and users that name a theme
        know their terminal better than TERM does."""
        if theme == MONO.name:
            return Depth.NONE
        return max(self.depth, LEAST_COLOURS.get(theme, Depth.PALETTE))

    def themes(self) -> list[str]:
        """The themes that a key goes through: those that the terminal has the colours for, and the one it has."""
        return [theme.name for theme in THEMES if LEAST_COLOURS[theme.name] <= self.depth or theme.name == self.theme]


FULL = Appearance()
"""That of a terminal that can show everything."""


def appearance(
    theme: str = AUTO,
    ascii_only: bool | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    insists: bool = True,
) -> Appearance:
    """The appearance on this terminal. `theme`: one of `themes.THEME_NAMES`, or AUTO; `ascii_only`: None for auto.

    With `insists` the theme is taken anywhere; else it is a habit from other terminals, and must suit this one, too.
    """
    environment = os.environ if environment is None else environment
    depth = colours(environment)
    if ascii_only is None:
        ascii_only = not locale_is_unicode() or bool(_FEW_GLYPHS.match(environment.get("TERM", "")))
    if theme != AUTO and (insists or _suits(PREFIX + theme, depth, environment)):
        name = PREFIX + theme
    elif environment.get("NO_COLOR") or depth is Depth.NONE:
        name = MONO.name
    else:
        name = DARK.name if depth >= Depth.PALETTE else TERMINAL.name
    return Appearance(name, depth, ascii_only)


def _suits(theme: str, depth: Depth, environment: Mapping[str, str]) -> bool:
    """Whether the terminal has the colours of a theme, and the user has not asked for none."""
    return LEAST_COLOURS[theme] <= (Depth.NONE if environment.get("NO_COLOR") else depth)


def colours(environment: Mapping[str, str]) -> Depth:
    """How many colours the terminal has: by the terminal database, and by COLORTERM."""
    term = environment.get("TERM", "")
    # GNU screen passes on what the terminal around it says, and takes 24 bits for blinking and reversed text.
    says = "" if environment.get("STY") else environment.get("COLORTERM", "").lower()
    named = re.search(r"(16|88|256)color", term)
    if named and says in ("truecolor", "24bit"):
        return Depth.TRUE  # what the database says of such a name changes nothing, and its library is half a MiB
    count = database_colours(term)
    if count is None:
        # Not in the database of this host, as happens over ssh: its name tells.
        many = re.search(r"xterm|kitty|alacritty|ghostty|foot|wezterm|direct", term)
        count = int(named[1]) if named else 256 if many else 8
    if count < Depth.EIGHT:
        return Depth.NONE
    if says in ("truecolor", "24bit") or count >= Depth.TRUE:
        return Depth.TRUE
    return max(depth for depth in (Depth.EIGHT, Depth.SIXTEEN, Depth.PALETTE) if depth <= count)


def database_colours(term: str) -> int | None:
    """How many colours the terminal database says it has, -1 for none; `None` if it is not there.

    The library answers for the first terminal that it is asked about only: there is one terminal.
    """
    import curses  # late: see `colours`

    try:
        curses.setupterm(term, 1)
        return curses.tigetnum("colors")
    except curses.error:
        return None
