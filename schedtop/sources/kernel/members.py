"""The tasks of a cgroup and of those below it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from schedtop.sources.host.cgroups import cpu_hierarchy, read_mounts
from schedtop.sources.host.pid_numbers import PROC
from schedtop.sources.kernel.pid_numbers import numbers_in

_LISTS = ("cgroup.threads", "tasks")
"""Files with the tids of a group: version 2, version 1."""


def members_of(path: str, root: Path | None = None, proc: Path = PROC) -> frozenset[int]:
    """The host's tids of the tasks that are now in the group of that path, or below; none if it is gone."""
    root = root or cpu_hierarchy(read_mounts())
    if root is None:
        return frozenset()
    numbers = numbers_in(proc)
    found: set[int] = set()
    for directory, _, files in os.walk(f"{root}{path}"):
        name = next((name for name in _LISTS if name in files), "")
        # It may go at any time, and lists nothing where it is a domain of processes that may not be read.
        with suppress(OSError, ValueError):
            found |= {numbers.of_host(int(tid)) for tid in (Path(directory) / name).read_text().split()}
    return frozenset(found - {0})
