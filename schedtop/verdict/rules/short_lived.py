"""Short-lived tasks are much of the work."""

from __future__ import annotations

from schedtop.model.waits import Explanation
from schedtop.verdict.facts import Facts
from schedtop.verdict.limits import QUOTA_NOTICE, SHORT_LIVED_SHARE
from schedtop.verdict.phrases import percent
from schedtop.verdict.rule import Finding
from schedtop.verdict.slow import urgent
from schedtop.verdict.words import (
    FEWER_PROCESSES,
    context_words,
    p99_words,
    renice_named,
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
    evidence = (*found.evidence, *slow_words(f, rows), *mixed, *p99_words(f), *context_words(f, "short-lived"))
    headline = f"{found.words} take {percent(found.named_share)} of the busy CPU time"
    # A nice value passes on to children.
    command = renice_named(found.starter.comm, found.starter.tgid) if found.starter else ""
    action, command = typed(FEWER_PROCESSES, command)
    return Finding(headline, evidence, action, command, level="" if f.slow.enough else "notice")


def _to_blame(f: Facts) -> bool:
    """Whether slow waits are of queueing; or, with few of them, whether nothing else will cause more.

    Of tasks that did not ask to wait: one of a high nice value waits for whatever runs, and says nothing of the rest.
    """
    slow = urgent(f.slow, f.frame.interval_ns)
    if slow.enough:
        return slow.largest_is(Explanation.QUEUEING)
    return not f.notable_steal and not (f.quotas and f.quotas[0][1] >= QUOTA_NOTICE)
