"""The engine of the verdict: the rules in order of importance, of which the first that applies is the verdict.

It never guesses: with missing or contradicting evidence it says so. Causes weigh by the time of their waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from schedtop.base.breath import keep_on
from schedtop.base.units import format_ns
from schedtop.history.view import View
from schedtop.verdict.elsewhere import with_activity
from schedtop.verdict.facts import Facts, gather
from schedtop.verdict.limits import LITTLE_NS
from schedtop.verdict.rule import BY_LOAD, Rule
from schedtop.verdict.rules import (
    affinity,
    calm,
    contention,
    delay,
    evidence,
    interrupts,
    precedence,
    short_lived,
    starvation,
    steal,
    throttling,
)
from schedtop.verdict.verdict import ALSO, Verdict
from schedtop.verdict.words import late_helper_words, over_words, quota_context

RULES: Sequence[Rule] = (
    # id, level, by single waits, by sums of waits alone
    Rule("too-short", "unknown", evidence.too_short, evidence.too_short),
    Rule("unavailable", "unknown", evidence.unavailable),
    Rule("nothing-passes", "unknown", evidence.nothing_passes, evidence.nothing_passes),
    Rule("starving", "alarm", starvation.starving),
    Rule("contradiction", "unknown", evidence.contradiction),
    Rule("blocker", BY_LOAD, contention.one_blocker),
    Rule("wakeups", BY_LOAD, contention.one_waker),
    Rule("forks", BY_LOAD, short_lived.short_lived),
    Rule("saturated", BY_LOAD, contention.saturated, contention.saturated_by_sums),
    Rule("incomplete", "unknown", evidence.incomplete),
    Rule("mixed", BY_LOAD, contention.mixed),
    Rule("throttled", BY_LOAD, throttling.throttled),
    Rule("deadline-runtime", BY_LOAD, precedence.deadline_runtime),
    Rule("rt-runtime", BY_LOAD, precedence.rt_runtime),
    Rule("stolen", BY_LOAD, steal.stolen),
    Rule("interrupts", BY_LOAD, interrupts.interrupted),
    Rule("behind-rt", BY_LOAD, precedence.behind_rt),
    Rule("behind-deadline", BY_LOAD, precedence.behind_deadline),
    Rule("lower-weight", BY_LOAD, precedence.lower_weight),
    Rule("pinned", BY_LOAD, affinity.pinned),
    Rule("not-balanced", BY_LOAD, affinity.not_balanced),
    Rule("idle-cpu", "unknown", affinity.idle_elsewhere),
    Rule("sched-ext", BY_LOAD, contention.by_sched_ext),
    Rule("yield", BY_LOAD, contention.yielding),
    Rule("queueing", BY_LOAD, contention.queueing),
    Rule("quota", "notice", throttling.quota, throttling.quota_by_sums),
    Rule("steal", "notice", steal.steal, steal.steal_by_sums),
    Rule("turns", "notice", delay.turns, delay.turns_by_sums),
    Rule("waiting", "notice", delay.waiting, delay.waiting_by_sums),
    Rule("rare", "notice", calm.rare),
    Rule("left-out", "notice", calm.left_out),
    Rule("pressure", "notice", delay.pressure, delay.pressure_by_sums),
    Rule("few", "unknown", evidence.few),
    Rule("calm", "ok", with_activity(calm.calm), with_activity(calm.calm_by_sums)),
    Rule("undecided", "unknown", evidence.undecided, evidence.undecided),
)


SESSIONS = "/proc/PID/autogroup is the nice value of a whole session; renice acts only inside one"
"""What the command about one needs to be understood."""


def judge(view: View) -> Verdict:
    """The verdict on a View."""
    return verdict_on(gather(view))


def verdict_on(facts: Facts, breathe: Callable[[], object] = keep_on) -> Verdict:
    """The verdict on the facts of a View; `breathe` is called in between."""
    verdict = None
    for rule in RULES:
        if verdict := rule.judge(facts):
            break
        breathe()
    assert verdict is not None, "the last rule always applies"
    if rule.level == BY_LOAD:
        # A second cause, with an end of its own: it does not wait behind `v`.
        quota, helper = quota_context(facts), late_helper_words(facts, verdict.headline)
        also = (words for words in (quota if quota in verdict.evidence else "", helper) if words)
        verdict = replace(verdict, headline=ALSO.join((verdict.headline, *also)))
    if "/autogroup" in verdict.command and "renice" not in verdict.command:
        verdict = replace(verdict, evidence=(*verdict.evidence, SESSIONS))
    span = facts.frame.interval_ns
    if span >= LITTLE_NS or verdict.rule == "too-short":
        return verdict
    return replace(verdict, evidence=(*verdict.evidence, f"only {format_ns(span)} were measured"))


def with_end(verdict: Verdict, facts: Facts) -> Verdict:
    """The verdict on a window that goes on, with for how long it has been over: a longer window has what was before.

    What is over is no alarm.
    """
    by_load = any(rule.id == verdict.rule and rule.level == BY_LOAD for rule in RULES)
    over = over_words(facts) if by_load else ""
    # First, because a narrow screen drops the last clauses.
    if not over:
        return verdict
    level = "notice" if verdict.level == "alarm" else verdict.level
    return replace(verdict, level=level, headline=f"{over}; before: {verdict.headline}")
