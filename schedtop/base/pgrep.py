"""The shell words that stand for the tids of all tasks of a name."""

from __future__ import annotations

import re
import shlex

_SPECIAL = re.compile(r"[][\\.(){}*+?^$|]")
"""What means something in an extended regular expression (regex(7)), which is less than what `re.escape` escapes."""


def pgrep_words(comm: str) -> str:
    """`$(pgrep -wx NAME)`; the name is at most 15 characters long, as the kernel's."""
    pattern = _SPECIAL.sub(r"\\\g<0>", comm)
    options_end = "-- " if comm.startswith("-") else ""
    return f"$(pgrep -wx {options_end}{shlex.quote(pattern)})"
