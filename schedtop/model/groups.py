"""Tasks and pairs added up by thread, process, cgroup, container or pid namespace (one of `rows.GROUPS`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt

from schedtop.model.containers import HOST, cgroup_label, container_label
from schedtop.model.rows import GROUPS, PAIR_SUMS, ROLES, TASK_SUMS, Rows, neighbours, take_rows, text

NAME_BYTES = 48

NO_CONTAINER = 1
"""The id of what is in no container: the root cgroup has it, and is in none."""

GROUP_DTYPE = np.dtype(
    [("id", "<u8"), ("name", f"S{NAME_BYTES}"), ("tasks", "<i8")]
    + [(name, "<i8") for name in (*TASK_SUMS, "max_wait_ns", "waiting")]
)
"""A group of tasks in one interval: how many they are, the sums of their counters, their longest wait, and how many
of them wait at its end (`waiting`). `id` is the value of the id field; of a container, its least cgroup id."""

GROUP_PAIR_DTYPE = np.dtype(
    [
        ("victim_id", "<u8"),
        ("victim_name", f"S{NAME_BYTES}"),
        ("other_id", "<u8"),
        ("other_name", f"S{NAME_BYTES}"),
    ]
    + [(name, "<i8") for name in PAIR_SUMS]
)
"""A victim's group and that of the tasks that kept it waiting, with the counters of PAIR_DTYPE added. A source of
interrupts is a group of its own: its `other_id` is FIRST_INTERRUPT_ID or more."""

FIRST_INTERRUPT_ID = 1 << 63
"""The ids of sources of interrupts are from here on, of whatever groups the tasks are in."""

Ids = npt.NDArray[np.uint64]


def group_tasks(rows: Rows, kind: str, cgroups: Mapping[int, str]) -> Rows:
    """Rows of GROUP_DTYPE in order of id, from rows of TASK_DTYPE; `cgroups` has the paths by id."""
    ids = group_key(rows, kind, cgroups)
    order, starts = neighbours([ids])
    grouped = np.zeros(len(starts), GROUP_DTYPE)
    if not len(starts):
        return grouped
    sorted_rows = take_rows(rows, order)
    grouped["id"] = ids[order][starts]
    grouped["name"] = _names(sorted_rows[starts], kind, cgroups, "")
    grouped["tasks"] = np.diff(np.append(starts, len(rows)))
    for name in TASK_SUMS:
        grouped[name] = np.add.reduceat(sorted_rows[name], starts)
    grouped["max_wait_ns"] = np.maximum.reduceat(sorted_rows["max_wait_ns"], starts)
    grouped["waiting"] = np.add.reduceat((sorted_rows["waiting_ns"] > 0).astype(np.int64), starts)
    return grouped


def group_pairs(rows: Rows, kind: str, cgroups: Mapping[int, str]) -> Rows:
    """Rows of GROUP_PAIR_DTYPE in order of both ids, from rows of PAIR_DTYPE."""
    victims, others = (group_key(rows, kind, cgroups, role) for role in ROLES)
    keys = [victims, _with_interrupts(rows, others)]
    order, starts = neighbours(keys)
    grouped = np.zeros(len(starts), GROUP_PAIR_DTYPE)
    if not len(starts):
        return grouped
    sorted_rows = take_rows(rows, order)
    for role, ids in zip(ROLES, keys, strict=True):
        grouped[f"{role}_id"] = ids[order][starts]
        grouped[f"{role}_name"] = _names(sorted_rows[starts], kind, cgroups, role)
    sources = sorted_rows["other_interrupt"][starts]
    grouped["other_name"] = np.where(sources != b"", sources, grouped["other_name"])
    for name in PAIR_SUMS:
        grouped[name] = np.add.reduceat(sorted_rows[name], starts)
    return grouped


def _with_interrupts(pairs: Rows, others: Ids) -> Ids:
    """The ids of the other tasks' groups; sources of interrupts have their own, which are always the same."""
    sources = pairs["other_interrupt"]
    places = np.flatnonzero(sources != b"")
    if len(places):
        others = others.copy()
        others[places] = [FIRST_INTERRUPT_ID | crc32(source) for source in sources[places].tolist()]
    return others


