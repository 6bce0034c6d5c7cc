"""What makes a comparison of two reports weak."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from schedtop.base.units import NS_PER_S, format_ns, format_ratio, format_round_ns, plural
from schedtop.outputs.diff.hosts import hosts_of, many
from schedtop.outputs.words import filter_words, named

SHORT_NS = 2 * NS_PER_S
UNLIKE = 3.0
"""Lengths that differ by so much are worth a word: what is rare happens in the longer one."""

WEAK_SHARE = 0.05
"""Of so much that was lost it is said."""

Data = Mapping[str, Any]


def warnings_of(before: Data, after: Data) -> list[str]:
    """Why the two need not be comparable, as sentences without a full stop; most important first."""
    sides = (("before", before), ("after", after))
    return [
        *_unlike(before, after),
        *(f"{name}: {words}" for name, data in sides for words in _weak(data)),
    ]


def _unlike(before: Data, after: Data) -> Iterator[str]:
    if many(before) or many(after):
        yield from _other_hosts(before, after)
    elif before["host"] != after["host"]:
        yield f"host differs: {before['host']} and {after['host']}"
    for key in ("kernel", "source"):
        if before[key] != after[key]:
            yield f"{key} differs: {before[key]} and {after[key]}"
    cpus = [len(data["cpus"]) for data in (before, after)]
    if cpus[0] != cpus[1]:
        yield f"the number of CPUs differs: {cpus[0]} and {cpus[1]}"
    filters = [filter_words(data["filters"]) or "none" for data in (before, after)]
    if filters[0] != filters[1]:
        yield f"filters differ: {filters[0]} and {filters[1]}"
    thresholds = [data["threshold_ns"] for data in (before, after)]
    if thresholds[0] != thresholds[1]:
        both = " and ".join("several" if each is None else format_round_ns(each) for each in thresholds)
        yield f"thresholds differ, so slow waits are not compared: {both}"
    if bool(before["interrupts"]) != bool(after["interrupts"]):
        yield f"interrupts were timed only {'before' if before['interrupts'] else 'after'}, so they are not compared"
    if bool(before["activity"]) != bool(after["activity"]):
        yield f"activity was measured only {'before' if before['activity'] else 'after'}, so it is not compared"
    spans = [data["interval_ns"] for data in (before, after)]
    if max(spans) > UNLIKE * min(spans):
        yield f"lengths differ: {format_ns(spans[0])} and {format_ns(spans[1])}; the longest waits are not comparable"


def _other_hosts(before: Data, after: Data) -> Iterator[str]:
    """The hosts that are on one side alone."""
    sides = [dict.fromkeys(hosts_of(data)) for data in (before, after)]
    for word, here, there in (("before", *sides), ("after", *reversed(sides))):
        alone = [name for name in here if name not in there]
        if alone and len(alone) < len(here):
            yield f"only {word}: {named(alone)}"
    if not sides[0].keys() & sides[1].keys():
        yield f"no host is on both sides: {named(list(sides[0]))} before, {named(list(sides[1]))} after"


def _weak(data: Data) -> Iterator[str]:
    yield from data.get("warnings", ())
    if data["interval_ns"] < SHORT_NS:
        yield f"{format_ns(data['interval_ns'])} are short"
    recording = data["recording"] or {}
    if recording.get("damage"):
        yield recording["damage"]
    loss = data["loss"]
    slow = data["counts"].get("slow_waits", len(data["slow_waits"] or ()))
    unseen = sum(loss.get(name, 0) for name in ("ring_dropped", "slow_waits_suppressed"))
    switches = data["totals"].get("switches") or 0
    for words, lost, whole in (
        ("of the slow waits were not seen", unseen, unseen + slow),
        ("of the switches were not seen", loss.get("switches_unseen", 0), switches),
        ("of the intervals were late", loss.get("late_ticks", 0), loss.get("late_ticks", 0) + data["intervals"]),
    ):
        if lost > WEAK_SHARE * whole:
            yield f"{format_ratio(min(1.0, lost / whole) if whole else 1.0)} {words}"
    forgotten = sum(loss.get(name, 0) for name in ("tasks_untracked", "tasks_evicted", "tasks_forgotten"))
    if forgotten:
        yield f"not all tasks are known ({forgotten} {plural(forgotten, 'time')} one was lost)"
    if data["unavailable"]:
        yield f"not available: {', '.join(data['unavailable'])}"
