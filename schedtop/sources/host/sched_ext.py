"""The sched_ext scheduler that is loaded, if one is: a BPF program that decides which task runs where (kernel 6.12).

It may keep tasks in queues of its own that several CPUs are served from (Documentation/scheduler/sched-ext.rst): such a
task waits for no CPU in particular, and `rq.nr_running` counts it for the one that it ran on last.
"""

from __future__ import annotations

from pathlib import Path

DIRECTORY = Path("/sys/kernel/sched_ext")

EXT_TAKES = ("queue", "queue_length")
EXT_QUEUES = "the sched_ext scheduler {} may keep tasks in queues that are no CPU's"
"""What is not known of the CPUs with such a scheduler, and why."""


def loaded_scheduler(directory: Path = DIRECTORY) -> str:
    """Its name, empty: none is. One that begins or ends counts."""
    try:
        if (directory / "state").read_text().strip() == "disabled":
            return ""
    except OSError:
        return ""  # this kernel has no sched_ext
    try:
        return (directory / "root/ops").read_text().strip() or "unnamed"
    except OSError:
        return "unnamed"


class SchedExt:
    """Asked at each reading: which one was loaded in the time before it."""

    def __init__(self, directory: Path = DIRECTORY) -> None:
        self._directory = directory if directory.is_dir() else None
        self._before = ""

    def since_last(self) -> str:
        """The name of the one that is loaded, or was when this was asked last."""
        if self._directory is None:
            return ""
        before, self._before = self._before, loaded_scheduler(self._directory)
        return self._before or before
