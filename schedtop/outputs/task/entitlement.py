"""What the weights give a task: in the report to read, and as data."""

from __future__ import annotations

from typing import Any

from schedtop.entitlement.report import EntitlementReport
from schedtop.entitlement.share import Level, Rival
from schedtop.entitlement.words import headline, report_words
from schedtop.task import TaskFrame

RIVALS = 4
"""How many rivals are shown at most."""


def entitlement_text(task: TaskFrame) -> str:
    """What it is entitled to by its weights and got, beside which rivals, and what would change that."""
    return report_text(task.entitlement) if task.entitlement else ""


def report_text(report: EntitlementReport) -> str:
    """The same of any subject."""
    first, *rest = report_words(report, RIVALS)
    return "\n".join([first, *(f"  {words}" for words in rest)])


def entitlement_fields(report: EntitlementReport) -> dict[str, Any]:
    """The same as data; shares in CPUs."""
    found, advice = report.found, report.advice
    return {
        "interval_ns": found.interval_ns,
        "conclusion": found.conclusion.value,
        "words": headline(found),
        "entitled_cpus": round(found.entitled, 6),
        "limit_cpus": round(found.limit, 6),
        "got_cpus": round(found.got, 6),
        "wanted_cpus": round(found.wanted, 6),
        "cpus": sorted(found.cpus),
        "nice_is_idle": report.nice_is_idle,
        "levels": [_level(level) for level in found.levels],
        "rivals": [_rival(rival) for rival in found.rivals],
        "first": [_rival(rival) for rival in found.first],
        "first_cpus": round(found.first_used, 6),
        "action": None
        if advice is None
        else {
            "command": advice.command,
            "expected_cpus": round(advice.expected, 6),
            "reason": advice.reason or None,
        },
    }


def _level(level: Level) -> dict[str, Any]:
    return {
        "group": level.key or None,
        "weight": level.weight,
        "weights": level.weights,
        "ratio": round(level.ratio, 6),
        "entitled_cpus": round(level.entitled, 6),
        "got_cpus": round(level.got, 6),
        "quota_cpus": level.quota,
    }


def _rival(rival: Rival) -> dict[str, Any]:
    one = rival.contender
    return {
        "tid": one.tid,
        "tgid": one.tgid,
        "comm": one.comm,
        "policy": one.policy,
        "nice": one.nice,
        "rt_priority": one.rt_priority,
        "weight": one.weight if one.is_fair else None,
        "groups": list(one.groups),
        "entitled_cpus": round(rival.entitled, 6) if one.is_fair else None,
        "got_cpus": round(rival.got, 6),
        "wanted_cpus": round(one.wanted, 6),
    }
