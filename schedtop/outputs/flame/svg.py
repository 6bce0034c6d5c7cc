"""A flame graph as one SVG: it fetches nothing, zooms and searches by itself, and reads without its script, too."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jinja2 import Template

from schedtop.base.units import format_count, format_ns, format_ratio, plural, printable
from schedtop.outputs.flame.tree import Flame, FlameFrame, Stack, flame_of
from schedtop.outputs.templates import templates_of

WIDTH = 1200
MARGIN = 12
ROW = 18
LINE = 17
"""Heights of a box and of a line of words."""

LEAST_PX = 0.3
"""Narrower boxes are left out."""

CHARACTER_PX = 6.7
"""The advance of a character of 11 px, a little more than any of the fonts needs; the script has it, too."""

WORDS_MOST = (WIDTH - 2 * MARGIN) // 7
TITLE_MOST = 100
"""Characters in a line, and in the larger one on top beside the buttons."""

LEGEND = (
    ("task", "process, thread"),
    ("user", "user function"),
    ("kernel", "kernel function_[k]"),
    ("blocked", "[state] it waited in"),
    ("runnable", "[runnable]: no CPU"),
    ("waker", "waker (dashed)"),
)


@dataclass(frozen=True, slots=True)
class Box:
    """One box as the picture has it: places in pixels, `label` as much of the name as fits."""

    x: str
    y: int
    width: str
    letter: str
    label: str
    title: str


def flame_svg(
    stacks: Iterable[Stack],
    *,
    title: str,
    subtitle: Sequence[str] = (),
    unit: str = "ns",
    root: str = "all",
    about: Mapping[str, Any] | None = None,
) -> str:
    """The picture of folded stacks: names from the root to the leaf, and a value in `unit` (`ns`, else a count).

    `subtitle`: lines that say what was looked at (host, kernel, time, scope, threshold, loss, version); `about`: the
    same as data, for `metadata`; `root` names the box below all. Names are escaped, and what is no XML becomes `?`.
    The same stacks give the same picture, in whichever order they come.
    """
    flame = flame_of(stacks, root, LEAST_PX / (WIDTH - 2 * MARGIN))
    say = format_ns if unit == "ns" else format_count
    words = [line for text in (*subtitle, *_left_out_words(flame, say)) for line in _wrapped(text)]
    # The root is on top: one that calls many stacks deep must not push it off the screen.
    top = 80 + LINE * len(words)
    boxes = [_box(frame, flame, top, say) for frame in flame.frames]
    return _template().render(
        title=fitted(printable(title), TITLE_MOST),
        words=words,
        boxes=boxes,
        legend=LEGEND,
        width=WIDTH,
        margin=MARGIN,
        row=ROW,
        line=LINE,
        top=top,
        height=top + ROW * max(2, flame.height) + 2 * MARGIN,
        character=CHARACTER_PX,
        about=json.dumps(about, ensure_ascii=True) if about else "",
    )


def _left_out_words(flame: Flame, say: Callable[[float], str]) -> list[str]:
    if not flame.left_out:
        return []
    many = f"{flame.left_out} {plural(flame.left_out, 'box', 'boxes')}"
    share = format_ratio(flame.left_out_value / flame.total)
    return [f"not drawn: {many} of less than {say(flame.least)} each, with all below them ({share} of the whole)"]


def _box(frame: FlameFrame, flame: Flame, top: int, say: Callable[[float], str]) -> Box:
    scale = (WIDTH - 2 * MARGIN) / flame.total
    x, width = MARGIN + frame.start * scale, frame.value * scale
    room = int((width - 4) / CHARACTER_PX)
    return Box(
        x=f"{x:.3f}",
        y=top + frame.depth * ROW,
        width=f"{width:.3f}",
        letter=frame.kind[0],
        label=fitted(frame.name, room),
        title=f"{frame.name} ({say(frame.value)}, {format_ratio(frame.value / flame.total)})",
    )


def fitted(name: str, room: int) -> str:
    """As much of a name as `room` characters hold; nothing if that would say nothing."""
    if room < 3:
        return ""
    return name if len(name) <= room else f"{name[: room - 1]}…"


def _wrapped(text: str) -> list[str]:
    """A line broken where it is too long."""
    lines = [""]
    # The browser would make one blank of two.
    for word in printable(text).replace("  ", " · ").split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > WORDS_MOST:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()[:WORDS_MOST]
    return lines


@lru_cache(maxsize=1)
def _template() -> Template:
    return templates_of("schedtop.outputs.flame").get_template("flame.svg.j2")
