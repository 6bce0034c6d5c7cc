"""The entitlement of a task with the advice that goes with it, as one answer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from schedtop.entitlement.advice import Advice, advise, idle_nice
from schedtop.entitlement.competition import Competition
from schedtop.entitlement.share import Entitlement, entitlement, group_entitlement


@dataclass(frozen=True, slots=True)
class EntitlementReport:
    """`found`: entitled and got; `advice`: what would change it, `None`: nothing does, or nothing is wrong.

    `nice_is_idle`: its nice value changes nothing, because it is alone in its group.
    """

    found: Entitlement
    advice: Advice | None
    nice_is_idle: bool


def report_on(competition: Competition, tids: Collection[int]) -> EntitlementReport | None:
    """Of the tasks `tids` together; `None`: they did nothing in the window, or are gone."""
    return _report(competition, entitlement(competition, tids))


def report_on_group(competition: Competition, key: str) -> EntitlementReport | None:
    """Of a group of the competition; `None`: none of its tasks did anything in the window."""
    return _report(competition, group_entitlement(competition, key))


def _report(competition: Competition, found: Entitlement | None) -> EntitlementReport | None:
    if found is None:
        return None
    return EntitlementReport(found, advise(competition, found), idle_nice(found))
