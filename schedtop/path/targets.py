"""Which tasks a path is asked of."""

from __future__ import annotations

from dataclasses import dataclass

from schedtop.capture.events import Capture


@dataclass(frozen=True, slots=True)
class Targets:
    """Every part that is given must hold; within a part one value is enough. Without parts: all tasks.

    `comms`: parts of names, upper and lower case alike. `members`: the tasks of a cgroup. `words`: as it was asked for.
    """

    tids: tuple[int, ...] = ()
    tgids: tuple[int, ...] = ()
    comms: tuple[str, ...] = ()
    members: frozenset[int] | None = None
    words: str = ""

    @property
    def chosen(self) -> bool:
        """Whether it is about some tasks only."""
        return bool(self.tids or self.tgids or self.comms) or self.members is not None

    def include(self, capture: Capture, tid: int) -> bool:
        """Whether a task is among them."""
        names = capture.task_names
        if self.tids and tid not in self.tids:
            return False
        if self.tgids and names.tgid(tid) not in self.tgids:
            return False
        if self.members is not None and tid not in self.members:
            return False
        return not self.comms or any(comm.lower() in names.name(tid).lower() for comm in self.comms)


EVERY_TASK = Targets()
