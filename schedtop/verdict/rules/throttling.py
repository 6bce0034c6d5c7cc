"""Quotas: slow waits of throttled tasks, and groups that are throttled without any."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from schedtop.base.units import NS_PER_US, format_ns
from schedtop.model.containers import cgroup_label
from schedtop.model.rows import Rows, rows_where
from schedtop.model.waits import Evidence, Explanation
from schedtop.quota.advice import USUAL, Advice, advise, advised_bounds, cpus_words, step_words
from schedtop.quota.command import quota_command
from schedtop.quota.record import records_of
from schedtop.verdict.advice import typed
from schedtop.verdict.facts import Facts, Quota
from schedtop.verdict.limits import QUOTA_NOTICE
from schedtop.verdict.parts import Part, victims_of
from schedtop.verdict.phrases import percent
from schedtop.verdict.rule import Finding
from schedtop.verdict.words import calm_words, context_words, delay_words, quota_words, slow_words, up_to_words

_ADVICE = "sudo schedtop advise --duration 30s"
_ACTION = typed("See which quota would be enough", _ADVICE)


def throttled(f: Facts) -> Finding | None:
    """Most of the slow waiting time is that of throttled tasks."""
    if not f.slow.main_is(Explanation.THROTTLED):
        return None
    rows = f.slow.of(Explanation.THROTTLED)
    groups, places = np.unique(rows["cgroup_id"], return_inverse=True)
    place = int(np.argmax(np.bincount(places, rows["wait_ns"])))
    group, most = int(groups[place]), victims_of(rows_where(rows, places == place))[0]
    quota = f.quota_above(group)
    path = quota[0] if quota else f.frame.cgroups.get(group, "")
    often = f" in {percent(quota[1])} of its periods" if quota else ""
    longest = up_to_words(rows[places == place])
    headline = f"{cgroup_label(path) if path else most.words} is throttled by its quota{often}, {longest}"
    action, command, why = _action(f, path)
    return Finding(headline, (*why, *_evidence(f, rows, quota, most)), action, command)


def _evidence(f: Facts, rows: Rows, quota: Quota | None, most: Part) -> Iterator[str]:
    inferred = bool((rows["evidence"] == Evidence.INFERRED).any())
    if inferred:
        yield "inferred from cpu.stat"
    if quota is None:
        yield "how often is not known yet"
    yield f"{most.words} waited most: {format_ns(most.ns)} for its quota"
    yield from slow_words(f, rows)
    if f.p99_ns is not None and f.p99_ns < f.frame.threshold_ns and not inferred:
        yield f"other waits are fine: p99 {format_ns(f.p99_ns)}"
    yield from context_words(f, "quotas")


def quota(f: Facts) -> Finding | None:
    """A group is throttled, but few waits are slow."""
    return None if f.slow.enough else _often_throttled(f, (*calm_words(f), *context_words(f, "quotas")))


def quota_by_sums(f: Facts) -> Finding | None:
    """A group is throttled. Without single waits steal goes first: it delays every task, a quota those of its group."""
    if f.sums is None or f.notable_steal:
        return None
    return _often_throttled(f, (*delay_words(f), *context_words(f, "quotas"), *f.sums.lacks))


def _often_throttled(f: Facts, evidence: tuple[str, ...]) -> Finding | None:
    if not f.quotas or f.quotas[0][1] < QUOTA_NOTICE:
        return None
    path = f.quotas[0][0]
    action, command, why = _action(f, path)
    return Finding(f"{quota_words(*f.quotas[0])}{_held_words(f, path)}", (*why, *evidence), action, command)


def _held_words(f: Facts, path: str) -> str:
    """For how long a group was throttled, summed over CPUs, if that is known."""
    rows = f.frame.throttling
    held = [row["throttled_ns"] for row in rows if path and f.frame.cgroups.get(int(row["cgroup_id"])) == path]
    held_ns = int(sum(held))
    return f", {format_ns(held_ns)} in {format_ns(f.frame.interval_ns)}" if held_ns else ""


def _action(f: Facts, path: str) -> tuple[str, str, tuple[str, ...]]:
    """The quota that would have been enough for a group, if that can be told, its command, and why it is that one
    (docs/advise.md)."""
    record = next((record for record in records_of(f.frame) if path and record.path == path), None)
    # What the quota was is told by the kernel, or nothing is said.
    if record is None or record.inferred:
        return (*_ACTION, ())
    advice = advise(record, (USUAL,))
    if not advice.steps:
        return (*_ACTION, ())
    words = step_words(advice, advice.steps[0])
    enough = _enough(f, advice)
    if not enough:
        return (*typed(words[0].upper() + words[1:], _ADVICE), ())
    now = cpus_words(advice.quota_ratio(record.quota_ns))
    command = quota_command(f.view.host.weight_file, record.path, round(float(enough) * record.period_ns / NS_PER_US))
    removed = percent(advice.steps[0].removed_ratio)
    low, high = advised_bounds(advice, advice.steps[0])
    why = f"{removed} less throttling takes {low} CPUs"
    if low != high:
        why += f" (the same work) to {high} (all it can run)"
    if low != high == enough:
        # In one with the range: both stay as long as the command does.
        of_host = percent(float(enough) / max(1, len(f.frame.cpus.ids)))
        why += f"; the command sets the larger, {of_host} of all CPUs"
    return (*typed(f"Raise the quota from {now} to {enough} CPUs", command), (why,))


def _enough(f: Facts, advice: Advice) -> str:
    """The upper bound of the advice; empty: nothing can set it, or a quota around it must be raised before."""
    high_ns = advice.steps[0].quota_ns.high
    if not f.view.host.weight_file or high_ns is None:
        return ""
    # Just after a quota was lowered the periods before it ask for more than there is.
    cpus = cpus_words(min(advice.quota_ratio(high_ns), float(max(1, len(f.frame.cpus.ids)))))
    return "" if any(ratio < float(cpus) for ratio in advice.record.enclosing.values()) else cpus
