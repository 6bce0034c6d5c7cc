"""The columns of the short-lived tasks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from schedtop.base.units import format_count, format_ns
from schedtop.model.rows import Rows
from schedtop.model.short_lived import command_name, often, parent_name
from schedtop.panes.percent import percent
from schedtop.widgets.columns import Column, explained
from schedtop.widgets.strips import steady


@dataclass(frozen=True, slots=True, eq=False)
class CommandRows:
    """The visible rows of COMMAND_DTYPE, what turns their counts into rates, and what the source cannot tell."""

    rows: Rows
    interval_ns: int
    unavailable: Collection[str]


def _commands(context: CommandRows) -> list[str]:
    return [f"{steady(command_name(row))}{' (threads)' if row['is_thread'] else ''}" for row in context.rows]


def _rates(context: CommandRows) -> list[str]:
    return [often(count, context.interval_ns) for count in context.rows["count"].tolist()]


def _parents(context: CommandRows) -> list[str]:
    return [steady(parent_name(row)) or "·" for row in context.rows]


def _run(context: CommandRows) -> list[str]:
    whole = context.interval_ns
    return [percent(ns / whole if whole else None) for ns in context.rows["run_ns"].tolist()]


def _durations(field: str, of_each: bool = False) -> Callable[[CommandRows], Sequence[str]]:
    """A sum or a longest, or the mean of each; none at all is a dot."""

    def cells(context: CommandRows) -> list[str]:
        if field in ("run_delay_ns", "max_wait_ns") and "latency" in context.unavailable:
            return ["-"] * len(context.rows)
        values = context.rows[field] // context.rows["count"].clip(1) if of_each else context.rows[field]
        return [format_ns(ns) if ns else "·" for ns in values.tolist()]

    return cells


def _endings(context: CommandRows) -> list[str]:
    return ["·" if row["is_thread"] else endings_words(*row[["succeeded", "failed", "killed"]]) for row in context.rows]


def endings_words(succeeded: int, failed: int, killed: int) -> str:
    """`ok` if all did well, else how many did not; `?` if it is not known."""
    if not failed and not killed:
        return "ok" if succeeded else "?"
    bad = [(failed, "failed"), (killed, "killed")]
    return ", ".join(f"{format_count(count)} {word}" for count, word in bad if count)


MEANINGS = {
    "command": "what it called itself last; (threads): single threads of a process",
    "how often": "how many of them came and went, a second",
    "started by": "the process that started most of them: look here first",
    "run %": "what all of them ran, in percent of one CPU",
    "each": "the column before it, for one of them on average",
    "run delay": "how long all of them waited for a CPU",
    "longest": "the longest single wait of one of them",
    "lived": "how long one of them lived on average",
    "ended": "ok, or how many ended with another status than 0 (failed) or by a signal (killed); of threads: ·",
}

COLUMNS: tuple[Column[CommandRows], ...] = explained((
    Column("command", 15, _commands, right=False, grow=12, style="strong"),
    Column("how often", 10, _rates, sort="count"),
    Column("started by", 14, _parents, right=False, grow=14, style="wakeup"),
    Column("run %", 6, _run, sort="run_ns"),
    Column("each", 7, _durations("run_ns", of_each=True), rank=3),
    Column("run delay", 10, _durations("run_delay_ns"), rank=2, sort="run_delay_ns"),
    Column("each", 7, _durations("run_delay_ns", of_each=True), rank=4),
    Column("longest", 8, _durations("max_wait_ns"), rank=5, sort="max_wait_ns"),
    Column("lived", 7, _durations("lived_ns", of_each=True), rank=6),
    Column(" ended", 16, lambda context: [f" {words}" for words in _endings(context)], right=False, rank=1, grow=10,
           sort="failed"),
), MEANINGS)  # fmt: skip
