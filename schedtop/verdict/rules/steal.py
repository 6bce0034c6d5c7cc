"""CPU time that the hypervisor has."""

from __future__ import annotations

from schedtop.model.waits import Explanation
from schedtop.verdict.advice import typed
from schedtop.verdict.facts import Facts
from schedtop.verdict.limits import STEAL_ALARM, STOLEN_SHARE
from schedtop.verdict.phrases import percent
from schedtop.verdict.rule import Finding
from schedtop.verdict.words import calm_words, context_words, delay_words, slow_words

_ACTION = typed("Move the VM or ask for dedicated CPUs; to prove it", "sudo schedtop record -o steal.gz --duration 10m")


def stolen(f: Facts) -> Finding | None:
    """Most of the slow waiting time was stolen; or tasks queue, with much steal and a good part of that time stolen."""
    share = int(f.slow.rows["stolen_ns"].sum()) / max(1, f.slow.total_ns)
    queued = f.slow.main_is(Explanation.QUEUEING) and (f.steal or 0) >= STEAL_ALARM and share >= STOLEN_SHARE
    if not f.slow.main_is(Explanation.STOLEN) and not queued:
        return None
    headline = f"The hypervisor had the CPU for at least {percent(share)} of the slow waits"
    evidence = (
        f"at least {percent(share)} of the slow waiting time was stolen",
        "steal is not available" if f.steal is None else f"steal is {percent(f.steal)} of the time",
        *slow_words(f, f.slow.rows),
        *context_words(f, "steal"),
    )
    return Finding(_headline(f.steal or 0.0) if f.notable_steal else headline, evidence, *_ACTION)


def steal(f: Facts) -> Finding | None:
    """Steal is notable, but few waits are slow."""
    return None if f.slow.enough else _notable(f, (*calm_words(f), *context_words(f, "steal")))


def steal_by_sums(f: Facts) -> Finding | None:
    """Steal is notable."""
    return _notable(f, (*delay_words(f), *context_words(f, "steal"), *(f.sums.lacks if f.sums else ())))


def _notable(f: Facts, evidence: tuple[str, ...]) -> Finding | None:
    if f.steal is None or not f.notable_steal:
        return None
    return Finding(_headline(f.steal), evidence, *_ACTION, level="alarm" if f.steal >= STEAL_ALARM else "notice")


def _headline(ratio: float) -> str:
    return f"Steal is {percent(ratio)}: the host is oversubscribed or limits this VM"
