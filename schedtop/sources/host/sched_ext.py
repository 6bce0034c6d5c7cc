"""The sched_ext scheduler that is loaded, if one is: a BPF program that decides which task runs where (kernel 6.12).

It may keep tasks in queues of its own that several CPUs are served from (Documentation/scheduler/sched-ext.rst): such a
task waits for no CPU in particular, and `rq.nr_running` counts it for the one that it ran on last.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from schedtop.model.ext_scheduler import EXT_STATES, ExtScheduler
from schedtop.model.rows import Rows
from schedtop.model.sched_class import Policy, SchedClass, Treatment

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


def treatment_beside(told: Treatment, ext: ExtScheduler | None) -> Treatment:
    """What /proc tells of a task, where it passes for a fair one of a scheduler that has it."""
    if ext is None or not told.is_fair or not (ext.takes_all or told.policy is Policy.EXT):
        return told
    return replace(told, sched_class=SchedClass.EXT)


def note_ext(rows: Rows, ext: ExtScheduler | None, roles: Iterable[str] = ("",)) -> None:
    """The same of rows with a TREATMENT; `roles`: what the names of its fields begin with.

    task_should_scx() of kernel/sched/ext.c: all of the fair class, or those of policy SCHED_EXT. Which class a task of
    unknown policy is of is then not known.
    """
    if ext is None:
        return
    for role in roles:
        classes, policies = rows[f"{role}sched_class"], rows[f"{role}policy"]
        fair = classes == SchedClass.FAIR
        classes[fair & (bool(ext.takes_all) | (policies == Policy.EXT))] = SchedClass.EXT
        classes[fair & (not ext.takes_all) & (policies == Policy.UNKNOWN)] = SchedClass.UNKNOWN


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
