"""Names of cgroups by id. The id is the inode number of the group's directory (kernfs)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

_WALK_PAUSE_S = 2.0
_MAX_GROUPS = 20_000


def cpu_hierarchy(mounts: str) -> Path | None:
    """Where the cpu controller's groups are mounted, by the text of /proc/self/mounts: v1 if it is there, else v2."""
    unified = None
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 4:
            continue
        if fields[2] == "cgroup" and "cpu" in fields[3].split(","):
            return Path(fields[1])
        if fields[2] == "cgroup2":
            unified = Path(fields[1])
    return unified


class CgroupNames:
    """Paths by id, from a walk of the hierarchy that is repeated when an unknown id turns up (but not too often)."""

    def __init__(self, root: Path | None) -> None:
        self._root = root
        self._names: Mapping[int, str] = MappingProxyType({})
        self._walked = -_WALK_PAUSE_S

    def resolve(self, ids: Iterable[int]) -> Mapping[int, str]:
        """Paths relative to the hierarchy's root (`/` is the root itself); an id that is not there has none."""
        unknown = any(cgroup and cgroup not in self._names for cgroup in ids)
        if unknown and self._root and time.monotonic() - self._walked >= _WALK_PAUSE_S:
            self._walked = time.monotonic()
            # What is gone keeps its name: its tasks may still be on the screen.
            self._names = MappingProxyType(dict(list(self._names.items())[-_MAX_GROUPS:]) | walk(self._root))
        return self._names


def walk(root: Path) -> dict[int, str]:
    """All groups below `root` by id."""
    found: dict[int, str] = {}
    for directory, children, _ in os.walk(root):
        try:
            inode = os.stat(directory).st_ino
        except OSError:
            children.clear()  # gone meanwhile
            continue
        found[inode] = directory[len(str(root)) :] or "/"
        if len(found) >= _MAX_GROUPS:
            break
    return found
