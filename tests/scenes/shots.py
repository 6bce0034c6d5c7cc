"""The pictures of README and docs/tour.md: of which recording, when, how large, after which keys."""

from __future__ import annotations

from schedtop.ui.themes import DARK, LIGHT
from tests.scenes.draw import Shot

SHOTS = (
    Shot("contention", "contention", "36s", (160, 50)),
    Shot("contention-light", "contention", "36s", (120, 40), theme=LIGHT.name),
    Shot("contention-80x24", "contention", "36s", (80, 24)),
    Shot("quota", "quota", "20s", (160, 50)),
    Shot("steal", "steal", "25s", (160, 50), ("4",)),
    Shot("fork-storm", "fork-storm", "18s", (160, 50), ("5",)),
    Shot("synthetic-256-cpus", "synthetic-256-cpus", "30s", (200, 60), ("4",)),
)

THEME_WORDS = {DARK.name: "dark", LIGHT.name: "light"}
