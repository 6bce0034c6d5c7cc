"""The verdict while a path is open: what keeps a service late whose lock is held by a task without a CPU."""

from __future__ import annotations

from schedtop.base.units import NS_PER_S, format_ns
from schedtop.path.inversion import Inversion
from schedtop.verdict.limits import ALARM_LOAD
from schedtop.verdict.verdict import Verdict

RULE = "inversion"

NOTHING_WAITS = ("calm", "rare", "left-out", "few", "nothing-passes", "measuring")
"""Rules of verdicts on a service by which it does not wait for a CPU: most of its tasks may sleep all the time."""

NO_SINGLE_CAUSE = ("saturated", "mixed", "incomplete", "undecided")
"""Rules by which it waits for a CPU, or the whole host does, without one task to blame."""

MOST_SHARE = 0.5
"""An inversion that takes so much of the time that the service is late, its own waits for a CPU among it, comes before
any other cause."""


def with_path(verdict: Verdict, inversion: Inversion | None, duration_ns: int) -> Verdict:
    """The verdict on a service (its View filtered to it), with what its path of `duration_ns` shows.

    A priority inversion is the verdict where nothing of the service waits for a CPU, where its waits have no single
    cause (a host with more work than CPUs), and where it takes most of the time anyway.
    """
    if inversion is None or not _comes_first(verdict, inversion):
        return verdict
    load = inversion.time_ns / max(1, duration_ns)
    of_second = format_ns(round(load * NS_PER_S))
    besides = "it does not wait for a CPU itself" if verdict.rule in NOTHING_WAITS else "besides"
    evidence = (
        *inversion.evidence,
        f"{of_second} a second were lost so, over {format_ns(duration_ns)}",
        f"{besides}: {verdict.headline}",
    )
    level = "alarm" if load >= ALARM_LOAD or verdict.level == "alarm" else "notice"
    return Verdict(level, RULE, inversion.headline, evidence, inversion.action, inversion.command)


def _comes_first(verdict: Verdict, inversion: Inversion) -> bool:
    return verdict.rule in (*NOTHING_WAITS, *NO_SINGLE_CAUSE) or inversion.share >= MOST_SHARE
