"""The process that ran longest: what many tasks wait for has one name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from schedtop.base.units import format_ns
from schedtop.model.rows import Rows, rows_where, text
from schedtop.model.sched_class import treatment
from schedtop.verdict.parts import ALIKE
from schedtop.verdict.phrases import task_words


class BiggestProcess(NamedTuple):
    """The name of what ran longest, and the tasks that have it: many short tasks are one load. None at all: no name."""

    name: bytes
    tasks: Rows

    @property
    def words(self) -> str:
        """Its name, with the number of a single task; empty if nothing ran."""
        own = self.tasks
        return task_words(int(own["tid"][0]), own["comm"][0]) if len(own) == 1 else text(self.name)

    @property
    def run_ns(self) -> int:
        """How long it ran."""
        return int(self.tasks["run_ns"].sum())

    @property
    def evidence(self) -> tuple[str, ...]:
        """How long it ran, in words, if anything did."""
        own, ran = self.tasks, format_ns(self.run_ns)
        if len(own) == 1:
            return (f"biggest: {task_words(int(own['tid'][0]), own['comm'][0], treatment(own[0]).words)} ran {ran}",)
        return (f"biggest: {text(self.name)}, {len(own)} tasks, ran {ran}",) if len(own) else ()


def biggest_of(tasks: Rows) -> BiggestProcess:
    """The process that ran longest, with all its tasks."""
    tasks = tasks[tasks["run_ns"] > 0]
    if not len(tasks):
        return BiggestProcess(b"", tasks)
    names = np.where(tasks["process"] != b"", tasks["process"], tasks["comm"])
    # Tasks without any name are not one process.
    keys = np.where(names != b"", names, tasks["tid"].astype("S16"))
    return BiggestProcess(*with_most(tasks, keys))


def with_most(tasks: Rows, keys: npt.NDArray[np.bytes_]) -> tuple[bytes, Rows]:
    """The key whose tasks ran longest, of about equal ones the first, and its tasks; at least one task."""
    found, places = np.unique(keys, return_inverse=True)
    times = np.bincount(places, tasks["run_ns"], len(found))
    most = int(np.argmax(times * ALIKE >= times.max()))
    return bytes(found[most]), rows_where(tasks, places == most)
