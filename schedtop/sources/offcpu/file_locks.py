"""The processes that hold locks of files (flock, fcntl) for which others wait: /proc/locks."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from schedtop.offcpu.measurement import LockHolder

_ARROW = "->"
"""Before a lock that is waited for; the line of the one that blocks it has the same number (man 5 proc_locks)."""


def lock_holders(tgids: Collection[int], root: Path = Path("/proc")) -> dict[int, tuple[LockHolder, ...]]:
    """By tgid, for those of `tgids` that wait: the file says only which process has a lock."""
    try:
        lines = (root / "locks").read_text("ascii", "replace").splitlines()
    except OSError:
        return {}
    holders: dict[str, int] = {}
    found: dict[int, set[int]] = {}
    for line in lines:
        number, *fields = line.split() or [""]
        waits = fields[:1] == [_ARROW]
        pid = _pid(fields[1:] if waits else fields)
        if not waits:
            holders[number] = pid
        elif pid in tgids:
            found.setdefault(pid, set()).add(holders.get(number, 0))
    names = {pid: _name(pid, root) for pids in found.values() for pid in pids}
    return {tgid: tuple(names[pid] for pid in sorted(pids)) for tgid, pids in found.items()}


def _pid(fields: list[str]) -> int:
    """0 for a lock of an open file description (-1), and for what cannot be read."""
    try:
        return max(0, int(fields[3]))
    except (ValueError, IndexError):
        return 0


def _name(pid: int, root: Path) -> LockHolder:
    try:
        return LockHolder(pid, (root / str(pid) / "comm").read_bytes()[:-1].decode("utf-8", "replace"))
    except OSError:
        return LockHolder(pid, "")
