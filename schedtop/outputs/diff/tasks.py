"""Tasks of two runs that are the same to people: by the names of process and thread, or by cgroup, never by tid."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from schedtop.base.units import NS_PER_MS
from schedtop.model.containers import cgroup_label

LISTED = 50
"""A snapshot lists so many tasks unless asked otherwise; with as many there may be more."""

NUMBERED = re.compile(r"[-_/:#](?:[0-9]+|u[0-9]+:[0-9]+)[-_/:#0-9a-zA-Z]*$")


@dataclass(slots=True)
class TaskSum:
    """Tasks of one name added up. `events`: what their run delay rests on, timeslices, or 10 ms of a long wait."""

    tasks: int = 0
    run_delay_ns: int = 0
    events: int = 0

    def add(self, task: Mapping[str, Any]) -> None:
        """One more task."""
        delay_ns = task["run_delay_ns"] or 0
        self.tasks += 1
        self.run_delay_ns += delay_ns
        self.events += max(task["timeslices"] or 0, delay_ns // (10 * NS_PER_MS))


def tasks_of(data: Mapping[str, Any]) -> dict[str, TaskSum]:
    """The tasks of a report by the names of their process and thread."""
    return _added(data, task_name)


def cgroups_of(data: Mapping[str, Any]) -> dict[str, TaskSum]:
    """The tasks of a report by cgroup, where that is known."""
    return _added(data, lambda task: cgroup_label(task["cgroup"]) if task["cgroup"] else "")


def is_complete(data: Mapping[str, Any]) -> bool:
    """Whether a task that is not listed was not there."""
    tasks = data["tasks"]
    if tasks is None or data["loss"].get("tasks_forgotten") or data["loss"].get("tasks_untracked"):
        return False
    known = data["counts"].get("tasks")
    return len(tasks) == known if known is not None else len(tasks) < LISTED


def task_name(task: Mapping[str, Any]) -> str:
    """`process/comm`, or one of them where they are the same; numbers at the end are left out (`kworker/*`)."""
    comm = NUMBERED.sub("/*", task["comm"])
    process = NUMBERED.sub("/*", task["process"] or "") or comm
    return comm if comm == process else f"{process}/{comm}"


def _added(data: Mapping[str, Any], name: Callable[[Mapping[str, Any]], str]) -> dict[str, TaskSum]:
    added: dict[str, TaskSum] = {}
    for task in data["tasks"] or ():
        if key := name(task):
            added.setdefault(key, TaskSum()).add(task)
    return added
