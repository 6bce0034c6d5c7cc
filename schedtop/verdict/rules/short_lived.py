"""Short-lived tasks are much of the work."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from schedtop.model.rows import rows_where
from schedtop.model.waits import Explanation
from schedtop.verdict.advice import FEWER, LOOK, NICE_MAY_NOT_HELP, fewer_processes, storm_names, typed
from schedtop.verdict.facts import Facts
from schedtop.verdict.limits import DELAYED_SHARE, MAIN_SHARE, QUOTA_NOTICE, SHORT_LIVED_SHARE
from schedtop.verdict.parts import Part
from schedtop.verdict.rule import Finding
from schedtop.verdict.short_lived import ShortLived
from schedtop.verdict.slow import urgent
from schedtop.verdict.verdict import Late
from schedtop.verdict.words import context_words, late_of, latest_of, p99_words, shares_words, slow_words


def short_lived(f: Facts) -> Finding | None:
    """Not where there are few slow waits and another reason for those that may come.

    Of chosen tasks: where these wait behind the storm.
    """
    found = f.short_lived
    if found is None or found.share < SHORT_LIVED_SHARE or not _to_blame(f):
        return None
    storm = [*storm_names(f, found.starter.comm if found.starter else b"")]
    late = late_of(f, _latest(f, storm))
    waiting = _late_words(f, late)
    if f.names_tasks and not (waiting and _wait_behind(f, storm)):
        return None
    rows = f.slow.of(Explanation.QUEUEING)
    mixed = (f"of the slow waits: {shares_words(f)}",) if f.slow.enough and f.slow.main is None else ()
    evidence = (*found.evidence, *slow_words(f, rows), *mixed, *p99_words(f), *context_words(f, "short-lived"))
    also = (NICE_MAY_NOT_HELP,) if found.starter and not f.frame.overhead.session_nice else ()
    headline = "; ".join(filter(None, (waiting, found.takes) if f.names_tasks else (found.takes, waiting)))
    action = _action(f, found)
    # Once all others go first and none of them notices, nobody is harmed.
    is_calm = action[1].startswith(LOOK) and (not late.tid or late.share < DELAYED_SHARE)
    level = "notice" if is_calm or not f.slow.enough else ""
    return Finding(headline, evidence, *action, level, also, late)


def _action(f: Facts, found: ShortLived) -> tuple[str, str]:
    starter = found.starter
    return fewer_processes(f, starter.comm, starter.tgid) if starter else typed(FEWER, "")


def _latest(f: Facts, storm: list[bytes]) -> Sequence[Part]:
    """Which of the other tasks wait most, if so much that somebody may miss them."""
    tasks = f.view.tasks
    return latest_of(f, rows_where(tasks, ~np.isin(tasks["comm"], storm)))


def _late_words(f: Facts, late: Late) -> str:
    """For how much of the time they wait, or that no other task does."""
    if not late.tid:
        return "no other task waits" if len(f.view.tasks) and not f.chosen else ""
    return late.words


def _wait_behind(f: Facts, storm: list[bytes]) -> bool:
    """Whether most of what the chosen tasks waited was behind the storm, by what is known of it."""
    pairs = f.view.pairs
    of_storm = np.isin(pairs["other_comm"], storm)
    return int(pairs["blocked_ns"][of_storm].sum()) > MAIN_SHARE * int(pairs["blocked_ns"].sum())


def _to_blame(f: Facts) -> bool:
    """Whether slow waits are of queueing; or, with few of them, whether nothing else will cause more.

    Of tasks that did not ask to wait: one of a high nice value waits for whatever runs, and says nothing of the rest.
    """
    slow = urgent(f.slow, f.frame.interval_ns)
    if slow.enough:
        return slow.largest_is(Explanation.QUEUEING)
    return not f.notable_steal and not (f.quotas and f.quotas[0][1] >= QUOTA_NOTICE)
