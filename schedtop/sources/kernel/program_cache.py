"""Compiled programs of earlier starts: on a saturated host the compiler is what a start waits for.

What is kept are instructions and layouts; the kernel verifies them at every start, as if they had just been compiled.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from schedtop.base import turn
from schedtop.base.lean import without
from schedtop.sources.kernel.cache_directory import PROGRAMS, cache_directory, is_ours
from schedtop.sources.kernel.compiler import Compiled

with without("_hashlib"):
    import hashlib

MOST_FILES = 32
"""A file for each measurement, kernel, filter and version, of about 100 KB; the oldest go."""


def compiled_before(text: str, flags: tuple[str, ...], compiler: Callable[[], Compiled]) -> Compiled:
    """The programs of this source text and these flags: kept ones, or those that `compiler` gives.

    Only files that belong to us, in a directory that no other user can write to, are believed. Raises what it raises.
    """
    directory = cache_directory()
    path = (
        directory / f"{hashlib.sha256(json.dumps([text, flags]).encode()).hexdigest()[:32]}.json" if directory else None
    )
    if path and is_ours(path.parent):
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            kept = Compiled.from_json(read_kept(path))
            turn.give()
            return kept
    compiled = compiler()
    if path:
        with suppress(OSError):
            keep(path, compiled.to_json().encode())
    return compiled


def read_kept(path: Path) -> bytes:
    """What a file of our own holds. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise PermissionError(f"{path} is not ours")
        return file.read()


def keep(path: Path, data: bytes) -> None:
    """Writes a file into the directory of what is kept, if that is ours; the oldest programs go. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_ours(path.parent):
        return
    fresh = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(fresh, path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    files = sorted(path.parent.glob(PROGRAMS), key=lambda file: file.stat().st_mtime)
    for old in files[:-MOST_FILES]:
        old.unlink(missing_ok=True)
