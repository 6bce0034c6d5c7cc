"""The themes. Blue against orange: told apart with every common kind of colour blindness.

Red-orange means alarm and amber notice, and nothing else; what only has a name of its own has another hue.
The colours are those of Okabe and Ito's palette, made lighter or darker for contrast on the background. A test holds
them to the contrast of WCAG 2.1 and to what protanopes, deuteranopes and tritanopes see, in 24 bits and in 256 colours.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.theme import BUILTIN_THEMES, Theme

from schedtop.ui.terminal.ink import Depth

_COLOURED = {
    "faint-style": "none",
    "notice-style": "bold",
    "level-style": "none",
    "alarm-style": "bold",
    "frozen-style": "bold",
    "command-style": "bold reverse",
    "cursor-style": "bold",
    "sorted-style": "bold",
    "focus-line": "round",
}

SHADES = 5


def _ramps(heat: Sequence[str], slow: Sequence[str]) -> dict[str, str]:
    """The grounds of the lines in the heat map, by how dense the cell is, below the threshold and above it."""
    return {
        f"{name}-{level}": colour
        for name, ramp in (("heat", heat), ("slow", slow))
        for level, colour in enumerate(ramp, 1)
    }


DARK = Theme(
    name="schedtop-dark",
    primary="#56b4e9",
    secondary="#8ab8d8",
    accent="#e69f00",
    warning="#f0b429",
    error="#e8743b",
    success="#7cc4f4",
    foreground="#d7dde4",
    background="#0f1419",
    surface="#0f1419",
    panel="#1b232c",
    dark=True,
    variables={
        **_COLOURED,
        **_ramps(
            ("#16293a", "#1b3b57", "#204e75", "#265f8f", "#2b6fa8"),
            ("#4a3710", "#58410f", "#664b0e", "#7a590d", "#8f680a"),
        ),
        "faint": "#8593a1",
        "edge": "#3a4855",
        "selected": "#24527a",
        "wakeup": "#6cc0f5",
        "preemption": "#cce3b5",
        "throttled": "#9b83fc",
        "busy": "#5aa9f0",
        "steal": "#e8b4cc",
        "alarm-foreground": "#0f1419",
        "alarm-background": "#e8743b",
        "frozen-foreground": "#0f1419",
        "frozen-background": "#f0b429",
    },
)

LIGHT = Theme(
    name="schedtop-light",
    primary="#00558a",
    secondary="#1f6f9f",
    accent="#8a5a00",
    warning="#8a5200",
    error="#a83800",
    success="#00558a",
    foreground="#1a2229",
    background="#fbfbf8",
    surface="#fbfbf8",
    panel="#e6eaee",
    dark=False,
    variables={
        **_COLOURED,
        **_ramps(
            ("#dfeaf3", "#c5dbec", "#a9cbe4", "#8cbadb", "#6fa9d1"),
            ("#eddab5", "#e8d1a3", "#e2c68e", "#dab76f", "#cfa44c"),
        ),
        "faint": "#56636f",
        "edge": "#a9b4be",
        "selected": "#bcdcf5",
        "wakeup": "#0064a3",
        "preemption": "#8c1ff9",
        "throttled": "#9006f9",
        "busy": "#2966a3",
        "steal": "#960843",
        "alarm-foreground": "#ffffff",
        "alarm-background": "#a83800",
        "frozen-foreground": "#ffffff",
        "frozen-background": "#8a5200",
    },
)

CONTRAST = Theme(
    name="schedtop-contrast",
    primary="#5fd7ff",
    secondary="#87d7ff",
    accent="#ffaf00",
    warning="#ffd75f",
    error="#ff875f",
    success="#87d7ff",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#1c1c1c",
    dark=True,
    variables={
        **_COLOURED,
        **_ramps(
            ("#00182b", "#002a4a", "#003c69", "#004f88", "#0060a5"),
            ("#4a3500", "#583f00", "#664a00", "#805c00", "#946b00"),
        ),
        "faint": "#c6c6c6",
        "edge": "#9e9e9e",
        "selected": "#005f87",
        "wakeup": "#5fd7ff",
        "preemption": "#bee3b5",
        "throttled": "#a46afb",
        "busy": "#5fafff",
        "steal": "#ffafd7",
        "alarm-foreground": "#000000",
        "alarm-background": "#ff875f",
        "frozen-foreground": "#000000",
        "frozen-background": "#ffd75f",
        "focus-line": "heavy",
    },
)

_OWN = "ansi_default"
"""The terminal's own colours of text and background."""

