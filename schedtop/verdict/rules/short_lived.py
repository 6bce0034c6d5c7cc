"""Short-lived tasks are much of the work."""

from __future__ import annotations

import numpy as np

from schedtop.model.rows import rows_where
from schedtop.model.waits import Explanation
from schedtop.verdict.facts import Facts
from schedtop.verdict.limits import DELAYED_SHARE, QUOTA_NOTICE, SHORT_LIVED_SHARE
from schedtop.verdict.parts import waiters
from schedtop.verdict.phrases import percent
from schedtop.verdict.rule import Finding
from schedtop.verdict.short_lived import ShortLived
from schedtop.verdict.slow import asks_to_wait, urgent
from schedtop.verdict.words import (
    FEWER,
    NICE_MAY_NOT_HELP,
    context_words,
    fewer_processes,
    fewer_processes_of_sessions,
    meet_as_sessions,
    p99_words,
    shares_words,
    slow_words,
    typed,
)


def short_lived(f: Facts) -> Finding | None:
    """Not where there are few slow waits and another reason for those that may come."""
    found = f.short_lived
    if found is None or found.share < SHORT_LIVED_SHARE or not _to_blame(f):
        return None
    rows = f.slow.of(Explanation.QUEUEING)
    mixed = (f"of the slow waits: {shares_words(f)}",) if f.slow.enough and f.slow.main is None else ()
    known = (*found.evidence, *slow_words(f, rows), *mixed, *p99_words(f), *context_words(f, "short-lived"))
    evidence = (*known, *((NICE_MAY_NOT_HELP,) if found.starter else ()))
    headline = f"{found.words} take {percent(found.named_share)} of the busy CPU time{_meanwhile(f, found)}"
    return Finding(headline, evidence, *_action(f, found), level="" if f.slow.enough else "notice")


def _action(f: Facts, found: ShortLived) -> tuple[str, str]:
    starter = found.starter
    if starter is None:
        return typed(FEWER, "")
    if meet_as_sessions(f.slow.rows, np.isin(f.slow.rows["blocker_comm"], list(_storm(f, found)))):
        return fewer_processes_of_sessions(starter.comm, starter.tgid)
    return fewer_processes(f.frame.tasks, starter.comm, starter.tgid)


def _storm(f: Facts, found: ShortLived) -> set[bytes]:
    """The names of what comes and goes, and of what starts it."""
    return {*f.view.short_lived["comm"].tolist(), found.starter.comm if found.starter else b""}


def _meanwhile(f: Facts, found: ShortLived) -> str:
    """Which of the other tasks waits most, if it notices: that is what somebody misses."""
    tasks = f.view.tasks
    others = rows_where(tasks, ~np.isin(tasks["comm"], list(_storm(f, found))))
    others = rows_where(others, (others["ended"] == 0) & ~asks_to_wait(others))
    others = rows_where(others, others["run_delay_ns"] >= DELAYED_SHARE * f.frame.interval_ns)
    if not len(others):
        return ""
    (most,) = waiters(others[np.argsort(-others["run_delay_ns"], kind="stable")[:1]])
    return f"; {most.words} waits {percent(most.ns / max(1, f.frame.interval_ns))} of the time"


def _to_blame(f: Facts) -> bool:
    """Whether slow waits are of queueing; or, with few of them, whether nothing else will cause more.

    Of tasks that did not ask to wait: one of a high nice value waits for whatever runs, and says nothing of the rest.
    """
    slow = urgent(f.slow, f.frame.interval_ns)
    if slow.enough:
        return slow.largest_is(Explanation.QUEUEING)
    return not f.notable_steal and not (f.quotas and f.quotas[0][1] >= QUOTA_NOTICE)
