"""Lines of a recording that every reader takes: of what is too much for one, the least is left out, and counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from schedtop.base.breath import Breath
from schedtop.base.limits import LINE_BYTES, NAMES_BYTES, TEXT_CHARS, is_parsable
from schedtop.history.thinning import thinned
from schedtop.model.detail import Detail
from schedtop.model.frame import Frame
from schedtop.recording.lines import frame_line, frame_pieces

_LEAST_SHARE, _WITHOUT_GROUPS = 1e-4, 0.25
_MOST_ESCAPED = 6
"""Bytes of a character that is written as its number."""


def fitting_line(frame: Frame, known: Mapping[int, str], breath: Breath) -> str:
    """The line of a Frame; where it would be too long for a reader, with fewer of its rows."""
    line, share = "".join(breath.between(frame_pieces(frame, known))), 1.0
    while not (len(line) <= LINE_BYTES and is_parsable(line)) and share > _LEAST_SHARE:
        share *= min(0.8, 0.95 * LINE_BYTES / len(line))
        tables = (frame.tasks, frame.slow_waits, frame.pairs, frame.short_lived)
        fewer = thinned(frame, Detail(*(int(len(table) * share) for table in tables)))
        # Histograms by group go last of all.
        line = frame_line(fewer if share < _WITHOUT_GROUPS else replace(fewer, groups=frame.groups), known)
    return line


def told_later(names: Mapping[int, str], known: Mapping[int, str]) -> dict[int, str]:
    """The names that are not known yet and find no room in the next line."""
    room, later = NAMES_BYTES, {}
    for number, path in names.items():
        if known.get(number) == path:
            continue
        room -= len(path) * (1 if path.isascii() and path.isprintable() else _MOST_ESCAPED)
        if room < 0 or len(path) > TEXT_CHARS:
            later[number] = path
    return later
