"""How much a recording, snapshot or report may hold, and may take: all that reads one keeps to these.

A file of 10 MB takes at most 300 MB of memory, whatever is in it, or is refused.
"""

from __future__ import annotations

import numpy as np

LINE_BYTES = 8 << 20
"""Of a line of a recording. Ours are no longer: what would not fit is left out when it is written."""

NAMES_BYTES = 1 << 20
"""Of the names of cgroups that a line which we write tells; the others come with the next ones."""

HEADER_BYTES = 1 << 20
"""Of the first line of a recording."""

SAVED_BYTES = 64 << 20
"""Of a snapshot or report: one with 65,536 tasks has 60 MB."""

WHOLE_BYTES, WHOLE_LINES = 256 << 20, 1 << 20
"""What a recording may hold that was packed as a whole."""

STRETCH_BYTES, STRETCH_LINES = 4 << 20, 1 << 16
"""So much of it is unpacked at once, and up to the end of a line."""

TEXT_CHARS = 4096
"""Of the name of a cgroup (the kernel's PATH_MAX), the text of an event, a reason."""

REASONS = 64
"""How many parts of a Frame may be unavailable, each with its reason."""

CPUS = 1 << 13
"""What the kernel can be built for (CONFIG_NR_CPUS)."""

GROUPS = 1 << 14
"""With a histogram each. The kernel side keeps no more."""

FRAME_BYTES = 64 << 20
"""What the arrays of a Frame that is read may take. One of 512 CPUs and 65,536 tasks takes 16 MiB."""

PARSED_BYTES = 96 << 20
"""What the plain objects of a line may take, by `parsed_bytes`. Those of 65,536 tasks take 75 MB."""

SAVED_PARSED_BYTES, SAVED_PARSED_FACTOR = 128 << 20, 8
"""What those of a snapshot or report may: so much, and so many times its size."""

KEPT_BYTES = 32 << 20
"""What may be kept of a whole recording, its intervals, events and names, beside as much as has been read of the file.

An interval takes half a kilobyte, and at least a whole one in the file."""

READING_BYTES, READING_FACTOR = 256 << 20, 16
"""What reading a file of up to 8 MiB may take beside what the process has already; each byte more, so many more. The
kernel enforces it, as the last resort: what the other limits let through stays below."""

_UNCHECKED_BYTES = 1 << 20
"""Less than that of JSON takes less than 30 MB."""


def parsed_bytes(data: bytes) -> int:
    """What Python's objects of a JSON text take at most, about, without their characters. Nothing is parsed for it."""
    signs = np.frombuffer(data, np.uint8)
    objects, lists, quotes, keys, values = (int(np.count_nonzero(signs == ord(sign))) for sign in '{[":,')
    # An object; a key, what remembers it, and its value; a list; half a text; a number (those below 257 take nothing).
    return 180 * objects + 100 * keys + 96 * lists + 28 * quotes + 9 * values + min(32 * values, 8 * len(data))


def is_parsable(data: bytes | str, most: int = PARSED_BYTES) -> bool:
    """Whether the objects of a JSON text fit. Short texts are not looked at."""
    if len(data) <= _UNCHECKED_BYTES:
        return True
    return parsed_bytes(data.encode("ascii", "replace") if isinstance(data, str) else data) <= most


def reading_bytes(size: int) -> int:
    """How much memory reading a file of that size may take."""
    return READING_BYTES + READING_FACTOR * max(0, size - LINE_BYTES)
