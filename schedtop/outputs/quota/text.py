"""Advice on quotas as text."""

from __future__ import annotations

from collections.abc import Iterator

from schedtop import __version__
from schedtop.base.units import format_ns, format_ratio, format_round_ns, iso_time, printable
from schedtop.model.rows import text
from schedtop.outputs.plain import blocks_text
from schedtop.outputs.quota.document import quota_us
from schedtop.outputs.tables import table, titled
from schedtop.quota.advice import USUAL, Advice, Step, cpus_words, range_words
from schedtop.quota.command import quota_command
from schedtop.quota.findings import Findings
from schedtop.quota.prediction import Range

THREADS = 10

LITTLE_KNOWN = 0.8
"""With less of the throttled time in single waits it is said how much."""

BOUNDS = (
    "Quotas are numbers of CPUs, as a range because throttling hides demand. At least: the threads had only the work\n"
    "that they did. At most: each thread that was held back would have run all that time, bounded by the CPUs."
)


def to_text(findings: Findings) -> str:
    """A report to read."""
    parts = ["\n".join(_head(findings))]
    parts += [_group(advice, findings) for advice in findings.advices]
    parts += [BOUNDS] if any(advice.steps for advice in findings.advices) else []
    parts += ["\n".join(_trouble(findings))]
    return blocks_text(parts)


def nothing_words(findings: Findings) -> str:
    """What is said where there is nothing to advise on; empty if there is."""
    if findings.advices:
        return ""
    which = f" with {printable(findings.wanted)!r} in its path" if findings.wanted else ""
    if not findings.quotas:
        return "nothing was throttled: no cgroup with running tasks has a CPU quota"
    return f"nothing was throttled: no cgroup{which} has used up its quota"


def _head(findings: Findings) -> Iterator[str]:
    yield nothing_words(findings).capitalize() or _sentence(findings.advices[0])
    parts = [f"schedtop {__version__}", f"host {findings.host.name}", f"kernel {findings.host.kernel}"]
    parts += [f"recording {findings.file}" if findings.file else f"source {findings.host.source}"]
    parts += [iso_time(findings.start_time_ns), f"over {format_ns(findings.interval_ns)}"]
    yield "  ".join(parts)


def _sentence(advice: Advice) -> str:
    """The most throttled group, and the usual step."""
    name = advice.record.path or "A cgroup"
    step = next((step for step in advice.steps if step.removed_ratio == USUAL), None)
    if step is None:
        return f"{name} is throttled: {advice.why_not}"
    more = _ratios(advice, step.quota_ns)
    removed = f"would have removed {step.removed_ratio * 100:.0f} % of its throttled time"
    return f"{name} is throttled: quota {_now(advice)} → {more} CPUs {removed}"


def _group(advice: Advice, findings: Findings) -> str:
    record = advice.record
    lines = [f"{record.path or 'a cgroup without a name'}{_settings(advice)}", *_what_happened(advice)]
    lines += [f"  no advice: {advice.why_not}"] if advice.why_not else ["", *_indented(_steps(advice))]
    lines += [f"  {line}" for line in _hints(advice, findings)]
    lines += ["", *_indented(_threads(advice))] if len(advice.spenders) else []
    return "\n".join(lines)


def _settings(advice: Advice) -> str:
    record = advice.record
    if not record.quota_ns:
        return ""
    burst = f", burst {format_round_ns(record.burst_ns)}" if record.burst_ns else ""
    about = "about " if record.inferred else ""
    each = f"{format_ns(record.quota_ns)} in each {format_round_ns(record.period_ns)}"
    return f": quota {about}{_now(advice)} CPUs ({each}{burst})"


def _what_happened(advice: Advice) -> Iterator[str]:
    record, lasting = advice.record, advice.lasting
    periods = f"{record.throttled_periods} of {record.periods} periods"
    yield f"  throttled in {periods}, for {format_ns(record.throttled_ns)}, summed over CPUs"
    if lasting:
        median, worst = format_ns(lasting.median_ns), format_ns(lasting.worst_ns)
        yield f"  in these the quota lasts {median} (median), {worst} at worst, until the first thread has to wait"


def _steps(advice: Advice) -> str:
    found = advice.prediction
    rows = []
    for step in advice.steps if found else ():
        left = found.throttled_ns(step.quota_ns.high or 0.0) if found else Range(None, None)
        rows.append((
            f"{step.removed_ratio * 100:.0f} %",
            _ratios(advice, step.quota_ns),
            range_words(format_ns(left.low), format_ns(left.high)),
            _burst(step),
        ))  # fmt: skip
    return table(("removes", "quota", "then throttled", "or a burst of"), rows)


def _burst(step: Step) -> str:
    low, high = step.burst_ns.low, step.burst_ns.high
    if low is None:
        return "none would"
    if high is None:
        return f"{format_ns(low)} at least"
    return range_words(format_ns(low), format_ns(high))


def _hints(advice: Advice, findings: Findings) -> Iterator[str]:
    """What to type, and what else matters."""
    record = advice.record
    usual = next((step for step in advice.steps if step.removed_ratio == USUAL), None)
    if usual and usual.quota_ns.high:
        wanted_us = quota_us(usual.quota_ns.high)
        yield f"to type: {quota_command(findings.host.weight_file, record.path, wanted_us)}"
        for path, ratio in sorted(record.enclosing.items()):
            if ratio < advice.quota_ratio(usual.quota_ns.high):
                yield f"{path} has a quota of {cpus_words(ratio)} itself: that one must be raised before"
    if record.inferred and record.quota_ns:
        yield "the recording does not tell the quota: it is what was run in a period"
    if record.cgroup_id in findings.changed:
        yield f"its quota was changed: this is about the last {format_ns(record.interval_ns)}"
    found = advice.prediction
    if found and found.by_sums:
        yield "no single wait for its quota is known: all periods are taken for alike"
    elif found and found.known_ratio < LITTLE_KNOWN:
        yield f"single waits tell {format_ratio(found.known_ratio)} of the throttled time; the rest is taken for alike"


def _threads(advice: Advice) -> str:
    rows, whole = advice.spenders, max(1, advice.record.run_ns)
    lines = [
        (format_ratio(int(row["run_ns"]) / whole), format_ns(int(row["run_ns"])), str(row["tid"]), text(row["comm"]))
        for row in rows[:THREADS]
    ]
    return titled("Threads that spend it", len(rows), ("share", "ran", "tid", "thread"), lines, left=("thread",))


def _trouble(findings: Findings) -> Iterator[str]:
    if findings.without_waits and findings.advices:
        yield f"note: single waits are not known ({findings.without_waits}), so the ranges are wide"
    if findings.damage:
        yield f"note: {findings.damage}"
    if findings.loss.slow_waits_suppressed or findings.loss.ring_dropped:
        lost = findings.loss.slow_waits_suppressed + findings.loss.ring_dropped
        yield f"lost: {lost:,} slow waits; those that are known stand for them"


def _now(advice: Advice) -> str:
    return cpus_words(advice.quota_ratio(advice.record.quota_ns))


def _ratios(advice: Advice, quota_ns: Range) -> str:
    low, high = (cpus_words(advice.quota_ratio(ns or 0.0)) for ns in (quota_ns.low, quota_ns.high))
    return range_words(low, high)


def _indented(block: str) -> list[str]:
    return [f"  {line}".rstrip() for line in block.split("\n")]
