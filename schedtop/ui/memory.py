"""Memory that a screen no longer needs goes back to the system."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress


def give_back() -> None:
    """Frees what nobody refers to any more, and returns free pages, which glibc keeps.

    It takes a fraction of a second after much was held.
    """
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
