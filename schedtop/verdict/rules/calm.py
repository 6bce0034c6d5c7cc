"""Few slow waits, or none, and nothing else either."""

from __future__ import annotations

import numpy as np

from schedtop.base.units import format_ns, format_round_ns
from schedtop.verdict.facts import Facts
from schedtop.verdict.limits import QUIET_NS
from schedtop.verdict.phrases import counted
from schedtop.verdict.rule import Finding
from schedtop.verdict.wait import explain
from schedtop.verdict.words import (
    context_words,
    p99_words,
    typed,
)

_ACTION = typed("Look elsewhere, at locks, I/O, the network", "sudo schedtop activity")


def rare(f: Facts) -> Finding | None:
    """Some waits are slow, too few for a common cause."""
    rows = f.slow.rows
    if f.slow.enough or not len(rows):
        return None
    worst = rows[int(np.argmax(rows["wait_ns"]))]
    longest = format_ns(int(worst["wait_ns"]))
    headline = f"{counted(len(rows), 'slow wait')}, the longest {longest}: too few for a common cause"
    action = typed("Look at this task alone", f"schedtop task {int(worst['tid'])}")
    return Finding(headline, (explain(worst, kernel=f.view.host.kernel).rstrip("."), *p99_words(f)), *action)


def calm(f: Facts) -> Finding | None:
    """No wait is slow."""
    if f.slow.enough or len(f.slow.rows):
        return None
    if f.p99_ns is None:
        longest = format_ns(int(f.view.tasks["max_wait_ns"].max(initial=0)))
        headline = f"No slow wait of what the filter shows; its longest is {longest}"
    elif f.p99_ns <= QUIET_NS:
        headline = f"Nothing waits: p99 is {format_ns(f.p99_ns)}"
    else:
        headline = f"No wait is slow: p99 is {format_ns(f.p99_ns)}, slow is {format_round_ns(f.frame.threshold_ns)}"
    return Finding(headline, context_words(f), *_ACTION)


def calm_by_sums(f: Facts) -> Finding | None:
    """Tasks are hardly delayed."""
    if f.sums is None:
        return None
    delay_ns = int(f.view.tasks["run_delay_ns"].sum())
    a_second = f"{format_ns(round(delay_ns / max(f.frame.duration_s, 1e-9)))} of run delay a second"
    which = "all tasks" if f.sums.sees_all else "all visible tasks"
    which = "what the filter shows" if f.names_tasks else which
    headline = f"Little waiting: {a_second}, of {which} together"
    return Finding(headline, (*context_words(f), *f.sums.lacks), *_ACTION)