def group_key(rows: Rows, kind: str, cgroups: Mapping[int, str], role: str = "") -> Ids:
    """The id of each row's group, 0 if unknown, shape (rows,). `role` is `victim` or `other` in rows of PAIR_DTYPE."""
    values: Ids = rows[_field(role, GROUPS[kind])].astype(np.uint64)
    if kind != "container":
        return values
    known, inverse = np.unique(values, return_inverse=True)
    containers = container_ids(cgroups)
    return np.array([containers.get(cgroup, 0) for cgroup in known.tolist()], np.uint64)[inverse]


def group_name(rows: Rows, kind: str, cgroups: Mapping[int, str], role: str = "") -> list[str]:
    """The name of each row's group; rows of tasks, of slow waits, or (with a `role`) of pairs."""
    ids, first, inverse = np.unique(group_key(rows, kind, cgroups, role), return_index=True, return_inverse=True)
    names = [text(name) for name in _names(rows[first], kind, cgroups, role)] if len(ids) else []
    return [names[index] for index in inverse.tolist()]


def group_members(ids: Sequence[int], kind: str, cgroups: Mapping[int, str]) -> list[int]:
    """The values of the id field that belong to these groups: of a container, all its cgroups."""
    if kind != "container":
        return list(ids)
    return [cgroup for cgroup, container in container_ids(cgroups).items() if container in ids]


def container_ids(cgroups: Mapping[int, str]) -> dict[int, int]:
    """The container of each known cgroup: the least id of a cgroup in it, NO_CONTAINER outside of them."""
    least: dict[str, int] = {}
    labels = {cgroup: container_label(path) for cgroup, path in cgroups.items()}
    for cgroup, label in labels.items():
        least[label] = min(cgroup, least.get(label, cgroup))
    least[HOST] = NO_CONTAINER
    return {cgroup: least[label] for cgroup, label in labels.items()}


def _field(role: str, field: str) -> str:
    return f"{role}_{field}" if role else field


def _names(rows: Rows, kind: str, cgroups: Mapping[int, str], role: str) -> list[bytes]:
    """A name for each row's group, as UTF-8 that fits into NAME_BYTES."""
    if kind in ("thread", "process"):
        names = rows[_field(role, "comm")].tolist()
        process = _field(role, "process")
        if kind == "process" and process in (rows.dtype.names or ()):
            # A kernel thread has no process name but its own.
            names = [name or own for name, own in zip(rows[process].tolist(), names, strict=True)]
        return [name or b"?" for name in names]
    say: Callable[[int], str] = {"cgroup": _cgroup_name, "container": _container_name}.get(kind, _namespace_name)(
        cgroups
    )
    return [_bytes(say(number)) for number in rows[_field(role, GROUPS[kind])].tolist()]


def _cgroup_name(cgroups: Mapping[int, str]) -> Callable[[int], str]:
    def name(cgroup: int) -> str:
        return cgroup_label(cgroups[cgroup]) if cgroup in cgroups else f"cgroup {cgroup}" if cgroup else "?"

    return name


def _container_name(cgroups: Mapping[int, str]) -> Callable[[int], str]:
    def name(cgroup: int) -> str:
        return container_label(cgroups[cgroup]) if cgroup in cgroups else "?"

    return name


def _namespace_name(_cgroups: Mapping[int, str]) -> Callable[[int], str]:
    return lambda number: f"pidns {number}" if number else "?"


def _bytes(name: str) -> bytes:
    """Cut at a whole character."""
    return name.encode()[:NAME_BYTES].decode("utf-8", "ignore").encode()
