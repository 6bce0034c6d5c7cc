"""Short-lived tasks are much of the work."""

from __future__ import annotations

import numpy as np

from schedtop.model.rows import rows_where
from schedtop.model.waits import Explanation
from schedtop.verdict.facts import Facts
from schedtop.verdict.limits import QUOTA_NOTICE, SHORT_LIVED_SHARE, WAITS_SHARE
from schedtop.verdict.parts import waiters
from schedtop.verdict.phrases import percent
from schedtop.verdict.rule import Finding
from schedtop.verdict.short_lived import ShortLived
from schedtop.verdict.slow import asks_to_wait, urgent
from schedtop.verdict.words import (
    FEWER,
    KTHREADD_TGID,
    NICE_MAY_NOT_HELP,
    OWN_COMM,
    context_words,
    fewer_processes,
    p99_words,
    shares_words,
    slow_words,
    storm_names,
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
    evidence = (*known, *((NICE_MAY_NOT_HELP,) if found.starter and not f.frame.overhead.session_nice else ()))
    headline = f"{found.words} take {percent(found.named_share)} of the busy CPU time{_meanwhile(f, found)}"
    return Finding(headline, evidence, *_action(f, found), level="" if f.slow.enough else "notice")


def _action(f: Facts, found: ShortLived) -> tuple[str, str]:
    starter = found.starter
    return fewer_processes(f, starter.comm, starter.tgid) if starter else typed(FEWER, "")


def _meanwhile(f: Facts, found: ShortLived) -> str:
    """Which of the other tasks waits most, or that none waits: that is what somebody misses."""
    tasks = f.view.tasks
    storm = storm_names(f, found.starter.comm if found.starter else b"")
    others = rows_where(tasks, ~np.isin(tasks["comm"], [*storm, OWN_COMM]) & (tasks["parent_tgid"] != KTHREADD_TGID))
    others = rows_where(others, (others["ended"] == 0) & (others["run_delay_ns"] >= WAITS_SHARE * f.frame.interval_ns))
    others = rows_where(others, ~asks_to_wait(others))
    if not len(others):
        return "; no other task waits" if len(tasks) and not f.chosen else ""
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
