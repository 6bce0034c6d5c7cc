"""The cgroup of tasks where the kernel side cannot tell it (tracepoint front end): read from /proc now and then."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from schedtop.sources.host.cgroups import group_directory, mounted_group
from schedtop.sources.host.pid_numbers import PROC, PidNumbers, SameNumbers, shows_host

MOST_A_TIME = 500
"""How many tasks are looked up in one call; the others wait for the next one."""

KEEP_S = 30.0
"""How long an answer holds: a task may move to another group."""

INITIAL_CGROUP_NAMESPACE = "cgroup:[4026531835]"
"""PROC_CGROUP_INIT_INO of include/linux/proc_ns.h."""

HIDDEN = "this cgroup namespace hides how deep its groups are: run schedtop in the host's (docker run --cgroupns=host)"

_MOST_KEPT = 20_000


class TaskCgroups:
    """The ids of tasks' groups in the hierarchy of the cpu controller, mounted at `root`.

    `numbers`: how the tids that `ids` is asked for are called in `proc`; the same without it.
    """

    def __init__(self, root: Path | None, proc: Path = PROC, numbers: PidNumbers | None = None) -> None:
        self._root = root
        self._top = mounted_group(root) if root else "/"
        self._proc = proc
        self._numbers = numbers or SameNumbers(proc)
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
            # One that /proc does not show may only be too new for the translation: that is not kept.
            if room and self._known.get(tid, (-KEEP_S, 0))[0] + KEEP_S <= now and (number := self._numbers.inside(tid)):
                self._known[tid] = (now, self.look_up(number))
                room -= 1
        return [self._known.get(tid, (0.0, 0))[1] for tid in tids]

    def look_up(self, number: int) -> int:
        """The id of the group that a task is in now, by its number in this /proc; 0 where it is not known."""
        try:
            path = cpu_group(os.fsdecode((self._proc / str(number) / "cgroup").read_bytes()))
            # Each time: a service that starts again has its path again, and another id.
            directory = self._root and group_directory(self._root, self._top, path)
            return os.stat(directory).st_ino if directory else 0
        except OSError:
            return 0


def cpu_group(text: str) -> str:
    """The path in the cpu controller's hierarchy, from the text of /proc/TID/cgroup: v1 if it is there, else v2."""
    unified = ""
    # Not splitlines: to that a form feed in a group's name is the end of a line, too.
    for line in text.split("\n"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "cpu" in controllers.split(","):
            return path
        if number == "0":
            unified = path
    return unified


def levels_above(root: Path, proc: Path = PROC) -> int:
    """How far below the root of the host's hierarchy `root` is. Raises ValueError where a cgroup namespace hides it.

    Inside of one the host's kthreadd, which never leaves the root (cgroup_init_kthreadd()), is as many steps up as the
    namespace's own group is deep; it can be seen where /proc is the host's.
    """
    level = 0
    try:
        if os.readlink(proc / "self" / "ns" / "cgroup") != INITIAL_CGROUP_NAMESPACE:
            steps = _kthreadd_group(proc).split("/")[1:] if shows_host(proc) else ()
            if not steps or set(steps) - {"", ".."}:
                raise ValueError(HIDDEN)
            level = steps.count("..")
    except OSError:
        pass  # a kernel without them
    names = [name for name in mounted_group(root, proc / "self" / "mountinfo").split("/") if name]
    return level + sum(-1 if name == ".." else 1 for name in names)


def _kthreadd_group(proc: Path) -> str:
    return cpu_group(os.fsdecode((proc / "2" / "cgroup").read_bytes()))
