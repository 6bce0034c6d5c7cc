"""What a process has mapped, and how such files are opened by one who may open anything."""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass

MOST_MAPS_BYTES = 64 << 20
"""A process of the kernel's most mappings (sysctl vm.max_map_count) has 6 MB."""

_LINE = re.compile(
    rb"^([0-9a-f]+)-([0-9a-f]+) ..x. ([0-9a-f]+) [0-9a-f]+:[0-9a-f]+ (\d+) *(.*)$", re.M
)  # man 5 proc; executable ones
_DELETED = b" (deleted)"
_NO_FILES = (b"/dev/zero", b"/SYSV", b"/anon_hugepage")
"""How the names of memory begin that has an inode, but no file."""

_ESCAPED = re.compile(rb"\\012")


@dataclass(frozen=True, slots=True)
class Mapping:
    """Executable memory: addresses, where in the file it begins, the file's inode number (0: none) and name."""

    start: int
    end: int
    offset: int
    inode: int
    name: str


@dataclass(frozen=True, slots=True)
class Maps:
    """Those of a process, in ascending order, and who runs it."""

    pid: int
    user: int
    inside: int
    mappings: tuple[Mapping, ...]

    def at(self, address: int) -> Mapping | None:
        """The mapping of an address."""
        index = bisect_right(self.mappings, address, key=lambda one: one.start) - 1
        return self.mappings[index] if index >= 0 and address < self.mappings[index].end else None


def read_maps(pid: int) -> Maps | None:
    """`None`: it is gone, has none, or may not be looked at."""
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            text = file.read(MOST_MAPS_BYTES)
        with open(f"/proc/{pid}/status", "rb") as file:
            said = dict(line.split(b":", 1) for line in file.read().splitlines() if b":" in line)
        user, inside = int(said[b"Uid"].split()[1]), int(said.get(b"NSpid", said[b"Pid"]).split()[-1])
    except (OSError, KeyError, ValueError, IndexError):
        return None
    found = []
    for start, end, offset, inode, name in _LINE.findall(text):
        plain = _ESCAPED.sub(b"\n", name.removesuffix(_DELETED)).decode("utf-8", "replace")
        number = 0 if name.startswith(_NO_FILES) else int(inode)
        found.append(Mapping(int(start, 16), int(end, 16), int(offset, 16), number, plain))
    return Maps(pid, user, inside, tuple(found)) if text else None


def open_mapped(pid: int, mapping: Mapping) -> int | None:
    """The file of a mapping, to be read; `None`: it may not be, or is no regular file."""
    with suppress(OSError):
        try:
            held = os.open(f"/proc/{pid}/map_files/{mapping.start:x}-{mapping.end:x}", os.O_PATH | os.O_CLOEXEC)
        except PermissionError:
            held = os.open(f"/proc/{pid}/root{mapping.name}", os.O_PATH | os.O_CLOEXEC)
        try:
            if os.fstat(held).st_ino == mapping.inode:
                return _open_held(held)
        finally:
            os.close(held)
    return None


def open_perf_map(maps: Maps) -> int | None:
    """The perf map of a process, in its own /tmp, if it is a regular file of root's or of its user's."""
    root = directory = held = -1
    try:
        root = os.open(f"/proc/{maps.pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        directory = os.open("tmp", os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root)
        held = os.open(f"perf-{maps.inside}.map", os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        return _open_held(held) if os.fstat(held).st_uid in (0, maps.user) else None
    except OSError:
        return None
    finally:
        for one in (root, directory, held):
            if one >= 0:
                os.close(one)


def open_trusted(path: str) -> int | None:
    """A regular file of root's by its name."""
    try:
        held = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _open_held(held) if os.fstat(held).st_uid == 0 else None
    finally:
        os.close(held)


def _open_held(held: int) -> int | None:
    """What an O_PATH descriptor stands for, opened to be read if it is a regular file: no other file can come between.

    O_NONBLOCK: a lease of somebody's is not waited for.
    """
    if not stat.S_ISREG(os.fstat(held).st_mode):
        return None
    try:
        return os.open(f"/proc/self/fd/{held}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
