"""How much memory an input may take: the kernel refuses what is more, which is a finding like any other."""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HELD_BYTES = 16 << 20
"""So much more than at the beginning may be free without being given back: it would hide what an input takes."""

_first: list[int] = []


def data_bytes() -> int:
    """What RLIMIT_DATA counts of this process: private memory that it can write to, touched or not."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * os.sysconf("SC_PAGESIZE")


@contextmanager
def within(most_bytes: int) -> Iterator[None]:
    """Raises MemoryError in here where so much more than now would be taken at once."""
    before = data_bytes()
    if before > (_first or [before])[0] + _HELD_BYTES:
        ctypes.CDLL(None).malloc_trim(0)
        before = data_bytes()
    _first[:] = _first or [before]
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (before + most_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, limits)
