"""What is drawn, for terminals and files that have ASCII only: each character has a stand-in of the same width.

One table for the screen and for text outputs. What is not in it, such as names of tasks, becomes `?` in each cell.
"""

from __future__ import annotations

import codecs
import locale
import sys
import unicodedata


def _braille(dots: int) -> str:
    """The stand-in of eight dots by where they are: the first three rows have the low bits, the last the high ones."""
    rows = [bool(dots & mask) for mask in (0x09, 0x12, 0x24, 0xC0)]
    if dots == 0xFF:
        return "#"
    if sum(rows) > 2:
        return "|"
    upper, lower = any(rows[:2]), any(rows[2:])
    if upper and lower:
        return "-" if rows[1] and rows[2] else ":"
    return "'" if upper else "." if lower else " "


STAND_INS = {
    # Shades and bars, from little to much: the order is kept.
    **dict(zip("·░▒▓█", ".:+%#", strict=True)),
    **dict(zip("▁▂▃▄▅▆▇", "_,-=+*%", strict=True)),
    **dict(zip("▏▎▍▌▋▊▉", "..:|+*%", strict=True)),
    # Quadrants of plots; their other halves are among the bars.
    **dict(zip("▘▝▀▖▗▐▞▚▛▜▙▟", "`'\".,|/\\####", strict=True)),
    # Lines of charts.
    **{chr(0x2800 + dots): _braille(dots) for dots in range(256)},
    # Lines; heavy ones are those of the pane that has the keys.
    **dict.fromkeys("─╌┄┈╴╶", "-"),
    **dict.fromkeys("│┆┊╎╵╷", "|"),
    **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼┝┥┯┷┿╪", "+"),
    **dict.fromkeys("━╸╺╍┅┉", "="),
    "≡": "&",  # where both are
    "═": "~",  # not the same as ━: the two are percentiles in the heat map
    **dict.fromkeys("┃║╏┏┓┗┛┣┫┳┻╋╹╻", "#"),
    # Signs.
    **dict(zip("←→↑↓↔▲▼▶◀▸◂▴▾△▽", "<>^v-^*><><^*^*", strict=True)),
    **dict(zip("●○◌•◆◇■□✓✗×÷±≤≥≈≠∑ΣΔ∞", "*oo*****+xx/+<>~!SSD8", strict=True)),
    **dict(zip("µμ°…–—‘’“”«»§\u00a0", "uuo~--''\"\"<>S ", strict=True)),
    "\u200b": "",
}
"""A character, and what stands for it."""

ERRORS = "schedtop"
"""The name of the way in which outputs write what their encoding has not."""


class _Table(dict[int, str]):
    """For `str.translate`: fills itself with what else it meets."""

    def __missing__(self, code: int) -> str:
        if code < 128:
            raise LookupError  # stays what it is
        char = chr(code)
        if unicodedata.category(char) in ("Mn", "Me", "Cf"):
            stand_in = ""
        else:
            stand_in = "??" if unicodedata.east_asian_width(char) in "WF" else "?"
        self[code] = stand_in
        return stand_in


_TABLE = _Table({ord(char): stand_in for char, stand_in in STAND_INS.items()})


def to_ascii(text: str) -> str:
    """The text in ASCII, as wide as it was."""
    return text if text.isascii() else text.translate(_TABLE)


def locale_is_unicode() -> bool:
    """Whether the locale that the program was started in says that the terminal takes UTF-8.

    Not Python's own encoding: in the locale C that is UTF-8, too (PEP 540).
    """
    try:
        name = locale.nl_langinfo(locale.CODESET)
    except (AttributeError, ValueError):
        return True
    return name.lower().replace("-", "") in ("utf8", "")


def _stand_in(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return to_ascii(wrong), error.end


def soften_outputs() -> None:
    """Standard output and error write a stand-in where their encoding, or the locale of a terminal, has not the
    character."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None or not hasattr(stream, "reconfigure"):
            continue
        if stream.isatty() and not locale_is_unicode():
            stream.reconfigure(encoding="ascii", errors=ERRORS)
        elif stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors=ERRORS)


codecs.register_error(ERRORS, _stand_in)
