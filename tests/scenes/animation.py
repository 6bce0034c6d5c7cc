"""Joins pictures of one size into one SVG that shows them one after the other, with a line of words below each."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from schedtop.ui.screens.dashboard.export import FONTS

BAND_PX, WORDS_PX, WORDS_COLOUR = 64, 32, "#8b949e"
"""The band with the words below the terminal: on a dark and on a light page it can be read."""


@dataclass(frozen=True, slots=True)
class Step:
    """A picture, what it shows, for how long."""

    svg: str
    words: str
    seconds: float


def animated(steps: Sequence[Step], still: int) -> str:
    """The steps in a loop; `still`: the one that comes first, and is shown where nothing moves.

    It is CSS alone: pages show pictures without their scripts.
    """
    boxes = [re.search(r'<svg [^>]*viewBox="0 0 ([\d.]+) ([\d.]+)"[^>]*>', step.svg) for step in steps]
    sizes = {(float(box[1]), float(box[2])) for box in boxes if box}
    (width, height), *others = sizes
    if others or None in boxes:
        raise ValueError("these pictures are not of one size")
    total_s, before_s = (sum(step.seconds for step in some) for some in (steps, steps[:still]))
    styles, groups = [], []
    begin_s = 0.0
    for number, (step, box) in enumerate(zip(steps, boxes, strict=True)):
        assert box is not None
        end_s = begin_s + step.seconds
        first, last = f"{100 * begin_s / total_s:.2f}%", f"{100 * end_s / total_s:.2f}%"
        hidden = "" if number == 0 else "0% {visibility: hidden} "
        styles.append(
            f"@keyframes step-{number} {{{hidden}{first} {{visibility: visible}} {last} {{visibility: hidden}}}}\n"
            f".step-{number} {{animation: step-{number} {total_s:g}s step-end -{before_s:g}s infinite}}"
        )
        inside = step.svg[box.end() : step.svg.rindex("</svg>")]
        place = f'x="{width / 2:g}" y="{height + BAND_PX / 2:g}"'
        groups.append(
            f'<g class="step step-{number}{" still" if number == still else ""}">{inside}'
            f'<text class="words" {place}>{html.escape(step.words)}</text></g>'
        )
        begin_s = end_s
    style = "\n".join((
        ".step {visibility: hidden} .still {visibility: visible}",
        f".words {{font: bold {WORDS_PX}px {FONTS}; fill: {WORDS_COLOUR}; text-anchor: middle}}",
        "@media (prefers-reduced-motion: no-preference) {",
        *styles,
        "}",
    ))  # fmt: skip
    return (
        f'<svg class="rich-terminal" viewBox="0 0 {width:g} {height + BAND_PX:g}" xmlns="http://www.w3.org/2000/svg">\n'
        f"<style>\n{style}\n</style>\n" + "\n".join(groups) + "\n</svg>\n"
    )