_ANSI = BUILTIN_THEMES["ansi-dark"].variables
"""What the framework's own style sheets want to know of such a theme."""

TERMINAL = Theme(
    name="schedtop-terminal",
    primary="ansi_cyan",
    secondary="ansi_cyan",
    accent="ansi_yellow",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    foreground=_OWN,
    background=_OWN,
    surface=_OWN,
    panel=_OWN,
    boost=_OWN,
    ansi=True,
    variables={
        **_ANSI,
        **_ramps([_OWN] * SHADES, [_OWN] * SHADES),
        "faint": _OWN,
        "edge": _OWN,
        "selected": _OWN,
        "wakeup": "ansi_cyan",
        "preemption": "ansi_green",
        "throttled": "ansi_magenta",
        "busy": "ansi_cyan",
        "steal": "ansi_magenta",
        "alarm-foreground": "ansi_red",
        "alarm-background": _OWN,
        "frozen-foreground": "ansi_yellow",
        "frozen-background": _OWN,
        "faint-style": "none",
        "notice-style": "bold",
        "level-style": "bold",
        # Reversed, the terminal's own background is the text: readable on a dark one and on a light one.
        "alarm-style": "bold reverse",
        "frozen-style": "bold reverse",
        "command-style": "bold",
        "cursor-style": "bold reverse",
        "sorted-style": "bold underline",
        "focus-line": "heavy",
        "block-cursor-text-style": "bold reverse",
    },
)

MONO = Theme(
    name="schedtop-mono",
    primary=_OWN,
    secondary=_OWN,
    accent=_OWN,
    warning=_OWN,
    error=_OWN,
    success=_OWN,
    foreground=_OWN,
    background=_OWN,
    surface=_OWN,
    panel=_OWN,
    boost=_OWN,
    ansi=True,
    variables={
        **dict.fromkeys(_ANSI, _OWN),
        **_ramps([_OWN] * SHADES, [_OWN] * SHADES),
        **dict.fromkeys(("faint", "edge", "selected", "wakeup", "preemption", "throttled", "busy", "steal"), _OWN),
        **dict.fromkeys(("alarm-foreground", "alarm-background"), _OWN),
        **dict.fromkeys(("frozen-foreground", "frozen-background"), _OWN),
        "faint-style": "dim",
        "notice-style": "bold",
        "level-style": "bold",
        "alarm-style": "bold reverse",
        "frozen-style": "bold reverse",
        "command-style": "bold",
        "cursor-style": "reverse",
        "sorted-style": "bold underline",
        "focus-line": "heavy",
        "block-cursor-text-style": "reverse",
        "input-cursor-text-style": "reverse",
    },
)

THEMES = (DARK, LIGHT, CONTRAST, TERMINAL, MONO)

LEAST_COLOURS = {
    DARK.name: Depth.PALETTE,
    LIGHT.name: Depth.PALETTE,
    CONTRAST.name: Depth.PALETTE,
    TERMINAL.name: Depth.EIGHT,
    MONO.name: Depth.NONE,
}
"""How many colours a theme needs."""

PREFIX = "schedtop-"
"""Before the name that people know a theme by."""

AUTO = "auto"
"""For an option: the theme that suits the terminal."""

THEME_NAMES = tuple(theme.name.removeprefix(PREFIX) for theme in THEMES)
