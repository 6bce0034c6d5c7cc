"""The themes can be read: contrast by WCAG 2.1, and what means something is told apart without all kinds of cones.

Both in 24 bits and as the nearest of 256 colours, which is what sudo leaves: it drops COLORTERM.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from textual.theme import Theme

from schedtop.ui.terminal.ink import difference, lab, linear, nearest, triplet_of
from schedtop.ui.terminal.themes import CONTRAST, DARK, LIGHT, THEMES

Triplet = tuple[int, int, int]

TEXTS = (
    "foreground",
    "faint",
    "primary",
    "warning",
    "error",
    "success",
    "wakeup",
    "preemption",
    "throttled",
    "busy",
    "steal",
)
MARKS = ("wakeup", "preemption", "busy", "steal", "primary", "warning", "error", "success")
LABELS = (("alarm-foreground", "alarm-background"), ("frozen-foreground", "frozen-background"))
PAIRS = (("wakeup", "preemption"), ("busy", "steal"), ("success", "warning"), ("success", "error"))
PAIRS += (("preemption", "warning"), ("preemption", "error"), ("throttled", "primary"), ("throttled", "warning"))
"""What stands side by side and means different things."""

SEEN_APART = 20
"""CIE 1976: ten times the least that is seen."""

# Machado, Oliveira, Fernandes: A physiologically-based model for simulation of colour vision deficiency (2009), the
# severest. On the light itself, not on the components of sRGB.
BLINDNESS = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}

HEX_THEMES = [DARK, LIGHT, CONTRAST]
every_theme = pytest.mark.parametrize("theme", HEX_THEMES, ids=lambda theme: theme.name)
every_depth = pytest.mark.parametrize("colours", ["24 bits", "256"])


def colour(theme: Theme, name: str, colours: str) -> Triplet:
    text = theme.variables.get(name) or getattr(theme, name)
    red, green, blue = (int(text[place : place + 2], 16) for place in (1, 3, 5))
    return (red, green, blue) if colours == "24 bits" else triplet_of(nearest(red, green, blue))


def contrast(one: Triplet, other: Triplet) -> float:
    """The ratio of WCAG 2.1."""
    lights = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (tuple(map(_light, c)) for c in (one, other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _light(value: int) -> float:
    return linear(value / 255)


def seen(one: Triplet, kind: str) -> Triplet:
    """What a person with that kind of colour blindness sees."""
    light = np.clip(np.array(BLINDNESS[kind]) @ [_light(value) for value in one], 0, 1)
    back = np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)
    red, green, blue = (round(value * 255) for value in back.tolist())
    return red, green, blue


def test_black_and_white_are_as_different_as_can_be() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert lab(255, 255, 255) == pytest.approx((100, 0, 0), abs=0.1)
    assert seen((128, 128, 128), "deutan") == pytest.approx((128, 128, 128), abs=2)


@every_theme
@every_depth
def test_text_has_contrast(theme: Theme, colours: str) -> None:
    for ground in ("background", "panel"):
        for name in TEXTS:
            ratio = contrast(colour(theme, name, colours), colour(theme, ground, colours))
            assert ratio >= 4.5, (name, ground, ratio)
    ratio = contrast(colour(theme, "foreground", colours), colour(theme, "selected", colours))
    assert ratio >= 4.5, ratio
    for text, ground in LABELS:
        assert contrast(colour(theme, text, colours), colour(theme, ground, colours)) >= 4.5, ground


@every_theme
@every_depth
def test_lines_of_the_heat_map_are_read_on_every_density(theme: Theme, colours: str) -> None:
    text = colour(theme, "foreground", colours)
    for name in ("heat", "slow"):
        grounds = [colour(theme, "background", colours), *(colour(theme, f"{name}-{n}", colours) for n in range(1, 6))]
        ratios = [contrast(text, ground) for ground in grounds]
        assert min(ratios) >= 3, (name, ratios)
        if colours == "24 bits":
            assert ratios == sorted({*ratios}, reverse=True), "denser is further from the ground"


@every_theme
@every_depth
def test_marks_and_edges_are_seen(theme: Theme, colours: str) -> None:
    background = colour(theme, "background", colours)
    for name in MARKS:
        assert contrast(colour(theme, name, colours), background) >= 3, name
    assert contrast(colour(theme, "edge", colours), background) >= 1.5, "edges say nothing, but are there"


@every_theme
@every_depth
def test_grounds_are_told_apart(theme: Theme, colours: str) -> None:
    grounds = {name: colour(theme, name, colours) for name in ("background", "panel", "selected", "edge")}
    for one, other in combinations(grounds, 2):
        assert grounds[one] != grounds[other], (one, other)
    assert difference(lab(*grounds["selected"]), lab(*grounds["background"])) > 10


@every_theme
@every_depth
@pytest.mark.parametrize("kind", ["all cones", *BLINDNESS])
def test_colors_with_a_meaning_are_told_apart(theme: Theme, colours: str, kind: str) -> None:
    for pair in PAIRS:
        one, other = (colour(theme, name, colours) for name in pair)
        if kind != "all cones":
            one, other = seen(one, kind), seen(other, kind)
        assert difference(lab(*one), lab(*other)) >= SEEN_APART, (pair, one, other)


def test_all_themes_have_the_same_variables() -> None:
    for theme in THEMES:
        assert set(theme.variables) >= set(DARK.variables), theme.name


def test_the_terminals_own_colours_are_used_in_two_themes_only() -> None:
    for theme in THEMES:
        values = [*theme.variables.values(), theme.foreground, theme.background, theme.primary]
        assert theme.ansi == any(str(value).startswith("ansi_") for value in values)
