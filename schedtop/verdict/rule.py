"""A rule of the verdict: its id and level, and the functions that say whether it applies and in which words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from schedtop.verdict.facts import Facts
from schedtop.verdict.verdict import NOT_LATE, Late, Verdict

BY_LOAD = "by load"
"""A level that depends on how much waiting there is."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found: a Verdict without the rule's id. `level` only where it is not that of the rule.

    `command`: the part of `action` that can be typed; `alternatives`: what else can be done; `late`: the task of
    which the headline says for how much of the time it waits; `may_stay`: what was found need not be changed;
    `victim`: the task that is helped, if it is not that late one.
    """

    headline: str
    evidence: tuple[str, ...] = ()
    action: str = ""
    command: str = ""
    level: str = ""
    alternatives: tuple[str, ...] = ()
    late: Late = NOT_LATE
    may_stay: bool = False
    victim: int = 0


Check = Callable[[Facts], Finding | None]
"""Says whether a rule applies: what it found, or None."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to judge a View. Its topic is the module of its functions.

    `id`: its name in JSON and docs/blame.md; `level`: one of Verdict's, or BY_LOAD. `by_waits` needs single waits or
    their histogram, `by_sums` only run delays and the counters of the CPUs; None: not to be told by these.
    """

    id: str
    level: str
    by_waits: Check | None
    by_sums: Check | None = None

    def judge(self, facts: Facts) -> Verdict | None:
        """The Verdict, if the rule applies."""
        check = self.by_waits if facts.sums is None else self.by_sums
        found = check(facts) if check else None
        if found is None:
            return None
        level = found.level or (facts.level if self.level == BY_LOAD else self.level)
        told = (found.headline, found.evidence, found.action, found.command, found.alternatives, found.late)
        return Verdict(level, self.id, *told, found.may_stay, found.victim or found.late.tid)
