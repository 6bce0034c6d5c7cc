"""The task, or the group of tasks, that is selected in a View."""

from __future__ import annotations

from typing import NamedTuple

from schedtop.history.view import View
from schedtop.model.groups import group_key, group_tasks
from schedtop.model.rows import text
from schedtop.widgets.strips import steady


class ChosenGroup(NamedTuple):
    """A group of tasks: its id, its name and its longest wait."""

    id: int
    name: str
    max_wait_ns: int


def selected_group(view: View) -> ChosenGroup | None:
    """The selected group, or the single task; `None` if none is selected, or it is not in the window."""
    key, kind = view.settings.selected_task, view.settings.group
    if key is None:
        return None
    rows = view.tasks
    if kind == "thread":
        found = rows[(rows["tid"] == key[0]) & (rows["start_ns"] == key[-1])]
        if not len(found):
            return None
        return ChosenGroup(key[0], f"{steady(text(found[0]['comm']))} ({key[0]})", int(found[0]["max_wait_ns"]))
    members = rows[group_key(rows, kind, view.frame.cgroups) == key[0]]
    if not len(members):
        return None
    group = group_tasks(members, kind, view.frame.cgroups)
    return ChosenGroup(key[0], steady(text(group[0]["name"])), int(group[0]["max_wait_ns"]))


def selected_tid(view: View) -> int:
    """The selected task, 0 if none is selected or groups are shown."""
    chosen = selected_group(view) if view.settings.group == "thread" else None
    return chosen.id if chosen is not None else 0
