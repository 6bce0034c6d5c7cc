"""What segments and paths are called, in text and on the screen."""

from __future__ import annotations

from collections.abc import Sequence

from schedtop.base.units import format_ns, printable
from schedtop.path.profile import ProfileRow
from schedtop.path.segments import BLOCKED, INTERRUPT, QUEUED, RUNNING, THROTTLED, UNKNOWN, Behind, Segment
from schedtop.path.summary import Summary

DOES = {
    RUNNING: "running",
    QUEUED: "queued",
    THROTTLED: "throttled by its quota",
    BLOCKED: "blocked",
    INTERRUPT: "waiting for an interrupt",
    UNKNOWN: "unknown",
}

IN_SENTENCE = 3
BEHIND = 3
"""How many tasks that one was queued behind are named."""


def does(state: str, behind: str | None, where: str, woken_by: str, reason: str) -> str:
    """What a task does in a segment, in words."""
    if state == QUEUED:
        return {None: "queued", "idle": "queued, its CPU idle"}.get(behind, f"queued behind {behind}")
    if state == UNKNOWN:
        return f"unknown: {reason}" + (f" (blocked in {where})" if where else "")
    words = DOES[state]
    if state in (BLOCKED, INTERRUPT):
        words = f"blocked in {where}" if where else "blocked"
        # `nanosleep: timer` says already what ends it.
        words += f", until the {woken_by}" if woken_by and woken_by not in where else ""
    return words


def row_words(row: ProfileRow) -> str:
    """The same of a row of the profile."""
    return does(row.state, row.behind.comm if row.behind else None, row.where, row.woken_by, row.reason)


def segment_words(segment: Segment) -> str:
    """The same of a segment, with the shares of what it was queued behind."""
    words = does(segment.state, None, segment.where, segment.woken_by, segment.reason)
    if len(segment.behind) == 1:
        return does(segment.state, segment.behind[0].comm, "", "", "")
    if segment.behind:
        names = _by_name(segment.behind)
        parts = [_behind_words(one, count, part_ns / segment.time_ns) for one, count, part_ns in names[:BEHIND]]
        words = f"queued behind {', '.join(parts)}" + (", ..." if len(names) > BEHIND else "")
    return words


def _by_name(behind: Sequence[Behind]) -> list[tuple[Behind, int, int]]:
    """Tasks of one name together: one of them, how many there are, and their time; most time first."""
    sums: dict[str, tuple[Behind, int, int]] = {}
    for part in behind:
        first, count, time_ns = sums.get(part.comm, (part, 0, 0))
        sums[part.comm] = (first, count + 1, time_ns + part.time_ns)
    return sorted(sums.values(), key=lambda found: -found[2])


def _behind_words(one: Behind, count: int, share: float) -> str:
    if not one.tid:
        return f"{share * 100:.0f} % while its CPU was idle"
    return f"{one.comm}{f' (×{count})' if count > 1 else ''} {share * 100:.0f} %"


def sentence(summary: Summary) -> str:
    """All of it in one sentence."""
    rows = summary.rows
    late = [row for row in rows if not row.for_work]
    who = _who(summary)
    were = "were" if who.endswith("tasks") else "was"
    if not summary.episodes:
        return f"{who} {were} not late"
    if not late:
        whole = sum(row.time_ns for row in rows)
        count = episodes_words(summary.episodes)
        return f"{who} was not late: it waited for work for {format_ns(whole)} in {count}: {_shares(rows)}"
    whole = sum(row.time_ns for row in late)
    return f"{who} {were} late by {format_ns(whole)} in {episodes_words(summary.late_episodes)}: {_shares(late)}"


def episodes_words(count: int) -> str:
    """So many episodes."""
    return "1 episode" if count == 1 else f"{count} episodes"


def _who(summary: Summary) -> str:
    names, tids = summary.comms, summary.tids
    if len(names) == 1:
        (name,) = names
        return printable(name) if len(tids) == 1 else f"{len(tids)} {printable(name)} tasks"
    if not names and summary.scope:
        return printable(summary.scope)
    return f"{len(tids)} tasks" if tids else "all tasks"


def _shares(rows: Sequence[ProfileRow]) -> str:
    whole = sum(row.time_ns for row in rows)
    shown = rows[:IN_SENTENCE]
    words = [f"{row.time_ns / whole * 100:.0f} % {_doing(row)}" for row in shown]
    rest = whole - sum(row.time_ns for row in shown)
    words += [f"{rest / whole * 100:.0f} % other"] if rest * 200 >= whole else []
    return ", ".join(words)


def _doing(row: ProfileRow) -> str:
    words = row_words(row)
    return printable(f"itself {words}" if row.late else f"{row.task.comm} {words}")
