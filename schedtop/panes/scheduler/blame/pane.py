"""Blame: which task or group waited behind which, and that the sum is all waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from schedtop.base.units import format_ns, format_span
from schedtop.history.sorting import PAIR_SORTS
from schedtop.history.view import View
from schedtop.model.rows import Integers, Rows, other_names, text
from schedtop.panes.pane import EDGES, TITLE_FRAME, Pane
from schedtop.panes.percent import percent
from schedtop.panes.scheduler.blame.rows import (
    FIELDS,
    OTHER_BLAME,
    TITLES,
    Account,
    PairRows,
    Part,
    account,
    columns_for,
    quota_part,
    whole_ns,
    with_short_turns,
)
from schedtop.widgets.canvas import surface_of
from schedtop.widgets.columns import Column, header_spans, row_lines
from schedtop.widgets.keyed_table import KeyedTable
from schedtop.widgets.strips import Spans, fit, steady

EXPANDED_HEIGHT = 14
"""From here on, what is not in pairs has a line for each reason."""

FOOTED_HEIGHT = 4

LEAST_OTHER = 2
"""From so many free lines on the other way to blame is shown as well: its header, and a pair."""

QUIET = 0.01
"""Without slow waits, less waiting than this part of the time for one task is what every host has."""

MOST_FIRST, NOTABLE = 3, 0.01
"""So many lines of the task that the verdict is about come first, with this part of the longest time or more."""

STANDS_OUT = 0.1
"""A pair with a smaller part of all waits is not named at a glance."""


class BlamePane(Pane[View], KeyedTable[PairRows]):
    """Victims and the tasks that kept them waiting, most time first."""

    TITLE = "Blame: who held the CPU"
    SHORT = "Blame"
    LEAST = Size(48, 7)
    PARTS = ("pairs", "latency")
    KEY = ("victim_id", "other_id")
    READING = (
        "Each line is a victim and a task that kept it waiting; the task that the verdict is about comes first. "
        "b changes between two questions. Held the CPU: "
        "while the victim waited, the other ran on its CPU; waited is for how long, waits in how many waits. "
        "Took the CPU: the other preempted the victim; waited is the whole wait that began so, even if others "
        "ran then. share is of all waits that ended in the window. The faint lines at the end are the waits "
        "that no pair stands for, so that the sum (Σ) is exactly all of them. Waits shorter than 100 µs are "
        "only summed up. Waits for a quota have a line of their own, outside of the sum: no task held the CPU. g "
        "groups by process, cgroup, container or pid namespace."
    )
    SIGNS = (
        (
            "a large first line",
            "this pair costs most",
            "other CPUs for one (cpusets, taskset), or a lower priority or cpu.weight for the one that may wait",
        ),
        ("itself on top", "the process has more threads than CPUs", "run fewer threads"),
        ("one task in many lines", "it keeps all of them waiting", "look at that task first: s in Tasks, Enter"),
        (
            "faint lines on top",
            "most waits are short, or the CPU was idle",
            "no task is to blame: look at the causes of the slow waits",
        ),
        (
            "short turns (cc1)",
            "each of many tasks had the CPU for a moment, most of them were of this name",
            "see what starts them: Short-lived",
        ),
        ("pairs of services (g)", "which service costs which", "move one to another host, or limit it by cpu.max"),
    )
    COLUMN_HELP = (
        ("Columns, held the CPU", columns_for("blocker")),
        ("Columns, took it (b)", columns_for("preemptor")),
    )

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "mode", "Blame", show=False, id="blame-mode", tooltip="In Blame: held the CPU, or took it"),
    ]

    class ModeRequested(Message):
        """The other way to blame is wanted."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._account: Account | None = None
        self._quota: Part | None = None
        self._shown: tuple[View | None, str, str] = (None, "", "")
        self._other: tuple[View | None, str, Account | None] = (None, "", None)
        self._victim, self._first = 0, ""

    def action_mode(self) -> None:
        """Asks for the other way to blame."""
        self.post_message(self.ModeRequested())

    def table_columns(self) -> Sequence[Column[PairRows]]:
        return columns_for(self.view.settings.blame if self.view else "blocker")

    def context(self, rows: Rows) -> PairRows:
        assert self.view is not None and self._account is not None
        settings = self.view.settings
        is_here, most_ns = self.view.host.is_this, _most_ns(self._account, settings.blame)
        return PairRows(rows, settings.group, settings.blame, self._account.total_ns, most_ns, is_here)

    @property
    def page_rows(self) -> int:
        return max(1, self.inner.height - 1 - len(self._rest()) - len(self._besides))

    @property
    def wanted_lines(self) -> int | None:
        if self._account is None:
            return None
        # The other way to blame is shown where there is room to spare.
        return self.table_rows + len(self._account.rest) + len(self._besides) + EDGES

    def show(self, view: View) -> None:
        self.view = view
        self.draw()

    def draw(self) -> None:
        # Grouping costs: it is not done for a pane that is not seen.
        if not self.hidden and self.view is not None:
            self._take(self.view)
        super().draw()

    def look_at(self, victim: int) -> None:
        self._victim = victim  # its lines come first

    def _take(self, view: View) -> None:
        """Makes the account of another View."""
        before, *how = self._shown
        wanted = (view, view.settings.group, view.settings.blame)
        if before is view:
            return
        if how != [*wanted[1:]]:
            self.forget_columns()
            if how[0] != view.settings.group:
                self.selected_key = None
        self._shown = wanted
        breathe = surface_of(self).breathe
        breathe()
        self._account = account(view, "", breathe)
        self._quota = quota_part(view)
        self._first = ""
        if self._victim and view.settings.group == "thread":
            if view.settings.blame == "blocker":
                self._account = with_short_turns(self._account, view, self._victim)
            pairs = self._account.pairs
            times = pairs[FIELDS[view.settings.blame][0]]
            notable = (pairs["victim_id"] == self._victim) & (times >= NOTABLE * times.max(initial=0))
            first = np.flatnonzero(notable)[:MOST_FIRST]
            # Where they would not be on top anyway, no column sorts all lines.
            sorts = np.array_equal(first, np.arange(len(first)))
            self._first = "" if sorts else steady(text(pairs["victim_name"][first[0]]))
            pairs = np.concatenate((pairs[first], np.delete(pairs, first)))
        else:
            pairs = self._account.pairs
        self.set_rows(pairs, None if self._first else view.settings.pair_sort, view.settings.shown_filter)

    def is_idle(self, view: View) -> bool:
        frame = view.frame
        return not len(frame.slow_waits) and int(frame.pairs["blocked_ns"].sum()) < QUIET * frame.interval_ns

    def view_glance(self, view: View) -> Spans:
        times = view.pairs[PAIR_SORTS[view.settings.blame]]
        took_ns = int(times[0]) if len(times) else 0
        if (quota := quota_part(view)) and quota.ns > took_ns:
            return [("a quota", "throttled"), (f" {format_ns(quota.ns)}", "text")]
        if not len(times):
            return [("no task", "dim")]
        least_ns = STANDS_OUT * whole_ns(view, times)
        if took_ns < least_ns:
            return _by_name(view.pairs, times, least_ns)
        took = f" {format_ns(took_ns)}"
        return [(steady(text(other_names(view.pairs[:1])[0])), "preemption"), (took, "text")]

    def view_lines(self, view: View) -> Sequence[Spans]:
        assert self._account is not None
        settings = view.settings
        title = self.keyed(TITLES[settings.blame], "blame-mode")
        self.set_title(self._detail(settings.group), self._sum_text(), title=title)
        if not len(self._account.pairs) and not self._account.rest and not self._besides:
            return self.sentence(_empty_text(view))
        head, *lines = list(self.table_lines())[: 1 + self.page_rows]
        lines += [self._rest_line(part, self._account.total_ns, "dim") for part in self._rest()]
        besides = [self._rest_line(part, 0, "throttled") for part in self._besides]
        leads = self._quota is not None and self._quota.ns > _most_ns(self._account, settings.blame)
        self.head_rows = 1 + len(besides) if leads else 1
        lines = [head, *besides, *lines] if leads else [head, *lines, *besides]
        return [*lines, *self._other_lines(view, self.inner.height - len(lines) - 1)]

    def _other_lines(self, view: View, room: int) -> Sequence[Spans]:
        """The other way to blame, below an empty line, where few pairs leave so many lines."""
        if room < LEAST_OTHER or not len(self._account.pairs if self._account else ()):
            return ()
        blame = OTHER_BLAME[view.settings.blame]
        found = self._other[2] if self._other[:2] == (view, blame) else None
        if found is None:
            found = account(view, blame)
            self._other = (view, blame, found)
        pairs = found.pairs[: room - 1]
        if not len(pairs):
            return ()
        places = [column.header for column in self.table_columns()]
        placed = [(columns_for(blame)[places.index(column.header)], width) for column, width in self.placed]
        most_ns = _most_ns(found, blame)
        rows = PairRows(pairs, view.settings.group, blame, found.total_ns, most_ns, view.host.is_this)
        return [[], header_spans(placed, view.settings.pair_sort), *row_lines(placed, rows, len(pairs))]

    def _detail(self, kind: str) -> str:
        """How it is grouped, in the title."""
        view = self._shown[0]
        # Pairs are not kept by CPU.
        everywhere = "all CPUs" if view is not None and view.settings.shown_filter.cpus else ""
        first = f"{self._first} first" if self._first else ""
        return " · ".join(
            filter(None, (everywhere, first, "" if kind == "thread" else self.keyed(f"by {kind}", "group")))
        )

    def _rest(self) -> Sequence[Part]:
        """The lines below the pairs: each reason where there is room, else one, else none."""
        if self._account is None or not self._account.rest or self.inner.height < FOOTED_HEIGHT:
            return ()
        room = self.inner.height - 1 - len(self._account.pairs) - len(self._besides)
        if self.inner.height >= EXPANDED_HEIGHT or room >= len(self._account.rest):
            return self._account.rest
        most = max(self._account.rest, key=lambda part: part.ns)
        return (Part(f"not attributed: {most.words}", self._account.rest_ns),)

    @property
    def _besides(self) -> Sequence[Part]:
        """What is no part of the sum has a line where there is room; the first if it is more than any pair."""
        return (self._quota,) if self._quota and self.inner.height >= FOOTED_HEIGHT else ()

    def _rest_line(self, part: Part, total: int, style: str) -> Spans:
        """The reason under the names, its time, and its share of a total (0: of none), under those of the pairs."""
        cells = {"waited": format_ns(part.ns), "share %": percent(part.ns / total if total > 0 else None)}
        texts = [fit(cells.get(column.header, ""), width, right=True) for column, width in self.placed]
        names = [width for _, width in self.placed[:2]]
        return [(" ".join([fit(part.words, sum(names) + 1), *texts[2:]]), style)]

    def _sum_text(self) -> str:
        if self._account is None:
            return ""
        total = f"Σ {format_ns(self._account.total_ns)}"
        filtered = self._shown[0] is not None and self._shown[0].settings.shown_filter.names_tasks
        whole = "run delay of what is shown" if filtered else "run delay of ended waits"
        place = self.position_text()
        texts = [" · ".join(filter(None, (place, word))) for word in (f"{total} = {whole}", total)]
        room = self.size.width - TITLE_FRAME
        return next((words for words in texts if len(words) <= room), texts[-1])


def _most_ns(account: Account, blame: str) -> int:
    """The time of the pair that cost most."""
    return int(account.pairs[FIELDS[blame][0]].max(initial=0))


def _by_name(pairs: Rows, times: Integers, least_ns: float) -> Spans:
    """The name of the tasks that together took the CPU longest, at a glance, how many they are, and how long."""
    found, places = np.unique(other_names(pairs), return_inverse=True)
    sums = np.bincount(places, times)
    most = int(np.argmax(sums))
    count = len(np.unique(pairs["other_tid"][places == most]))
    if sums[most] < least_ns:
        return [("many tasks", "dim")]
    name = steady(text(found[most]))
    return [(f"{name} ×{count}" if count > 1 else name, "preemption"), (f" {format_ns(int(sums[most]))}", "text")]


def _empty_text(view: View) -> str:
    if view.settings.shown_filter and len(view.frame.pairs):
        return f"none of {len(view.frame.pairs)} pairs passes the filter {view.settings.shown_filter}"
    return f"no task waited for a CPU in the last {format_span(view.frame.interval_ns)}"
