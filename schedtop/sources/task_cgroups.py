"""The cgroup of tasks where the kernel side cannot tell it (tracepoint front end): read from /proc now and then."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

MOST_A_TIME = 500
"""How many tasks are looked up in one call; the others wait for the next one."""

KEEP_S = 30.0
"""How long an answer holds: a task may move to another group."""

_MOST_KEPT = 20_000


class TaskCgroups:
    """The ids of tasks' groups in the hierarchy of the cpu controller, mounted at `root`."""

    def __init__(self, root: Path | None, proc: Path = Path("/proc")) -> None:
        self._root = root
        self._proc = proc
        self._known: dict[int, tuple[float, int]] = {}

    def ids(self, tids: Sequence[int]) -> list[int]:
        """The group's id of each task, 0 where it is not known (yet)."""
        if self._root is None:
            return [0] * len(tids)
        now = time.monotonic()
        if len(self._known) > _MOST_KEPT:
            self._known.clear()
        room = MOST_A_TIME
        for tid in tids:
            if room and self._known.get(tid, (-KEEP_S, 0))[0] + KEEP_S <= now:
                self._known[tid] = (now, self._look_up(tid))
                room -= 1
        return [self._known.get(tid, (0.0, 0))[1] for tid in tids]

    def _look_up(self, tid: int) -> int:
        try:
            path = cpu_group(os.fsdecode((self._proc / str(tid) / "cgroup").read_bytes()))
            # Each time: a service that starts again has its path again, and another id.
            return os.stat(f"{self._root}{path}").st_ino
        except OSError:
            return 0


def cpu_group(text: str) -> str:
    """The path in the cpu controller's hierarchy, from the text of /proc/TID/cgroup: v1 if it is there, else v2."""
    unified = ""
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "cpu" in controllers.split(","):
            return path
        if number == "0":
            unified = path
    return unified
