"""What the terminal is and can, for `schedtop doctor`."""

from __future__ import annotations

import codecs
import locale
import os
from collections.abc import Mapping
from dataclasses import replace

from schedtop.base.ascii import locale_is_unicode
from schedtop.base.finding import Finding
from schedtop.ui.terminal.appearance import appearance, colours
from schedtop.ui.terminal.ink import Depth
from schedtop.ui.terminal.terminal import LEAST_COLUMNS, LEAST_LINES, unfit_terminal

STREAMS = (0, 1, 2)
"""The doctor's output may go through a pipe: any of them shows which terminal it is."""


def terminal(environment: Mapping[str, str] | None = None, size: tuple[int, int] | None = None) -> Finding:
    """The terminal: its name, size (columns, lines), colours and characters, and what stands between."""
    environment = os.environ if environment is None else environment
    size = size or _size()
    if size is None:
        found = "none here; the dashboard needs one"
        return Finding("terminal", "ok", found, details={"term": environment.get("TERM", ""), "columns": None})
    depth, looks = colours(environment), appearance(environment=environment)
    between = [name for name, variable in (("tmux", "TMUX"), ("screen", "STY"), ("ssh", "SSH_CONNECTION"))
               if environment.get(variable)]  # fmt: skip
    details = {
        "term": environment.get("TERM", ""),
        "columns": size[0],
        "lines": size[1],
        "colours": int(depth),
        "encoding": _encoding(),
        "unicode": locale_is_unicode(),
        "ascii": looks.ascii,
        "through": between,
    }
    if unfit := unfit_terminal(environment):
        return replace(unfit, details=details)
    words = [details["term"], f"{size[0]}x{size[1]}", _colours(depth), _encoding()]
    words += [f"in {' and '.join(between)}"] if between else []
    words += ["drawn in ASCII"] if looks.ascii else []
    found = ", ".join(map(str, words))
    if size[0] < LEAST_COLUMNS or size[1] < LEAST_LINES:
        advice = f"make the window at least {LEAST_COLUMNS}x{LEAST_LINES}"
        return Finding("terminal", "degraded", found, "the dashboard, until it is larger", "", advice, details)
    return Finding("terminal", "ok", found, details=details)


def _colours(depth: Depth) -> str:
    return {Depth.NONE: "no colours", Depth.TRUE: "24-bit colours"}.get(depth, f"{int(depth)} colours")


def _size() -> tuple[int, int] | None:
    for stream in STREAMS:
        try:
            return tuple(os.get_terminal_size(stream))  # type: ignore[return-value]
        except OSError:
            continue
    return None


def _encoding() -> str:
    """What the locale says that the terminal takes."""
    try:
        return codecs.lookup(locale.nl_langinfo(locale.CODESET) or "utf-8").name.upper()
    except (LookupError, AttributeError, ValueError):
        return "an unknown encoding"
