"""What stands out of the activity when nothing waits for a CPU."""

from __future__ import annotations

from dataclasses import replace

from schedtop.activity.recorded import activity_of
from schedtop.activity.standing_out import StandingOut, standing_out
from schedtop.verdict.facts import Facts
from schedtop.verdict.rule import Check, Finding

MOST_EVIDENCE = 2
"""So many facts beside that of the headline."""

NOT_RECORDED = "what tasks did was not recorded (`record --activity`)"
NOTHING = "nothing stands out in system calls, files, memory and network"


def with_activity(check: Check) -> Check:
    """The same check; what it finds says what stands out."""

    def offering(f: Facts) -> Finding | None:
        found = check(f)
        if found is None:
            return None
        facts = _facts(f)
        if facts is None:
            # On a live host its action says where that is to be seen.
            lacks = (NOT_RECORDED,) if f.sums is None and f.view.host.recorded_source else ()
            return replace(found, evidence=(*found.evidence, *lacks))
        if not facts:
            return replace(found, evidence=(*found.evidence, NOTHING))
        others = [fact.words for fact in facts[1 : MOST_EVIDENCE + 1]]
        return replace(found, headline=f"{found.headline}; {facts[0].words}", evidence=(*others, *found.evidence))

    return offering


def _facts(f: Facts) -> list[StandingOut] | None:
    """What stands out of what the filter shows; `None`: it was not measured."""
    activity = activity_of(f.frame, f.view.host)
    if activity is None:
        return None
    facts = standing_out(activity)
    if not f.names_tasks:
        return list(facts)
    shown = set(f.view.tasks["tgid"].tolist())
    return [fact for fact in facts if fact.tgid in shown]
