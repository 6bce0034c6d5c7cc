"""What the path on the screen is asked of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PathSubject:
    """What the path is asked of: a thread, or (`tid` is 0) all threads of a process; its name when it was chosen."""

    tid: int
    tgid: int
    name: str

    @property
    def is_process(self) -> bool:
        """Whether all threads of the process are meant."""
        return not self.tid

    @property
    def words(self) -> str:
        """It in words."""
        return f"process {self.name} ({self.tgid})" if self.is_process else f"{self.name} ({self.tid})"
