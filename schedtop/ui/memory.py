"""Memory that is no longer needed goes back to the system."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress

LARGE_BYTES = 1 << 20
KEPT_FREE_BYTES = 4 << 20

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h


def return_large_arrays() -> None:
    """Has glibc map each large array by itself, so that its memory goes back when it is free.

    Otherwise it learns from the first ones to keep them in its heap, which is in pieces after one fork storm.
    """
    with suppress(OSError, AttributeError):
        tell = ctypes.CDLL(None).mallopt
        tell(_MMAP_THRESHOLD, LARGE_BYTES)
        tell(_TRIM_THRESHOLD, KEPT_FREE_BYTES)


def give_back() -> None:
    """Frees what nothing refers to any more, and returns free pages, which glibc keeps.

    It takes a fraction of a second after much was held.
    """
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
