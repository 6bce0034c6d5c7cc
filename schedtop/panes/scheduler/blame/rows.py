"""Victims and what kept them waiting, as rows of a table: pairs of groups, and the waits that no pair stands for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from schedtop.base.breath import keep_on
from schedtop.base.scripts import with_script
from schedtop.base.units import format_count, format_ns
from schedtop.history.view import View
from schedtop.model.groups import FIRST_INTERRUPT_ID, group_pairs, is_by_name
from schedtop.model.rows import GROUPS, ROLES, Integers, Rows, take_rows, text
from schedtop.model.sched_class import treatments
from schedtop.model.short_lived import MANY, by_command, names_of_many
from schedtop.model.waits import for_quota_ns
from schedtop.panes.percent import percent
from schedtop.widgets.bars import thin_bar
from schedtop.widgets.columns import Column, explained
from schedtop.widgets.strips import steady

BAR_CELLS = 10

FIELDS = {"blocker": ("blocked_ns", "waits"), "preemptor": ("preempted_ns", "preemptions")}
"""The time and the count that belong to each way to blame."""

OTHER_BLAME = {"blocker": "preemptor", "preemptor": "blocker"}

TITLES = {"blocker": "Blame: who held the CPU", "preemptor": "Blame: who took the CPU"}
"""The title of the pane by the way to blame."""

SHORT_NS = 100_000
"""Waits that are shorter are not looked at one by one."""

SHORT_TURNS = "short turns"
"""What is not in pairs because a wait keeps apart only the tasks that had the CPU longest during it."""

SHORT_TURNS_ID = FIRST_INTERRUPT_ID - 1
"""The `other_id` of the tasks that had the CPU in short turns."""

MOSTLY, MUCH = 0.5, 0.25
"""Where short turns are so much of all that is in no pairs, what one task lost to them has a line if it is so much of
its waiting."""


class Part(NamedTuple):
    """Waits that no pair stands for: why, and how much in nanoseconds."""

    words: str
    ns: int


@dataclass(frozen=True, slots=True, eq=False)
class Account:
    """All waits of the window that ended, `total_ns`: the sum of `pairs` (GROUP_PAIR_DTYPE, largest first) and `rest`.

    Under a filter by task the whole is the run delay of what passes it. `rest_ns`: what no pair stands for.
    A recording of an older version may have waits in the pairs of one interval and the total of another: what is
    below zero by that is not shown.
    """

    pairs: Rows
    rest: tuple[Part, ...]
    total_ns: int
    rest_ns: int = 0


def account(view: View, blame: str = "", breathe: Callable[[], object] = keep_on) -> Account:
    """The account of a View, grouped and (if no other way is given) blamed as its settings say.

    `breathe` is called in between.
    """
    settings = view.settings
    blame = blame or settings.blame
    time, count = FIELDS[blame]
    alike = _alike(view)
    breathe()
    pairs = group_pairs(view.pairs, settings.group, view.frame.cgroups, alike, breathe)
    breathe()
    pairs = pairs[(pairs[time] > 0) | (pairs[count] > 0)]
    first, second = (count, time) if settings.pair_sort == "count" else (time, count)
    pairs = take_rows(pairs, np.lexsort((-pairs[second], -pairs[first])))
    in_pairs = int(pairs[time].sum())
    if settings.shown_filter.names_tasks:
        left = whole_ns(view, pairs[time]) - in_pairs
        words = "short waits, an idle CPU, or not known" if blame == "blocker" else "after waking, or not known"
        return Account(pairs, (Part(words, left),) if left else (), in_pairs + left, left)
    total = view.frame.ended_wait_ns
    parts = _not_blocked(view) if blame == "blocker" else _not_preempted(view)
    hidden = int(view.frame.pairs[time].sum()) - in_pairs
    left = total - in_pairs - hidden - sum(part.ns for part in parts)
    last = "not counted yet" if blame == "blocker" else "short, given away, or not known"
    rest = tuple(part for part in (*parts, Part("hidden tasks", hidden), Part(last, left)) if part.ns > 0)
    return Account(pairs, rest, total, max(0, total - in_pairs))


def whole_ns(view: View, times: Integers) -> int:
    """What all that is shown waited, of which these are the times of its pairs."""
    if not view.settings.shown_filter.names_tasks:
        return view.frame.ended_wait_ns
    # A wait that has not ended is in no pair, and in the run delay before; of older recordings some have none.
    return max(int(times.sum()), int(view.tasks["run_delay_ns"].sum()))


def _alike(view: View) -> dict[str, npt.NDArray[np.bool_]]:
    """Which victims and others are added up by name: of a storm, thousands of tasks that are gone when one reads.

    Those that live on have their own lines.
    """
    field, short, pairs = GROUPS[view.settings.group], view.frame.short_lived, view.pairs
    if field not in ("tid", "tgid") or int(short["count"].sum()) < MANY:
        return {}
    names = names_of_many(short)
    tasks = view.frame.tasks
    living = tasks[field][tasks["ended"] == 0]
    return {role: np.isin(pairs[f"{role}_comm"], names) & ~np.isin(pairs[f"{role}_{field}"], living) for role in ROLES}


def with_short_turns(found: Account, view: View, victim: int) -> Account:
    """The same with a line for what one thread lost to short turns, taken out of the rest, if that is much.

    It is what the thread waited but for its pairs: in a storm that keeps no task apart, little of it is anything else.
    """
    turns = next((part for part in found.rest if part.words == SHORT_TURNS), None)
    tasks = view.frame.tasks
    delay_ns = int(tasks["run_delay_ns"][tasks["tid"] == victim].sum())
    own = found.pairs["victim_id"] == victim
    if turns is None or turns.ns < MOSTLY * found.rest_ns or not own.any():
        return found
    ns = min(delay_ns - int(found.pairs["blocked_ns"][own].sum()), turns.ns)
    if ns < MUCH * delay_ns:
        return found
    line = take_rows(found.pairs, np.flatnonzero(own)[:1])
    for name in line.dtype.names or ():
        if not name.startswith("victim_"):
            line[name] = 0
    line["other_id"], line["blocked_ns"] = SHORT_TURNS_ID, ns
    line["other_name"] = SHORT_TURNS.encode() + _mostly_of(view)
    is_by_time = view.settings.pair_sort == "time"
    place = int((found.pairs["blocked_ns"] > ns).sum()) if is_by_time else len(found.pairs)
    pairs = np.concatenate((found.pairs[:place], line, found.pairs[place:]))
    rest = (part._replace(ns=part.ns - ns) if part is turns else part for part in found.rest)
    return replace(found, pairs=pairs, rest=tuple(part for part in rest if part.ns), rest_ns=found.rest_ns - ns)


def _mostly_of(view: View) -> bytes:
    """` (cc1)`: the command that most of the short-lived tasks' time went to; empty: there is none."""
    commands = by_command(view.frame.short_lived)
    commands = commands[commands["is_folded"] == 0]
    if not len(commands):
        return b""
    first = commands[int(commands["run_ns"].argmax())]
    return b" (%b)" % first["comm"] if first["run_ns"] >= MOSTLY * commands["run_ns"].sum() else b""


