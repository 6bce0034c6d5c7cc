"""What takes time, on the terminal while it lasts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from schedtop.base.units import printable


@contextmanager
def progress(words: str) -> Iterator[None]:
    """Shows what takes time, if anything, on standard error while it lasts, if that is a terminal."""
    shown = bool(words) and sys.stderr is not None and sys.stderr.isatty()
    if shown:
        print(f"schedtop: {printable(words)} ...", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if shown:
            blank = " " * (len(words) + len("schedtop:  ..."))
            print(f"\r{blank}\r", end="", file=sys.stderr, flush=True)
