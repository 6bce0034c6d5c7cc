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
    return_free_pages()


def return_free_pages() -> None:
    """Returns free pages, which glibc keeps: 0.6 MiB after the start, in 0.2 ms."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


YOUNG_OBJECTS = 700
"""So many new objects are looked through after a frame: a third of a millisecond."""

SAFETY = (50_000, 20, 100)
"""When the interpreter collects by itself all the same: in a burst without frames, such as a long help."""

SETTLED_FRAMES = 5
MIDDLE_FRAMES, OLD_FRAMES = 20, 600
"""After so many frames the start is over; the survivors of so many are looked through again."""

GROWN_BYTES = 12 << 20
GIVE_BACK_FRAMES = 60
"""When it is looked whether much was held and is free again."""


class Collector:
    """Collects garbage when a frame is drawn, a little at a time, and not in the midst of one."""

    def __init__(self) -> None:
        self._frames = 0
        self._least_bytes = 0
        """The least memory held since the last time that free pages were returned."""
        self._lowest_bytes = 0
        """The least memory held since the start was over, or since all was looked through."""
        gc.set_threshold(*SAFETY)

    def frame_drawn(self, held_bytes: int = 0) -> None:
        """To be called after each frame; `held_bytes`: how much memory this process holds, if that is known."""
        self._frames += 1
        if self._frames == SETTLED_FRAMES:
            # What the screen is made of stays until the end. Looking through it once more took 12 ms.
            gc.freeze()
            return_free_pages()
        elif self._frames % OLD_FRAMES == 0 and held_bytes > self._lowest_bytes + GROWN_BYTES:
            # What a flood has left in the history goes when that has turned over, long after its end. Without one there
            # is nothing to find, and looking through all would be one long burst. What is still held then is in use.
            give_back()
            self._lowest_bytes = self._least_bytes = 0
            return
        elif self._frames % MIDDLE_FRAMES == 0:
            gc.collect(1)
        elif gc.get_count()[0] > YOUNG_OBJECTS:
            gc.collect(0)
        if held_bytes and self._frames > SETTLED_FRAMES:
            self._watch(held_bytes)

    def _watch(self, held_bytes: int) -> None:
        self._least_bytes = min(self._least_bytes or held_bytes, held_bytes)
        self._lowest_bytes = min(self._lowest_bytes or held_bytes, held_bytes)
        if self._frames % GIVE_BACK_FRAMES == 0 and held_bytes > self._least_bytes + GROWN_BYTES:
            # Without looking through all that is held: with 170 frames in the history others waited 7 ms for that.
            return_free_pages()
            # What is still held then is in use: it is not tried again and again.
            self._least_bytes = 0
