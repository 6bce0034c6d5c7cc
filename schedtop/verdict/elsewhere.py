"""Where to look when nothing waits for a CPU: what stands out of the activity, else which key and command show it."""

from __future__ import annotations

from dataclasses import replace

from schedtop.activity.recorded import activity_of
from schedtop.activity.standing_out import StandingOut, standing_out
from schedtop.verdict.facts import Facts
from schedtop.verdict.rule import Check, Finding

MOST_EVIDENCE = 2
"""So many facts beside that of the headline."""

OFFER = "key a, or `sudo schedtop activity`, shows what tasks do: system calls, files, memory, network"
NOT_RECORDED = "what tasks did was not recorded (`record --activity`)"
NOTHING = "nothing stands out in system calls, files, memory and network"


def with_activity(check: Check) -> Check:
    """The same check; what it finds says what stands out, or where that is to be seen."""

    def offering(f: Facts) -> Finding | None:
        found = check(f)
        if found is None:
            return None
        facts = _facts(f)
        if facts is None:
            if f.sums is not None:
                return found  # no key here: its action names the command
            offer = NOT_RECORDED if f.view.host.recorded_source else OFFER
            return replace(found, evidence=(*found.evidence, offer))
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
