"""The task table: what ran, what waited, and how often each was preempted; alone or in groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from textual.geometry import Size

from schedtop.base.units import NS_PER_S, format_ns
from schedtop.history.sorting import TASK_SORTS, sort_tasks
from schedtop.history.view import View
from schedtop.model.groups import container_ids, group_tasks
from schedtop.model.rows import GROUPS, Rows, rows_where, text
from schedtop.model.sched_class import is_ordinary
from schedtop.model.waits import Cause, for_quota_ns
from schedtop.panes.first import brought_first
from schedtop.panes.pane import EDGES, Pane
from schedtop.panes.scheduler.tasks.rows import CLASSES, COLUMNS, GROUP_COLUMNS, OWNERS, QUOTA, TaskRows
from schedtop.panes.scheduler.tasks.storm import with_storm
from schedtop.widgets.canvas import surface_of
from schedtop.widgets.columns import Column
from schedtop.widgets.keyed_table import KeyedTable
from schedtop.widgets.strips import Spans, steady

QUIET_NS = 30 * NS_PER_S
"""A column is left out if it has told nothing for so long."""

MOST_FIRST, HELD_MOST = 2, 0.25
"""So many tasks come behind the one that the verdict is about: those that had its CPU for this part of its waiting."""

LITTLE = 0.02
"""Of a task that runs and waits for less of the time neither class nor process matters."""

QUIET_FIELDS = tuple(column.quiet for column in COLUMNS if column.quiet not in ("", CLASSES, OWNERS, QUOTA))


class TasksPane(Pane[View], KeyedTable[TaskRows]):
    """Tasks that ran or waited in the window, or groups of them, in the order that `s` chooses."""

    TITLE = "Tasks"
    LEAST = Size(60, 6)
    PARTS = ("tasks",)
    READING = (
        "The task that the verdict is about comes first, then what had its CPU. Run delay is the sum of the time "
        "that a task was ready to run but had no CPU, longest the longest single wait that ended in the window; "
        "`▶` marks a task that is still waiting now. invol/s counts the times a second that it was preempted "
        "although it wanted to go on. run % is of one CPU, over the window. moves are migrations between CPUs, "
        "cache and numa those of them to another cache or NUMA node. g groups tasks by process, cgroup, container"
        " or pid namespace; p99 is then the wait that one in a hundred exceeds, and the latency pane shows the "
        "waits of the selected group. Amber run delay is a tenth of the time or more; amber waits are over the "
        "threshold."
    )
    SIGNS = (
        ("a large run delay", "this task lost most", "Enter: its task view; Blame: what kept it waiting"),
        (
            "a large run % (s)",
            "this task takes the CPU",
            "fewer threads, a lower priority (nice, cpu.weight), or CPUs of its own",
        ),
        ("invol/s and run delay", "more tasks than the CPUs they may use", "run fewer, or widen their masks"),
        ("invol/s, no run delay", "it is preempted, but loses nothing", "nothing: this is harmless"),
        ("run delay, few switches", "a quota, or a pinned task", "the cause in Slow waits; taskset -cp TID"),
        ("many moves to other caches", "it loses what its cache held each time", "pin it"),
        ("it hardly runs, hardly waits", "it waits for something else", "P: its path across tasks; o: off-CPU time"),
    )
    COLUMN_HELP = (("Columns, of single tasks", COLUMNS), ("Columns, of groups (g)", GROUP_COLUMNS))

    def __init__(self, own_pid: int | None = None, *, id: str | None = None, classes: str | None = None) -> None:
        """`own_pid` is the process with the tasks that are marked as schedtop's own."""
        super().__init__(id=id, classes=classes)
        self.own_pid = own_pid
        self._kind = "thread"
        self._members: dict[int, list[int]] | None = None
        self._lacks: frozenset[str] = frozenset()
        self._victim, self._first = 0, ""
        self._counts: dict[bytes, int] = {}
        """How many tasks that have ended are added up, by their name."""
        self._moved_ns: dict[str, int] = {}
        """When each field of a column that may be left out was last not zero."""

    @property
    def key_fields(self) -> tuple[str, ...]:
        return ("tid", "start_ns") if self._kind == "thread" else ("id",)

    def table_columns(self) -> Sequence[Column[TaskRows]]:
        columns = COLUMNS if self._kind == "thread" else GROUP_COLUMNS
        return [column for column in columns if column.part not in self._lacks and column.quiet not in self._lacks]

    def context(self, rows: Rows) -> TaskRows:
        assert self.view is not None
        frame = self.view.frame
        groups = frame.groups if frame.groups and frame.groups.kind == GROUPS[self._kind] else None
        longest_ns = 0
        if self.rows is not None:
            delays_ns = self.rows["run_delay_ns"]
            one = self.rows["tid"] != 0 if self._counts else slice(None)
            longest_ns = int(delays_ns[one].max(initial=0))
        return TaskRows(
            rows,
            frame.interval_ns,
            self.own_pid,
            frame.unavailable,
            groups,
            self._members,
            self._kind,
            frame.cgroups,
            longest_ns,
            frame.threshold_ns,
            frame.slow_waits[frame.slow_waits["cause"] == Cause.THROTTLED],
            self._counts,
            self.view.host.is_this,
        )

    @property
    def wanted_lines(self) -> int | None:
        return self.table_rows + EDGES

    def show(self, view: View) -> None:
        self.view = view
        kind = view.settings.group
        if kind != self._kind:
            self._kind = kind
            self.selected_key = None
            self.forget_columns()
        lacks = frozenset(view.frame.unavailable) | ({"interrupts"} if view.frame.interrupts is None else set())
        lacks |= self._quiet(view)
        if lacks != self._lacks:
            self._lacks = lacks
            self.forget_columns()
        rows, self._counts = view.tasks, {}
        if kind == "thread" and not view.settings.shown_filter.names_tasks:
            rows, self._counts = with_storm(rows, view.frame.short_lived, surface_of(self).breathe)
            if self._counts:
                rows = sort_tasks(rows, view.settings.task_sort)
        elif kind != "thread":
            rows = sort_tasks(group_tasks(rows, kind, view.frame.cgroups), view.settings.task_sort)
        self._members = _members(view) if kind == "container" else None
        rows = self._in_order(rows, view)
        # Where some come first that would not, no column sorts all lines.
        self.set_rows(rows, None if self._first else view.settings.task_sort, view.settings.shown_filter)
        self.draw()

    def look_at(self, victim: int) -> None:
        self._victim = victim  # it comes first, and then what kept it waiting

    def _in_order(self, rows: Rows, view: View) -> Rows:
        """The rows as sorted; by run delay, the task that the verdict is about and what had its CPU come first.

        What takes the CPU waits little: it would be far below.
        """
        self._first = ""
        if not self._victim or view.settings.group != "thread" or view.settings.task_sort != "run_delay_ns":
            return rows
        pairs = rows_where(view.frame.pairs, view.frame.pairs["victim_tid"] == self._victim)
        held_ns = pairs["blocked_ns"]
        by_time = np.argsort(-held_ns, kind="stable")[:MOST_FIRST]
        waited_ns = rows["run_delay_ns"][rows["tid"] == self._victim].sum()
        held = pairs["other_tid"][by_time][held_ns[by_time] >= max(1, HELD_MOST * waited_ns)]
        # Our own share is told in the header.
        own = set(rows["tid"][rows["tgid"] == self.own_pid].tolist()) if self.own_pid else set()
        named = [self._victim, *(tid for tid in held.tolist() if tid not in own)]
        places = [place for tid in named for place in np.flatnonzero(rows["tid"] == tid)[:1].tolist()]
        first = brought_first(rows, places)
        if first is None or first["tid"][0] != self._victim:
            return rows
        self._first = steady(text(first["comm"][0]))
        return first

    def _of_interest(self, view: View) -> Rows:
        """The tasks that run or wait for some of the time, but for our own: what class and process the others have
        explains nothing."""
        tasks = view.tasks
        runnable_ns = tasks["run_ns"] + tasks["run_delay_ns"]
        own = tasks["tgid"] == (self.own_pid or -1)
        return rows_where(tasks, ~own & (runnable_ns >= view.frame.interval_ns * LITTLE))

    def _quiet(self, view: View) -> set[str]:
        """What has told nothing of any task for a while: columns that come and go would be worse."""
        quiet, tasks = set(), self._of_interest(view)
        told = {name: bool(view.tasks[name].any()) for name in QUIET_FIELDS}
        told |= {CLASSES: not is_ordinary(tasks), OWNERS: _has_owners(tasks, view.frame.cgroups)}
        told[QUOTA] = bool(for_quota_ns(view.slow_waits).any())
        for name, tells in told.items():
            if tells:
                self._moved_ns[name] = view.end_time_ns
            elif abs(view.end_time_ns - self._moved_ns.get(name, -QUIET_NS)) >= QUIET_NS:
                quiet.add(name)
        return quiet

    def view_glance(self, view: View) -> Spans:
        if not len(view.tasks):
            return [("none", "dim")]
        first, key = view.tasks[0], view.settings.task_sort
        spans: Spans = [(steady(text(first["comm"])), "strong")]
        return [*spans, (f" {format_ns(int(first[key]))}", "text")] if key.endswith("_ns") else spans

    def view_lines(self, view: View) -> Sequence[Spans]:
        filtered = f" of {len(view.frame.tasks)}" if view.settings.shown_filter else ""
        words = TASK_SORTS[view.settings.task_sort]
        count = f"{len(view.tasks)}{filtered}"
        if self._kind != "thread" and self.rows is not None:
            count = self.keyed(f"{count} by {self._kind}: {len(self.rows)}", "group")
        first = f"{self._first} first · " if self._first else ""
        self.set_title(f"{count} · {first}{self.keyed('sorted', 'sort')} by {words}", self.position_text())
        lines: list[Spans] = list(self.table_lines())
        if not len(view.tasks):
            lines.extend(self.sentence(_empty_text(view)))
        return lines


def _has_owners(tasks: Rows, cgroups: Mapping[int, str]) -> bool:
    """Whether one of the tasks is a further thread of a process, or in a cgroup of its own."""
    named = (cgroups.get(cgroup, "") for cgroup in set(tasks["cgroup_id"].tolist()))
    return bool((tasks["tid"] != tasks["tgid"]).any()) or any(path.strip("/") for path in named)


def _members(view: View) -> dict[int, list[int]]:
    """The cgroups of each container."""
    members: dict[int, list[int]] = {}
    for cgroup, container in container_ids(view.frame.cgroups).items():
        members.setdefault(container, []).append(cgroup)
    return members


def _empty_text(view: View) -> str:
    if view.settings.shown_filter and len(view.frame.tasks):
        return f"no task of {len(view.frame.tasks)} passes the filter {view.settings.shown_filter}"
    return "no task ran or waited in this window"
