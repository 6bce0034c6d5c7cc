"""The directory of what is kept of earlier starts: compiled programs (program_cache.py), answers of BTF (kept_btf.py).

Imports little: the first thing of a start asks here (early_compiler.py).
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

DIRECTORY_VARIABLE = "SCHEDTOP_CACHE"
"""Names another directory; empty: nothing is kept."""

PROGRAMS = "*.json"
"""The files of compiled programs in it."""


def cache_directory() -> Path | None:
    """Where root, or this user, keeps compiled programs; `None`: nowhere."""
    chosen = os.environ.get(DIRECTORY_VARIABLE)
    if chosen is not None:
        return Path(chosen) if chosen else None
    if not os.geteuid():
        # Not below HOME, which may be that of the invoking user of sudo.
        return Path("/var/cache/schedtop")
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "schedtop"
    except RuntimeError:
        return None  # a user without a home


def keeps_programs() -> bool:
    """Whether anything is kept that might be found."""
    directory = cache_directory()
    return directory is not None and is_ours(directory) and any(directory.glob(PROGRAMS))


def is_ours(directory: Path) -> bool:
    """Whether it is a directory of our own that no other user can write to."""
    try:
        status = os.lstat(directory)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022
