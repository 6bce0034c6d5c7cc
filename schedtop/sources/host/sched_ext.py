"""The sched_ext scheduler that is loaded, if one is: a BPF program that decides which task runs where (kernel 6.12).

It may keep tasks in queues of its own that several CPUs are served from (Documentation/scheduler/sched-ext.rst): such a
task waits for no CPU in particular, and `rq.nr_running` counts it for the one that it ran on last.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from schedtop.model.ext_scheduler import EXT_STATES, ExtScheduler

DIRECTORY = Path("/sys/kernel/sched_ext")

EXT_TAKES = ("queue", "queue_length")
EXT_QUEUES = "the sched_ext scheduler {} may keep tasks in queues that are no CPU's"
"""What is not known of the CPUs with such a scheduler, and why."""


def ext_queues(found: ExtScheduler) -> str:
    """Why nothing is known of the queues of CPUs beside it."""
    return EXT_QUEUES.format(found.name or "without a name")


def loaded_scheduler(directory: Path = DIRECTORY) -> ExtScheduler | None:
    """The one that is loaded; `None`: none is. One that begins or ends counts."""
    try:
        state = (directory / "state").read_text().strip()
    except OSError:
        return None  # this kernel has no sched_ext
    if state == "disabled":
        return None
    takes_all = _line(directory / "switch_all")
    return ExtScheduler(
        _line(directory / "root/ops"),
        state if state in EXT_STATES else "enabled",
        takes_all == "1" if takes_all in ("0", "1") else None,
    )


def _line(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


class SchedExt:
    """Asked at each reading: which one was loaded in the time before it."""

    def __init__(self, directory: Path = DIRECTORY) -> None:
        self._directory = directory if directory.is_dir() else None
        self._before: ExtScheduler | None = None

    def since_last(self) -> ExtScheduler | None:
        """The one that is loaded, or was when this was asked last: then it is `disabled`."""
        if self._directory is None:
            return None
        before, self._before = self._before, loaded_scheduler(self._directory)
        return self._before or (before and replace(before, state="disabled"))
