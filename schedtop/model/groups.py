"""Tasks and pairs added up by thread, process, cgroup, container or pid namespace (one of `rows.GROUPS`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt

from schedtop.base.breath import keep_on
from schedtop.model.containers import HOST, cgroup_label, container_label
from schedtop.model.rows import (
    GROUPS,
    PAIR_SUMS,
    ROLES,
    TASK_SUMS,
    TREATMENT,
    Integers,
    Rows,
    name_words,
    neighbours,
    take_rows,
    text,
)

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
    + [(f"{role}_tasks", "<i8") for role in ROLES]
    + [(name, "<i8") for name in PAIR_SUMS]
    + [(f"{role}_{name}", kind) for role in ROLES for name, kind in TREATMENT]
)
"""A victim's group and that of the tasks that kept it waiting, with the counters of PAIR_DTYPE added. Each TREATMENT is
what all tasks of the group have in common, else zero. `victim_tasks`, `other_tasks`: how many different threads or
processes of a name are added up as one (see `group_pairs`), else 0. A source of interrupts is a group of its own: its
`other_id` is FIRST_INTERRUPT_ID or more."""

FIRST_NAME_ID = 1 << 62
"""The ids of tasks that are added up by name are from here on."""

FIRST_INTERRUPT_ID = 1 << 63
"""The ids of sources of interrupts are from here on, of whatever groups the tasks are in."""

Ids = npt.NDArray[np.uint64]

_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)

NONE_ALIKE: Mapping[str, npt.NDArray[np.bool_]] = {}


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


def group_pairs(
    rows: Rows,
    kind: str,
    cgroups: Mapping[int, str],
    alike: Mapping[str, npt.NDArray[np.bool_]] = NONE_ALIKE,
    breathe: Callable[[], object] = keep_on,
) -> Rows:
    """Rows of GROUP_PAIR_DTYPE in order of both ids, from rows of PAIR_DTYPE.

    `alike`: masks by role of the tasks that are not told apart where they have the same name. `breathe` is called in
    between.
    """
    ids = {role: group_key(rows, kind, cgroups, role) for role in ROLES}
    named = {role: _by_name(rows, ids[role], alike.get(role), role) for role in ROLES}
    keys = [named["victim"], _with_interrupts(rows, named["other"])]
    order, starts = neighbours(keys)
    grouped = np.zeros(len(starts), GROUP_PAIR_DTYPE)
    if not len(starts):
        return grouped
    breathe()
    sorted_rows = take_rows(rows, order)
    for role, key in zip(ROLES, keys, strict=True):
        grouped[f"{role}_id"] = key[order][starts]
        if key is not ids[role]:
            grouped[f"{role}_tasks"] = _how_many(ids[role][order], starts)
            grouped[f"{role}_tasks"][~is_by_name(grouped[f"{role}_id"])] = 0
        grouped[f"{role}_name"] = _names(sorted_rows[starts], kind, cgroups, role)
        breathe()
        _note_common_treatment(grouped, sorted_rows, starts, f"{role}_")
        breathe()
    sources = sorted_rows["other_interrupt"][starts]
    grouped["other_name"] = np.where(sources != b"", sources, grouped["other_name"])
    for name in PAIR_SUMS:
        grouped[name] = np.add.reduceat(sorted_rows[name], starts)
    return grouped


def _by_name(rows: Rows, ids: Ids, alike: npt.NDArray[np.bool_] | None, role: str) -> Ids:
    """The ids of the tasks, where they are alike those of their names."""
    if alike is None or not alike.any():
        return ids
    # Of a storm they are ten thousand: the two numbers that a name is are mixed into one.
    low, high = name_words(rows, f"{role}_comm")
    mixed = low * _ODD[0] ^ high * _ODD[1]
    return np.where(alike, np.uint64(FIRST_NAME_ID) | mixed >> np.uint64(2), ids)


def is_by_name(ids: Ids) -> npt.NDArray[np.bool_]:
    """Which of these ids of a GROUP_PAIR_DTYPE are of tasks that are added up by name."""
    found: npt.NDArray[np.bool_] = (ids >= FIRST_NAME_ID) & (ids < FIRST_INTERRUPT_ID)
    return found


def _how_many(ids: Ids, starts: Integers) -> Integers:
    """How many different ids are in each of the parts that begin at `starts`."""
    part = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(ids))))
    order, different = neighbours([part, ids])
    return np.bincount(part[order][different], minlength=len(starts))


def _note_common_treatment(grouped: Rows, rows: Rows, starts: Integers, role: str) -> None:
    """Of each group the class, policy, priority and nice of its rows, if all have the same."""
    names = [f"{role}{name}" for name, _ in TREATMENT]
    same = np.ones(len(starts), bool)
    for name in names:
        same &= np.minimum.reduceat(rows[name], starts) == np.maximum.reduceat(rows[name], starts)
    for name in names:
        grouped[name] = np.where(same, rows[name][starts], 0)


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
