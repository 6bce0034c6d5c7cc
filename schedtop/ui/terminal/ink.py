"""Styles as the codes of a terminal that has so many colours; with none, what has a background is shown reversed."""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from rich.color import Color, ColorSystem, ColorType
from rich.style import Style

Lab = tuple[float, float, float]

CUBE_STEPS = (0, 95, 135, 175, 215, 255)
"""What each of red, green and blue can be in the colour cube of 256 colours (xterm)."""

CUBE_FIRST, GREY_FIRST = 16, 232


class Depth(IntEnum):
    """How many colours the terminal has."""

    NONE = 0
    EIGHT = 8
    SIXTEEN = 16
    PALETTE = 256
    TRUE = 1 << 24


class Ink(NamedTuple):
    """One style as codes: attributes like `1;7`, and both colours; compared with `is`, so there is one of each."""

    attributes: str
    foreground: str
    background: str


ANY = " "
"""The foreground of spaces."""

NOT_BOLD = "22"

PLAIN = Ink("", "39", "49")

_ATTRIBUTES = (("bold", "1"), ("dim", "2"), ("italic", "3"), ("underline", "4"), ("blink", "5"), ("strike", "9"))


@lru_cache(4096)
def ink_of(style: Style | None, depth: Depth) -> Ink:
    """The codes of a style."""
    if style is None:
        return PLAIN
    codes = [code for name, code in _ATTRIBUTES if getattr(style, name)]
    reverse = bool(style.reverse)
    if depth is Depth.NONE:
        # Only what is meant to stand out has a background of its own in the themes without colours.
        reverse = reverse or (style.bgcolor is not None and not style.bgcolor.is_default)
        foreground = background = ""
    else:
        foreground = _code(style.color, depth, 30)
        background = _code(style.bgcolor, depth, 40)
    if reverse:
        codes.append("7")
    return _unique(";".join(codes), foreground, background)


@lru_cache(4096)
def _unique(attributes: str, foreground: str, background: str) -> Ink:
    ink = Ink(attributes, foreground, background)
    return PLAIN if ink == PLAIN else ink


@lru_cache(4096)
def blank(ink: Ink) -> Ink:
    """The style of spaces: of any foreground, unless lines or the foreground itself would be seen."""
    return ink if _is_seen(ink.attributes) else _unique("", ANY, ink.background)


@lru_cache(8192)
def hides(pen: Ink, ink: Ink) -> bool:
    """Whether spaces of the style `ink` look the same with the pen as it is."""
    return ink.foreground == ANY and pen.background in (ink.background, "") and not _is_seen(pen.attributes)


def _is_seen(attributes: str) -> bool:
    """Whether spaces with these attributes are more than their background."""
    return bool({"4", "7", "9"} & set(attributes.split(";")))


@lru_cache(8192)
def change(before: Ink, after: Ink) -> str:
    """The shortest sequence that turns one style into another."""
    if before is after:
        return ""
    # A code for each attribute's end would be longer than all of them anew; that of bold is not longer than colours.
    if before.attributes == after.attributes:
        old, codes = before, []
    elif not before.attributes:
        old, codes = before, [after.attributes]
    elif before.attributes == "1" and not after.attributes and ";" in before.foreground:
        old, codes = before, [NOT_BOLD]
    else:
        old, codes = PLAIN, ["0", after.attributes] if after.attributes else [""]
    if after.foreground.strip() and old.foreground != after.foreground:
        codes.append(after.foreground)
    if after.background and old.background != after.background:
        codes.append(after.background)
    return f"\x1b[{';'.join(codes)}m" if codes else ""


def _code(color: Color | None, depth: Depth, base: int) -> str:
    """A colour's code; `base` is 30 for the foreground, 40 for the background."""
    if color is None or color.is_default:
        return str(base + 9)
    if color.type in (ColorType.STANDARD, ColorType.EIGHT_BIT) and color.number is not None and color.number < 16:
        return _named(color.number, depth, base)
    if depth is Depth.TRUE and color.triplet is not None:
        red, green, blue = color.triplet
        return f"{base + 8};2;{red};{green};{blue}"
    if depth >= Depth.PALETTE:
        number = color.number
        if number is None:
            assert color.triplet is not None
            number = nearest(*color.triplet)
        return f"{base + 8};5;{number}"
    return _named(color.downgrade(ColorSystem.STANDARD).number or 0, depth, base)


def _named(number: int, depth: Depth, base: int) -> str:
    if depth is Depth.EIGHT or number < 8:
        return str(base + number % 8)
    return str(base + 60 + number - 8)


@lru_cache(1024)
def nearest(red: int, green: int, blue: int) -> int:
    """The entry of the 256 colours that looks most like it, but none of the first 16: users change those."""
    wanted = lab(red, green, blue)
    return min(
        _palette(), key=lambda number: sum((a - b) ** 2 for a, b in zip(_palette()[number], wanted, strict=True))
    )


def triplet_of(number: int) -> tuple[int, int, int]:
    """Red, green and blue of an entry of the 256 colours, from the 16th on."""
    if number >= GREY_FIRST:
        return (8 + 10 * (number - GREY_FIRST),) * 3
    number -= CUBE_FIRST
    return CUBE_STEPS[number // 36], CUBE_STEPS[number // 6 % 6], CUBE_STEPS[number % 6]


@lru_cache(1)
def _palette() -> dict[int, Lab]:
    return {number: lab(*triplet_of(number)) for number in range(CUBE_FIRST, 256)}


def lab(red: int, green: int, blue: int) -> Lab:
    """A colour of sRGB in CIE L*a*b* (D65), where distances are about what the eye sees."""
    r, g, b = (linear(value / 255) for value in (red, green, blue))
    x = _cube_root((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505)
    y = _cube_root(0.2126 * r + 0.7152 * g + 0.0722 * b)
    z = _cube_root((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(one: Lab, other: Lab) -> float:
    """How different two colours look (CIE 1976); about 2 is the least that is seen."""
    return float(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5)


def linear(value: float) -> float:
    """The light of a component of sRGB, both 0..1 (IEC 61966-2-1)."""
    return float(value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)


def _cube_root(value: float) -> float:
    return float(value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116)
