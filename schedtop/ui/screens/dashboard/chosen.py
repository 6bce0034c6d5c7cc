"""The task or process that is selected in a pane of the dashboard."""

from __future__ import annotations

from collections.abc import Sequence

from schedtop.history.view import View
from schedtop.model.groups import FIRST_NAME_ID
from schedtop.model.rows import text
from schedtop.panes.pane import Pane
from schedtop.panes.scheduler.blame.pane import BlamePane
from schedtop.panes.scheduler.slow_waits.pane import SlowWaitsPane
from schedtop.panes.scheduler.tasks.pane import TasksPane
from schedtop.panes.task.past import Subject
from schedtop.ui.bars.keys import Key
from schedtop.ui.keys.bindings import KeyRow
from schedtop.widgets.strips import steady

OF_TASK = ("open", "path")
"""What is done with a task: it stands in the key bar while one is selected."""

NEITHER = "the task view is for tasks and processes: g groups by thread or process"

MANY = "these are many tasks that have ended: Short-lived tells of them"


def chosen_subject(pane: Pane[View], view: View | None) -> Subject | str | None:
    """The task or process of the selected row of a pane; a sentence if it is neither; `None` without a selection.

    The row need not be in the window any more: slow waits leave it within a second. The only task that passes a filter
    need not be selected.
    """
    key = pane.selected_key if isinstance(pane, TasksPane | SlowWaitsPane | BlamePane) else None
    if key is None and view is not None and isinstance(pane, TasksPane) and view.settings.filter.names_tasks:
        key = pane.only_key
    if key is None or view is None:
        return None
    kind = view.settings.group
    if isinstance(pane, SlowWaitsPane):
        return _thread(view, key[1])
    if not 0 < key[0] < FIRST_NAME_ID and kind in ("thread", "process"):
        return MANY
    if kind not in ("thread", "process"):
        return NEITHER
    if kind == "process":
        return _process(view, key[0])
    return _thread(view, key[0], key[1] if isinstance(pane, TasksPane) else 0)


def task_keys(pane: Pane[View], view: View | None, rows: Sequence[KeyRow], names: Sequence[str] = OF_TASK) -> list[Key]:
    """What of the keys of a screen stands in the bar while a task or process is selected; none without one."""
    if not isinstance(chosen_subject(pane, view), Subject):
        return []
    return [(row.first_key, row.word, row.action) for row in rows if row.name in names]


def first_key(rows: Sequence[KeyRow], name: str) -> str:
    """The first key of an action, by its name; empty if it has none."""
    return next((row.first_key for row in rows if row.name == name), "")


def _thread(view: View, tid: int, start_ns: int = 0) -> Subject:
    """The thread, as the newest Frame that knows it calls it."""
    for frame in reversed(view.series):
        for rows, role in ((frame.tasks, ""), (frame.slow_waits, ""), (frame.pairs, "victim_")):
            found = rows[rows[f"{role}tid"] == tid]
            if len(found):
                return Subject(tid, int(found[-1][f"{role}tgid"]), _name(found[-1][f"{role}comm"]), start_ns)
    return Subject(tid, 0, "", start_ns)


def _process(view: View, tgid: int) -> Subject:
    for frame in reversed(view.series):
        for rows, role in ((frame.tasks, ""), (frame.pairs, "victim_")):
            found = rows[rows[f"{role}tgid"] == tgid]
            if len(found):
                # A kernel thread has no process name but its own.
                return Subject(0, tgid, _name(found[-1][f"{role}process"] or found[-1][f"{role}comm"]))
    return Subject(0, tgid, "")


def _name(name: bytes) -> str:
    return steady(text(name))
