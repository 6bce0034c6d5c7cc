"""What segments and paths are called, in text and on the screen."""

from __future__ import annotations

from collections.abc import Sequence

from schedtop.base.units import format_ns, printable
from schedtop.path.profile import ProfileRow
from schedtop.path.segments import (
    BLOCKED,
    IDLE_TID,
    INTERRUPT,
    QUEUED,
    RUNNING,
    THROTTLED,
    UNKNOWN,
    Behind,
    Hop,
    Segment,
)
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


def does(state: str, behind: str | None, where: str, woken_by: str, reason: str, comm: str = "") -> str:
    """What a task does in a segment, in words. `comm`: its name, where `behind` may be another task of that name."""
    if state == QUEUED:
        name = f"another {behind}" if behind and behind == comm else behind
        return {None: "queued", "idle": "queued, its CPU idle"}.get(behind, f"queued behind {name}")
    if state == UNKNOWN:
        return f"unknown: {reason}" + (f" (blocked in {where})" if where else "")
    words = DOES[state]
    if state == INTERRUPT and not woken_by:
        return f"interrupted by {where}"
    if state in (BLOCKED, INTERRUPT):
        words = f"blocked in {where}" if where else "blocked"
        # `nanosleep: timer` says already what ends it.
        words += f", until the {woken_by}" if woken_by and woken_by not in where else ""
    return words


def row_words(row: ProfileRow) -> str:
    """The same of a row of the profile."""
    behind = row.behind.comm if row.behind else None
    return does(row.state, behind, row.where, row.woken_by, row.reason, row.task.comm)


def segment_words(segment: Segment) -> str:
    """The same of a segment, with the shares of what it was queued behind."""
    words = does(segment.state, None, segment.where, segment.woken_by, segment.reason)
    if len(segment.behind) == 1:
        return does(segment.state, segment.behind[0].comm, "", "", "", segment.comm)
    if segment.behind:
        names = _by_name(segment.behind)
        parts = [_behind_words(segment, *found) for found in names[:BEHIND]]
        words = f"queued behind {', '.join(parts)}" + (", ..." if len(names) > BEHIND else "")
    return words


def hop_words(hop: Hop, waker: str = "") -> str:
    """How a task was blocked until another one woke it; `waker`: that one, where it is not on the lines below."""
    place = f"blocked in {hop.where}" if hop.where else "blocked"
    within = f" in {hop.woken_in}" if hop.woken_in else ""
    return f"{place}, until woken by {waker}{within}" if waker else f"{place}, until woken{within} by"


def _by_name(behind: Sequence[Behind]) -> list[tuple[Behind, int, int]]:
    """Tasks of one name together: one of them, how many there are, and their time; most time first."""
    sums: dict[str, tuple[Behind, int, int]] = {}
    for part in behind:
        first, count, time_ns = sums.get(part.comm, (part, 0, 0))
        sums[part.comm] = (first, count + 1, time_ns + part.time_ns)
    return sorted(sums.values(), key=lambda found: -found[2])


def _behind_words(segment: Segment, one: Behind, count: int, time_ns: int) -> str:
    share = f"{time_ns / segment.time_ns * 100:.0f} %"
    if one.tid == IDLE_TID:
        return f"{share} while its CPU was idle"
    name = f"another {one.comm}" if one.comm == segment.comm and count == 1 else one.comm
    return f"{name}{f' (×{count})' if count > 1 else ''} {share}"


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
    words = f"{who} {were} late by {format_ns(whole)} in {episodes_words(summary.late_episodes)}: {_shares(late)}"
    work = [row for row in rows if row.for_work]
    waited_ns = sum(row.time_ns for row in work)
    # Of a client that is what it is about.
    if waited_ns <= whole:
        return words
    return f"{words}; for work, or for an answer, it waited {format_ns(waited_ns)}: {_shares(work)}"


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
    # What is not known is told, but it is no answer.
    known = [row for row in rows if row.state != UNKNOWN]
    shown = (known or rows)[:IN_SENTENCE]
    words = [f"{row.time_ns / whole * 100:.0f} % {_doing(row)}" for row in shown]
    unknown = sum(row.time_ns for row in rows if row.state == UNKNOWN and row not in shown)
    rest = whole - unknown - sum(row.time_ns for row in shown)
    words += [f"{rest / whole * 100:.0f} % other"] if rest * 200 >= whole else []
    words += [f"{unknown / whole * 100:.0f} % unknown"] if unknown * 200 >= whole else []
    return ", ".join(words)


def _doing(row: ProfileRow) -> str:
    words = row_words(row)
    return printable(f"itself {words}" if row.late else f"{row.task.comm} {words}")
