"""The verdict while a path is open: what keeps a service late that does not wait for a CPU itself."""

from __future__ import annotations

from schedtop.base.units import NS_PER_S, format_ns
from schedtop.path.inversion import Inversion
from schedtop.verdict.limits import ALARM_LOAD
from schedtop.verdict.verdict import Verdict

RULE = "inversion"

NOTHING_WAITS = ("calm", "rare", "few", "nothing-passes", "measuring")
"""Rules of verdicts on a service by which it does not wait for a CPU: most of its tasks may sleep all the time."""


def with_path(verdict: Verdict, inversion: Inversion | None, duration_ns: int) -> Verdict:
    """The verdict on a service (its View filtered to it), with what its path of `duration_ns` shows.

    Where nothing of it waits for a CPU and its path is a priority inversion, that is the verdict.
    """
    if inversion is None or verdict.rule not in NOTHING_WAITS:
        return verdict
    load = inversion.time_ns / max(1, duration_ns)
    of_second = format_ns(round(load * NS_PER_S))
    evidence = (
        *inversion.evidence,
        f"{of_second} a second were lost so, over {format_ns(duration_ns)}",
        f"it does not wait for a CPU itself: {verdict.headline}",
    )
    level = "alarm" if load >= ALARM_LOAD else "notice"
    return Verdict(level, RULE, inversion.headline, evidence, inversion.action, inversion.command)
