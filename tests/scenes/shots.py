"""The pictures of README and docs/tour.md: of which recording, when, how large, after which keys."""

from __future__ import annotations

from schedtop.ui.terminal.themes import LIGHT
from tests.scenes.draw import Shot

WIDE, MIDDLE, SMALL, LARGE = (160, 50), (120, 40), (80, 24), (240, 70)

SHOTS = (
    Shot("contention", "contention", "29s", WIDE),
    Shot("contention-light", "contention", "29s", MIDDLE, theme=LIGHT.name),
    Shot("contention-80x24", "contention", "29s", SMALL),
    Shot("contention-240x70", "contention", "29s", LARGE),
    Shot("quota", "quota", "15s", WIDE),
    Shot("steal", "steal", "10s", WIDE, ("4", "tab", *"mmmmm")),
    Shot("fork-storm", "fork-storm", "14s", WIDE, ("5",)),
    Shot("synthetic-256-cpus", "synthetic-256-cpus", "30s", WIDE, ("4",)),
    Shot("rt-hog", "rt-hog", "7s", MIDDLE),  # docs/rules.md
    # The investigation of docs/tour.md.
    Shot("tour-1-before", "contention", "9s", MIDDLE),
    Shot("tour-2-symptom", "contention", "29s", MIDDLE, ("2",)),
    Shot("tour-3-verdict", "contention", "29s", SMALL, ("v",)),
    Shot("tour-4-blame", "contention", "29s", MIDDLE, ("3",)),
    Shot("tour-5-wait", "contention", "29s", SMALL, ("3", "shift+tab", "down", "i")),
    Shot("tour-6-task", "contention", "29s", MIDDLE, ("5", "home", "enter")),
)
