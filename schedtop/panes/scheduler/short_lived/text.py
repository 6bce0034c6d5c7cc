"""The short-lived tasks of one command in full: every task that started them, how they ended, what they took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from schedtop.base.units import format_count, format_ns, format_round_ns
from schedtop.model.groups import group_name
from schedtop.model.rows import Rows, rows_where, take_rows, text
from schedtop.model.short_lived import (
    FOLDED,
    by_exit_code,
    by_parent,
    command_name,
    ending_words,
    exit_signal,
    exit_status,
    often,
)
from schedtop.widgets.bars import thin_bar
from schedtop.widgets.prose import entry, paragraph
from schedtop.widgets.strips import Spans, fit, steady

INDENT = 14
NAME_CELLS = 26
BAR_CELLS = 12
MOST_GROUPS = 5


def rows_of(command: np.void, rows: Rows) -> Rows:
    """The rows of SHORT_LIVED_DTYPE that a row of COMMAND_DTYPE adds up."""
    own = (rows["comm"] == command["comm"]) & (rows["is_thread"] == command["is_thread"])
    return rows_where(rows, own & ((rows["exit_code"] == FOLDED) == bool(command["is_folded"])))


def command_title(command: np.void, interval_ns: int) -> str:
    """Which command, and how often."""
    kind = "threads" if command["is_thread"] else "processes"
    return f"{steady(command_name(command))}: {often(int(command['count']), interval_ns)} short-lived {kind}"


def command_lines(
    command: np.void, rows: Rows, interval_ns: int, cgroups: Mapping[int, str], width: int
) -> Iterable[Spans]:
    """All that is known of a command, in lines of `width` cells; `rows`: its rows of SHORT_LIVED_DTYPE."""
    yield from paragraph(_summary(command, interval_ns), width)
    if command["is_folded"]:
        yield from paragraph("Too many commands to be told apart: what started these is not known.", width, "dim")
    else:
        yield []
        yield [("Started by", "key")]
        parents = [
            (f"{text(parent.comm) or '?'}{f' ({parent.tgid})' if parent.tgid else ''}", parent.count)
            for parent in by_parent(rows)
        ]
        yield from _shares(parents, interval_ns, width)
        yield []
        yield [("How they ended", "key")]
        yield from _shares(_endings(command, rows), interval_ns, width)
    yield []
    for term, meaning in _facts(command, rows, cgroups):
        yield from entry(term, meaning, INDENT, width)


def _summary(command: np.void, interval_ns: int) -> str:
    kind = "threads" if command["is_thread"] else "processes"
    return (
        f"{format_count(int(command['count']))} {kind} ended in {format_round_ns(interval_ns)} and had lived no longer "
        "than one interval."
    )


def _endings(command: np.void, rows: Rows) -> list[tuple[str, int]]:
    known = [(ending_words(exit_status(code), exit_signal(code)), count) for code, count in by_exit_code(rows)]
    unknown = int(command["unknown"])
    return [*known, *([("not known" if not command["is_thread"] else "threads: not told", unknown)] if unknown else [])]


def _shares(parts: list[tuple[str, int]], interval_ns: int, width: int) -> Iterable[Spans]:
    whole = sum(count for _, count in parts)
    for name, count in parts:
        share = count / whole if whole else 0.0
        cells = fit(steady(name), min(NAME_CELLS, max(8, width - 26))) + f"{often(count, interval_ns):>11}"
        yield [(f"{cells} {share * 100:>5.1f} % ", "text"), (thin_bar(share, BAR_CELLS), "preemption")]


def _facts(command: np.void, rows: Rows, cgroups: Mapping[int, str]) -> Iterable[tuple[str, str]]:
    count = max(1, int(command["count"]))
    for name, term in (("run_ns", "run time"), ("run_delay_ns", "run delay")):
        yield term, f"{format_ns(int(command[name]))} together, {format_ns(int(command[name]) // count)} each"
    yield "longest wait", format_ns(int(command["max_wait_ns"]))
    yield "lived", f"{format_ns(int(command['lived_ns']) // count)} each, from fork to end"
    yield "switches", f"{int(command['switches']) / count:.1f} each"
    groups, places = np.unique(rows["cgroup_id"], return_inverse=True)
    counts = np.bincount(places, rows["count"], len(groups))
    for index in np.argsort(-counts, kind="stable")[:MOST_GROUPS].tolist():
        if groups[index]:
            one = take_rows(rows, np.flatnonzero(places == index)[:1])
            path = cgroups.get(int(groups[index]), group_name(one, "cgroup", cgroups)[0])
            yield "cgroup", f"{steady(path)}, {counts[index] / count * 100:.0f} %"
