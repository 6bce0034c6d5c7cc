"""Which tasks have rows, and the names of their processes and namespaces, where there is no kernel side to tell."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from schedtop.model.rows import Rows, rows_where
from schedtop.sources.host.cgroups import CgroupNames
from schedtop.sources.proc.task_files import read_file
from schedtop.sources.proc.task_table import TaskTable
from schedtop.sources.scope import Scope

_MOST_KEPT = 20_000


class ProcPeople:
    """Completes the rows of tasks, and lets through those of a Scope."""

    def __init__(self, table: TaskTable, scope: Scope, cgroups: CgroupNames) -> None:
        self._table = table
        self._scope = scope
        self._cgroups = cgroups
        # By tid and start: a process's number alone may be another one's by now.
        self._names: dict[tuple[int, int], bytes] = {}
        self._namespaces: dict[tuple[int, int], int] = {}

    def chosen(self, rows: Rows) -> Rows:
        """The rows of the Scope, with names of processes and numbers of pid namespaces (0: not for us to see)."""
        tgids = rows["tgid"].tolist()
        starts = [*zip(rows["tid"].tolist(), rows["start_ns"].tolist(), strict=True)]
        rows["process"] = [self._process(*each) for each in zip(tgids, starts, strict=True)]
        rows["pid_namespace"] = [self._namespace(*each) for each in zip(tgids, starts, strict=True)]
        return rows_where(rows, self._passes(rows)) if self._scope else rows

    def _process(self, tgid: int, life: tuple[int, int]) -> bytes:
        leader = self._table.tasks.get(tgid)
        if leader is not None and leader.comm:
            return leader.comm
        # A leader that has not run: its name stays until it does.
        found = self._names.get(life)
        if found is None:
            if len(self._names) >= _MOST_KEPT:
                self._names.clear()
            found = self._names[life] = read_file(f"/proc/{tgid}/comm").rstrip(b"\n")[:15]
        return found

    def _namespace(self, tgid: int, life: tuple[int, int]) -> int:
        found = self._namespaces.get(life)
        if found is None:
            if len(self._namespaces) >= _MOST_KEPT:
                self._namespaces.clear()
            try:
                # pid:[4026531836]
                found = int(os.readlink(f"/proc/{tgid}/ns/pid")[5:-1])
            except (OSError, ValueError):
                found = 0
            self._namespaces[life] = found
        return found

    def _passes(self, rows: Rows) -> npt.NDArray[np.bool_]:
        scope, keep = self._scope, np.ones(len(rows), bool)
        if scope.tids:
            keep &= np.isin(rows["tid"], scope.tids)
        if scope.tgids:
            keep &= np.isin(rows["tgid"], scope.tgids)
        if scope.comms:
            parts = [comm.encode().lower() for comm in scope.comms]
            keep &= np.array([any(part in comm.lower() for part in parts) for comm in rows["comm"].tolist()], bool)
        if scope.cgroup:
            keep &= np.isin(rows["cgroup_id"], self._inside(*scope.cgroup))
        if scope.pid_namespace:
            keep &= rows["pid_namespace"] == scope.pid_namespace
        return keep

    def _inside(self, path: str, number: int) -> list[int]:
        """The ids of a group and all that are inside of it."""
        prefix = f"{path.rstrip('/')}/"
        known = self._cgroups.resolve(())
        return [number, *(cgroup for cgroup, other in known.items() if other.startswith(prefix))]
