"""What cannot be judged, and why: too little, nothing, or evidence that contradicts itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from schedtop.base.units import exact_duration, format_ns
from schedtop.model.rows import Rows
from schedtop.model.source import ALONE
from schedtop.model.waits import Explanation
from schedtop.verdict.advice import LIST_RUNNERS, typed
from schedtop.verdict.facts import Facts
from schedtop.verdict.limits import CLOCK_NS, FEW_WAITS, SHORTEST_NS
from schedtop.verdict.phrases import counted, percent
from schedtop.verdict.rule import Finding
from schedtop.verdict.verdict import THRESHOLD_COMMAND
from schedtop.verdict.words import context_words, p99_words, slow_words

_LONGER = "schedtop snapshot --duration 10s --format text"
"""Ten seconds in one window: enough for all that a rule needs."""

_NEEDED = (("latency", "How long"), ("slow_waits", "Why"), ("switches", "How long"))


def too_short(f: Facts) -> Finding | None:
    """The window is shorter than the period of a quota."""
    if f.frame.interval_ns >= SHORTEST_NS:
        return None
    span = format_ns(f.frame.interval_ns)
    return Finding(f"{span} are too short to judge", (), *typed("Choose a longer window or interval", _LONGER))


def unavailable(f: Facts) -> Finding | None:
    """The source lacks what every other rule needs."""
    for part, words in _NEEDED:
        if part in f.frame.unavailable:
            headline = f"{words} tasks wait is not known: {f.frame.unavailable[part]}"
            if f.frame.unavailable[part] == ALONE:
                return Finding(headline, context_words(f), *typed("Look at everything", "schedtop snapshot"))
            return Finding(headline, context_words(f), *typed("See what this kernel lacks", "schedtop doctor"))
    return None


def nothing_passes(f: Facts) -> Finding | None:
    """What is notable of the host alone is no verdict on tasks that are not there."""
    if not f.names_tasks or len(f.view.tasks) or len(f.slow.rows):
        return None
    headline = "Nothing passes the filter: no task to judge"
    action = typed("Check the filter, or see all that runs", LIST_RUNNERS)
    if "tasks" in f.frame.unavailable:
        headline = f"Nothing slow passes the filter, and tasks are not known: {f.frame.unavailable['tasks']}"
    return Finding(headline, context_words(f), *action)


def contradiction(f: Facts) -> Finding | None:
    """One wait has more of something than the whole window."""
    evidence = (*_too_much_steal(f), *_too_much_idle(f))
    if not evidence:
        return None
    headline = "The evidence contradicts itself: why tasks wait is not known"
    return Finding(headline, (*evidence, *context_words(f)), *typed("Look at a longer window", _LONGER))


def _too_much_steal(f: Facts) -> Iterator[str]:
    if f.slow.main is not Explanation.STOLEN or f.steal is None:
        return
    rows, within = _main_within(f)
    longest, total = int(rows["stolen_ns"][within].max(initial=0)), f.frame.total("steal_ns")
    if longest > total + CLOCK_NS:
        yield f"{format_ns(longest)} of one wait were stolen, but {format_ns(total)} in all"


def _too_much_idle(f: Facts) -> Iterator[str]:
    if f.slow.main not in (Explanation.PINNED, Explanation.NOT_BALANCED, Explanation.IDLE_CPU):
        return
    rows, within = _main_within(f)
    for cpu, ratio in f.idle.items():
        longest = int(rows["idle_cpu_ns"][within & (rows["idle_cpu"] == cpu)].max(initial=0))
        total = int(ratio * f.frame.interval_ns)
        if longest > total + CLOCK_NS:
            yield f"CPU {cpu} was idle for {format_ns(longest)} of one wait, but {format_ns(total)} in all"


def _main_within(f: Facts) -> tuple[Rows, npt.NDArray[np.bool_]]:
    """The waits of the main explanation, and which are within the window: these can be compared with its totals."""
    rows = f.slow.of(f.slow.main) if f.slow.main is not None else f.slow.rows[:0]
    return rows, rows["time_ns"] - rows["wait_ns"] >= f.frame.start_time_ns


def incomplete(f: Facts) -> Finding | None:
    """Most slow waits were not seen."""
    if f.mostly_seen:
        return None
    command = f"{THRESHOLD_COMMAND}{exact_duration(2 * f.frame.threshold_ns)}"
    headline = f"Why tasks wait is not known: {percent(f.missing)} of the slow waits were not seen"
    evidence = (*slow_words(f, f.slow.rows), *p99_words(f), *context_words(f))
    return Finding(headline, evidence, *typed("Raise the threshold until all are seen", command))


def few(f: Facts) -> Finding | None:
    """Nothing is slow, but hardly any wait ended."""
    count = f.view.latency().count
    if f.slow.enough or f.names_tasks or count >= FEW_WAITS:
        return None
    headline = f"Nothing is slow, but only {counted(count, 'wait')} ended: too little to judge"
    return Finding(headline, context_words(f), *typed("Choose a longer window", _LONGER))


def undecided(_: Facts) -> Finding:
    """No other rule applies: the causes were written by a later version."""
    return Finding("Why tasks wait is unknown", (), *typed("Use the version that wrote this", "schedtop --version"))