def quota_part(view: View) -> Part | None:
    """What slow waits had to wait for a quota: no task held the CPU, and it is no part of the run delay."""
    ns = int(for_quota_ns(view.slow_waits).sum())
    return Part("not in the sum: waits for a quota", ns) if ns else None


def _not_blocked(view: View) -> tuple[Part, ...]:
    what = view.frame.attribution
    short = view.frame.ended_wait_ns - what.looked_at_ns - what.over_budget_ns
    return (
        Part(f"under {SHORT_NS // 1000} µs", short),
        Part("the CPU was idle", what.idle_ns),
        Part(SHORT_TURNS, what.others_ns + what.unpaired_ns),
        Part("too long ago", what.uncovered_ns),
        Part("too many waits to look at", what.over_budget_ns),
    )


def _not_preempted(view: View) -> tuple[Part, ...]:
    return (Part("after waking: no task took the CPU", int(view.frame.latency.sum_ns[0].sum())),)


@dataclass(frozen=True, slots=True, eq=False)
class PairRows:
    """The visible pairs, how they are grouped and blamed, the whole, and the largest for the bars.

    `is_here`: the tasks are now on this host, where the scripts of interpreters can be asked for.
    """

    rows: Rows
    kind: str
    blame: str
    total_ns: int
    largest_ns: int
    is_here: bool = False

    @property
    def times(self) -> list[int]:
        """The time that each pair stands for, in nanoseconds."""
        times: list[int] = self.rows[FIELDS[self.blame][0]].tolist()
        return times

    def names(self, role: str) -> list[str]:
        """`comm (tid)` and `process (pid)` with what is not ordinary of its class, else the name of the group."""
        names = [steady(text(name)) for name in self.rows[f"{role}_name"].tolist()]
        if self.kind not in ("thread", "process"):
            return names
        told = treatments(self.rows, f"{role}_")
        numbers = (self.rows[f"{role}_{what}"].tolist() for what in ("id", "tasks"))
        return [
            _named(with_script(name, number) if self.is_here else name, number, count, treatment.words)
            for name, number, count, treatment in zip(names, *numbers, told, strict=True)
        ]


