"""A bound on the memory of this process while it reads what others wrote."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schedtop.base.limits import reading_bytes
from schedtop.base.units import format_bytes
from schedtop.model.source import SourceError


@contextmanager
def bounded(*paths: Path) -> Iterator[None]:
    """Reading these files takes no more than `reading_bytes` of each. Raises SourceError if it would."""
    most = sum(map(_most_bytes, paths))
    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _data_bytes() + most
    if before[0] != resource.RLIM_INFINITY:
        limit = min(limit, before[0])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        yield
    except MemoryError as error:
        names = " and ".join(map(str, paths))
        raise SourceError(f"cannot read {names}: it takes more than {format_bytes(most)} of memory") from error
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _most_bytes(path: Path) -> int:
    try:
        return reading_bytes(path.stat().st_size)
    except OSError:  # whoever reads it says so
        return reading_bytes(0)


def _data_bytes() -> int:
    """What of this process counts: private memory that it can write to, and its stack (proc_pid_statm(5))."""
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[5]) * os.sysconf("SC_PAGESIZE")
