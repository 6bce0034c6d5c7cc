"""The labels of groups of tasks: what outlives a restart."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from schedtop.base.units import printable
from schedtop.model.containers import container_label
from schedtop.model.rows import Integers, Rows, text


def labels_of(rows: Rows, by: str, cgroups: Mapping[int, str]) -> tuple[list[str], Integers]:
    """Labels of the groups of rows with `cgroup_id`, `process` and `comm`, and the place of each row among them.

    A cgroup's label is its path, a process's its name: both outlive a restart, which an id does not. Empty: not known.
    """
    keys: npt.NDArray[np.generic] = rows["cgroup_id"]
    if by == "process":
        # A kernel thread has no process name but its own.
        keys = np.where(rows["process"] == b"", rows["comm"], rows["process"])
    distinct, places = np.unique(keys, return_inverse=True)
    if by == "process":
        return [text(name) for name in distinct.tolist()], places
    paths = [cgroups.get(cgroup, "") for cgroup in distinct.tolist()]
    if by == "container":
        return [container_label(path) if path else "" for path in paths], places
    return [printable(path) for path in paths], places
