"""Two themes, dark and light. Blue against orange: told apart with every common kind of colour blindness.

The colours are those of Okabe and Ito's palette, made lighter or darker for contrast on the background.
"""

from __future__ import annotations

from textual.theme import Theme

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
        "faint": "#8593a1",
        "edge": "#3a4855",
        "selected": "#24527a",
        "wakeup": "#6cc0f5",
        "preemption": "#f0a330",
        "busy": "#8fb8de",
        "steal": "#e8a0c8",
        "alarm-foreground": "#0f1419",
    },
)

LIGHT = Theme(
    name="schedtop-light",
    primary="#00558a",
    secondary="#1f6f9f",
    accent="#8a5a00",
    warning="#8a5200",
    error="#a83f00",
    success="#00558a",
    foreground="#1a2229",
    background="#fbfbf8",
    surface="#fbfbf8",
    panel="#e6eaee",
    dark=False,
    variables={
        "faint": "#56636f",
        "edge": "#a9b4be",
        "selected": "#bcdcf5",
        "wakeup": "#0064a3",
        "preemption": "#a35a00",
        "busy": "#2f6690",
        "steal": "#963a72",
        "alarm-foreground": "#ffffff",
    },
)

THEMES = (DARK, LIGHT)
