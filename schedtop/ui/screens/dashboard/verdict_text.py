"""The verdict in full: what, how one knows, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable

from schedtop.base.units import format_clock
from schedtop.panes.verdict_band import VERDICT_LEVELS
from schedtop.verdict.verdict import Verdict
from schedtop.widgets.prose import paragraph
from schedtop.widgets.strips import Spans, steady, width_of

_COMMAND = re.compile(r"(?:sudo )?(?:taskset|chrt|renice|echo|for|schedtop|ps) ")


def verdict_title(verdict: Verdict) -> str:
    """Its level, with its sign."""
    level = VERDICT_LEVELS[verdict.level]
    return f"{level.sign} {level.word}"


def verdict_lines(verdict: Verdict, width: int, *, end_ns: int = 0) -> Iterable[Spans]:
    """All of it in lines of `width` cells. `end_ns`: of when it is by wall clock, as the text stands still; 0: now."""
    live = verdict.live
    if live.relieved:
        yield from paragraph(f"{VERDICT_LEVELS['ok'].sign} {steady(live.relieved)}", width, VERDICT_LEVELS["ok"].style)
        yield []
    yield from paragraph(steady(verdict.headline), width, "strong")
    # A sentence each: beside the headline there is room for them here.
    for told in filter(None, (live.end, live.kept)):
        yield from paragraph(steady(told), width, "dim")
    if verdict.evidence:
        yield []
        yield [("Evidence", "key")]
        for item in verdict.evidence:
            for index, line in enumerate(paragraph(steady(item), width - 2)):
                yield [("· " if index == 0 else "  ", "dim"), *line]
    if verdict.action:
        yield []
        yield [("What to do", "key")]
        # The command whole, in a line of its own, if it fits there: to be copied.
        reason, command, rest = verdict.action.partition(f": {verdict.command}" if verdict.command else "\0")
        whole = bool(command) and width_of(verdict.command) <= width - 2
        yield from paragraph(steady(f"{reason}{rest}:" if whole else verdict.action), width)
        if whole:
            yield [("  ", "text"), (steady(verdict.command), "strong")]
    if live.undo:
        # Before what else there is: one looks for it.
        yield []
        yield from _with_command_apart(live.undo, width, "dim")
    for number, told in enumerate(verdict.alternatives):
        yield []
        if not number and not verdict.action:
            yield [("What else can be done", "key")]
        yield from _with_command_apart(told, width)
    yield []
    moment = f"as of {format_clock(end_ns)}, " if end_ns else ""
    rule = f"rule: {steady(verdict.rule)} · {moment}for the window and the filter shown"
    yield from paragraph(rule, width, "dim")


def _with_command_apart(told: str, width: int, style: str = "text") -> Iterable[Spans]:
    """A sentence; the command at its end whole, in a line of its own, if it fits there: to be copied."""
    reason, found, command = told.rpartition(": ")
    whole = bool(found) and bool(_COMMAND.match(command)) and width_of(command) <= width - 2
    yield from paragraph(steady(f"{reason}:" if whole else told), width, style)
    if whole:
        yield [("  ", style), (steady(command), "text")]
