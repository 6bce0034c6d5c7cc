"""The names of tasks that the kernel side knows by number only: looked up where its own counters are."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from schedtop.base.cpu_lists import cpu_list
from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.model.rows import TASK_NAME_DTYPE, TREATMENT, Integers, Rows, take_rows
from schedtop.model.sched_class import SchedClass
from schedtop.sources.kernel.mapped_rows import MappedRows
from schedtop.sources.kernel.pid_numbers import pid_numbers
from schedtop.sources.scheduler.process_names import ProcessNames

_FROM_SLOT = ("tgid", "comm", "cgroup_id", "pid_namespace", *(name for name, _ in TREATMENT))

MOST_MASKS = 16
"""Of how many tasks an interval the affinity mask is asked for: those that waited longest."""

LEAST_DELAY_NS = NS_PER_MS
"""Of a task that has waited less in an interval it does not matter where it may run."""

KEEP_MASKS_NS = 3 * NS_PER_S
"""How long a task keeps the mask that it was found with."""


class TaskNames:
    """The tasks of one moment.

    `slots`: the kernel's task table (a power of two of them), `overflow`: the rows that found no place in it.
    """

    def __init__(self, slots: Rows | MappedRows, overflow: Rows, names: ProcessNames) -> None:
        self._slots = slots
        self._overflow = take_rows(overflow, np.argsort(overflow["tid"])) if len(overflow) else overflow
        self._names = names

    def find(self, tids: Integers) -> Rows:
        """TASK_NAME_DTYPE rows of some tids, in their order; of one that is gone only its tid, its name if possible."""
        found = self._known(tids)
        found["process"] = self.processes(found["tid"], found["tgid"], found["comm"])
        return found

    def treated(self, tids: Integers) -> Rows:
        """TASK_NAME_DTYPE rows of some tids, in their order, without the names of processes."""
        return self._known(tids)

    def comms(self, tids: Integers) -> npt.NDArray[np.bytes_]:
        """The comm of some tids, in their order."""
        comms: npt.NDArray[np.bytes_] = self._known(tids)["comm"]
        return comms

    def _known(self, tids: Integers) -> Rows:
        """All but the names of processes."""
        found = np.zeros(len(tids), TASK_NAME_DTYPE)
        found["tid"] = tids
        if not len(tids):
            return found
        places = tids.astype(np.int64) & (len(self._slots) - 1)
        rows = self._slots.take(places)
        self._copy(found, rows, rows["tid"] == tids)
        if len(self._overflow):
            places = np.minimum(np.searchsorted(self._overflow["tid"], tids), len(self._overflow) - 1)
            rows = take_rows(self._overflow, places)
            self._copy(found, rows, rows["tid"] == tids)
        for index in ((found["comm"] == b"") & (found["tid"] != 0)).nonzero()[0]:
            found["comm"][index] = self._names.name(int(tids[index]))
        return found

    def processes(self, tids: Integers, tgids: Integers, comms: npt.NDArray[np.bytes_]) -> npt.NDArray[np.bytes_]:
        """The comm of each task's thread group leader: from the leader's slot, else from /proc."""
        led = (tids != tgids).nonzero()[0]
        names: npt.NDArray[np.bytes_] = comms.copy()
        if not len(led):
            return names
        tgids = tgids[led]
        leaders = tgids.astype(np.int64) & (len(self._slots) - 1)
        rows = self._slots.take(leaders)
        names[led] = rows["comm"]
        for index in (rows["tid"] != tgids).nonzero()[0].tolist():
            names[led[index]] = self._names.name(int(tgids[index]))
        return names

    @staticmethod
    def _copy(found: Rows, rows: Rows, known: npt.NDArray[np.bool_]) -> None:
        for name in _FROM_SLOT:
            found[name][known] = rows[name][known]


class Affinities:
    """How many CPUs the affinity masks of tasks allow; each answer holds for KEEP_MASKS_NS."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[int, int]] = {}

    def note(self, tasks: Rows, now_ns: int) -> None:
        """Fills `allowed_cpus` of the tasks (TASK_DTYPE) with the largest run delays, and of real-time ones with the
        largest run times; 0 for one that is gone."""
        lost_ns = np.where(tasks["sched_class"] == SchedClass.RT, tasks["run_ns"], 0) + tasks["run_delay_ns"]
        chosen = (lost_ns >= LEAST_DELAY_NS).nonzero()[0]
        if not len(chosen):
            self._known.clear()
            return
        if len(chosen) > MOST_MASKS:
            chosen = chosen[lost_ns[chosen].argsort()[-MOST_MASKS:]]
        of = list(zip(tasks["tid"][chosen].tolist(), tasks["start_ns"][chosen].tolist(), strict=True))
        since_ns = now_ns - KEEP_MASKS_NS
        fresh = {task: known for task, known in self._known.items() if known[0] > since_ns}
        self._known = {task: fresh.get(task) or (now_ns, _count_allowed(task[0])) for task in of}
        tasks["allowed_cpus"][chosen] = [self._known[task][1] for task in of]


def _count_allowed(tid: int) -> int:
    try:
        return len(allowed_cpus(tid))
    except OSError:
        return 0


def allowed_cpus(tid: int) -> set[int]:
    """Which CPUs a task of the host may use. Raises OSError where that cannot be told."""
    numbers = pid_numbers()
    number = numbers.inside(tid)
    if not number:
        raise ProcessLookupError(f"/proc does not show task {tid} of the host")
    if numbers.for_calls:
        return os.sched_getaffinity(number)
    lines = Path(f"/proc/{number}/status").read_bytes().splitlines()
    found = next((line.split()[1] for line in lines if line.startswith(b"Cpus_allowed_list:")), b"")
    return set(cpu_list(found.decode()))