def _named(name: str, number: int, count: int, treated: str) -> str:
    if number >= SHORT_TURNS_ID:
        return name
    if count:
        return f"{name} ×{count:,}"
    return f"{name} ({number}, {treated})" if treated else f"{name} ({number})"


def _others(context: PairRows) -> list[str]:
    ids = context.rows["victim_id"]
    same = ((ids == context.rows["other_id"]) & ~is_by_name(ids)).tolist()
    return ["itself" if alone else name for name, alone in zip(context.names("other"), same, strict=True)]


def _counts(context: PairRows) -> list[str]:
    counts = context.rows[FIELDS[context.blame][1]].tolist()
    return [format_count(count) if count else "·" for count in counts]


def _shares(context: PairRows) -> list[str]:
    return [percent(ns / context.total_ns if context.total_ns > 0 else None) for ns in context.times]


def _bars(context: PairRows) -> list[str]:
    return [thin_bar(ns / max(1, context.largest_ns), BAR_CELLS) for ns in context.times]


MEANINGS = {
    "victim": "the task that waited; cat ×80: so many short-lived tasks of that name",
    "held the CPU": "what ran on the CPU while the victim waited; itself: another thread of the same group; while they "
    "are timed (I), also what interrupts had of it (softirq NET_RX)",
    "took the CPU": "the task that came onto the CPU when the victim was preempted (b changes between the two)",
    "waited": "how long, all such waits together",
    "waits": "in how many waits",
    "times": "how often",
    "share %": "the part of all waiting that ended in the window; under a filter by task, of what is listed",
    "": "the same as a bar",
}


def columns_for(blame: str) -> tuple[Column[PairRows], ...]:
    """The columns of one way to blame."""
    other, count = ("held the CPU", "waits") if blame == "blocker" else ("took the CPU", "times")
    columns: tuple[Column[PairRows], ...] = (
        Column("victim", 17, lambda context: context.names("victim"), right=False, grow=20, style="strong"),
        Column(other, 17, _others, right=False, grow=20, style="preemption"),
        Column("waited", 8, lambda context: [format_ns(ns) for ns in context.times], sort="time"),
        Column(count, 6, _counts, rank=2, sort="count"),
        Column("share %", 7, _shares, rank=1),
        Column("", BAR_CELLS, _bars, right=False, rank=3, style="preemption"),
    )
    return explained(columns, MEANINGS)
