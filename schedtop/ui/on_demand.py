"""What the dashboard opens only when a key asks for it. The commands know how, the screen only when."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from schedtop.activity.activity import ActivitySource
    from schedtop.offcpu.measurement import OffCpuSource, Wakers
    from schedtop.path.live import PathSource
    from schedtop.path.subject import PathSubject
    from schedtop.task import TaskSource

TakeCapture = Callable[[Path, threading.Event], list[str]]
"""Captures the live kernel for a while into files in a directory, less if the event is set; lines for the user.

Raises SourceError or OutputError."""

MakeOffCpu = Callable[[int, "Wakers"], "OffCpuSource"]
"""The source of off-CPU time, not open yet, of waits of so many nanoseconds and more; what is kept of wakers."""

MakeTaskSource = Callable[[int, bool], "TaskSource"]
"""The source of a task view, not open yet: on a tid, or (true) on all threads of the process of that tgid."""


class MakePath(Protocol):
    """Makes the source of a path, not open yet."""

    def __call__(self, subject: PathSubject, min_ns: int, /, *, interrupts: bool) -> PathSource:
        """Of a thread or process, with episodes of so many nanoseconds and more, and with interrupts or without."""
        ...


MakeActivity = Callable[[], "ActivitySource"]
"""The source of what all tasks do, not open yet."""


@dataclass(frozen=True, slots=True)
class OnDemand:
    """The key of each; `None` where there is no live kernel: the key then says so.

    `why`: what all of them need that is not there, in words.
    """

    take_capture: TakeCapture | None = None
    make_offcpu: MakeOffCpu | None = None
    make_task: MakeTaskSource | None = None
    make_path: MakePath | None = None
    make_activity: MakeActivity | None = None
    why: str = ""


NOTHING = OnDemand()
