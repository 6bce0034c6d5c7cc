"""Which tasks are new, without reading all of /proc each time.

Numbers of tasks are handed out in a circle (idr_alloc_cyclic in kernel/pid.c), and /proc/loadavg tells the last one:
what was born since lies between the last one then and the last one now. All of /proc is gone through only now and then,
or when there were so many births that it is quicker.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

SWEEP_EVERY = 15
"""After so many looks all of /proc is gone through once more: a tid can be chosen by hand (clone3, CRIU)."""

MOST_PROBES = 2000
"""At most so many tids are tried one by one, or half as many as there are tasks."""

LAST_ONES = 64
"""So many of the last tids are tried once more at the next look: a tid is given before its task is there."""

FIRST_TID = 300
"""RESERVED_PIDS: where the circle begins again."""


class Births:
    """Looks for new tasks. `begun`: the line `processes` of /proc/stat, which all births of the host are in."""

    def __init__(self, root: str = "/proc") -> None:
        self._root = root
        self._cursor = -1
        self._begun = -1
        self._again: list[int] = []
        self._looks = 0
        self._trusted = os.readlink(f"{root}/self") == str(os.getpid())
        """Whether the cursor is that of the tids seen: not where /proc is another pid namespace's."""
        self._pid_max = _number(Path(f"{root}/sys/kernel/pid_max"), 1 << 22)

    def candidates(
        self, begun: int, known: Collection[int], threads: Callable[[int], int]
    ) -> Iterable[tuple[int, int]]:
        """Tids that may be new, each with its process (0: not known). `threads`: how many of a process are known."""
        cursor, before = last_tid(self._root), self._cursor
        # Half a circle of births: the cursor may have gone round unseen.
        born, self._cursor, self._begun = begun - self._begun, cursor, begun
        probes = between(before, cursor, self._pid_max) if before >= 0 else []
        unsure, self._again = self._again, probes[-LAST_ONES:]
        self._looks += 1
        too_many = len(probes) > max(MOST_PROBES, len(known) // 2) or born > self._pid_max // 2
        if not self._trusted or before < 0 or cursor < 0 or too_many or self._looks > SWEEP_EVERY:
            return self._sweep(known, threads)
        return [(tid, 0) for tid in (*unsure, *probes)]

    def _sweep(self, known: Collection[int], threads: Callable[[int], int]) -> Iterator[tuple[int, int]]:
        """All tids that are not known, by the processes and how many threads each has (links of its directory)."""
        before, self._looks = self._cursor, 0
        for tgid in map(int, filter(str.isdecimal, os.listdir(self._root))):
            directory = f"{self._root}/{tgid}/task"
            try:
                # Two links are not threads: the directory itself and its parent's.
                if tgid in known and os.stat(directory).st_nlink - 2 == threads(tgid):
                    continue
                tids = os.listdir(directory)
            except OSError:
                continue  # ended, or not for us to see
            for tid in map(int, tids):
                if tid not in known:
                    yield tid, tgid
        self._cursor = last_tid(self._root)
        # What was born during the sweep may have been missed by it.
        self._again = between(before, self._cursor, self._pid_max)[-MOST_PROBES:]


class UnseenTasks:
    """Counts the tasks that came and went between two looks: all that began, less those that were found."""

    def __init__(self, begun: int) -> None:
        self._first = begun
        self._due = 0
        self._found = 0

    def unseen(self, begun: int, found: int) -> int:
        """How many there were up to the look before this one: what began just now may still be found.

        `begun`: how many have begun by now, since boot; `found` new ones at this look.
        """
        self._found += found
        unseen, self._due = max(0, self._due - self._found), begun - self._first
        self._found += unseen
        return unseen


def last_tid(root: str = "/proc") -> int:
    """The tid that was given last, -1 where that is not told."""
    try:
        return int(Path(f"{root}/loadavg").read_bytes().split()[4])
    except (OSError, ValueError, IndexError):
        return -1


def between(before: int, now: int, pid_max: int) -> list[int]:
    """The tids given after `before` up to `now`, through the end of the circle if it went round."""
    if now >= before:
        return [*range(before + 1, now + 1)]
    return [*range(before + 1, pid_max), *range(FIRST_TID, now + 1)]


def _number(path: Path, otherwise: int) -> int:
    try:
        return int(path.read_bytes())
    except (OSError, ValueError):
        return otherwise
