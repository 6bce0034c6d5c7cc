"""Two reports compared, what changed most first: the JSON contract `schedtop.diff/1`, described in docs/report.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from schedtop import __version__
from schedtop.base.units import NS_PER_MS, NS_PER_S, NS_PER_US, format_ns, format_rate, format_ratio, printable
from schedtop.model.interrupts import SourceName
from schedtop.outputs.diff.activity import activity_changes
from schedtop.outputs.diff.change import Change, change_of
from schedtop.outputs.diff.hosts import host_changes, hosts_of
from schedtop.outputs.diff.tasks import TaskSum, cgroups_of, is_complete, tasks_of
from schedtop.outputs.diff.warnings import warnings_of
from schedtop.outputs.report.interrupts import timed_ns
from schedtop.outputs.scheduler.snapshot import PERCENTILES

SCHEMA = "schedtop.diff/1"

NOTABLE = 0.5
"""Below this score nothing is said in the headline: about a factor of 1.4 with full weight and many events."""

TICK_NS = 10 * NS_PER_MS
"""The step of /proc/stat, and of what is waited for: a tick is one event of a share of time."""

LATENCY_FLOOR_NS, RATIO_FLOOR, DELAY_FLOOR_NS = 100 * NS_PER_US, 0.02, 20 * NS_PER_MS
INTERRUPT_FLOOR_NS = 10 * NS_PER_MS
"""A second: of one source on all CPUs."""

_WEIGHTS = {"p50_ns": 0.6, "p90_ns": 0.8, "p99_ns": 1.0, "p999_ns": 0.8, "max_ns": 0.4}
_KINDS = {"wakeup": 1.0, "preemption": 1.0, "fork": 0.7, "all": 0.7}  # that of all changes with the mixture alone
_RATES = {
    "switches": ("context switches", 0.4, 100.0),
    "voluntary_switches": ("voluntary switches", 0.4, 100.0),
    "involuntary_switches": ("involuntary switches", 0.6, 50.0),
    "wakeups": ("wakeups", 0.4, 100.0),
    "migrations_in": ("migrations", 0.4, 20.0),
    "cache_migrations": ("migrations between caches", 0.4, 20.0),
    "numa_migrations": ("migrations between NUMA nodes", 0.5, 10.0),
}
_RATIOS = {
    "busy_ratio": ("busy CPUs", 0.5),
    "steal_ratio": ("steal", 1.0),
    "pressure_ratio": ("time in which some task waited (PSI)", 0.8),
    "throttled_ratio": ("throttled periods", 1.0),
}


def diff(before: Mapping[str, Any], after: Mapping[str, Any], names: tuple[str, str], top: int) -> dict[str, Any]:
    """The comparison as plain objects, from two reports with all their tasks; lists are at most `top` long."""
    changes = [*_latencies(before, after), *_rates(before, after), *_ratios(before, after)]
    interrupts = _interrupts(before, after)
    activity = activity_changes(before, after)
    hosts = host_changes(before, after)
    tasks = _sums(before, after, tasks_of, "task")
    cgroups = _sums(before, after, cgroups_of, "cgroup")
    sides = [_side(data, name) for data, name in zip((before, after), names, strict=True)]
    warnings = warnings_of(before, after)
    return {
        "schema": SCHEMA,
        "tool_version": __version__,
        "headline": _headline(before, after, [*changes, *tasks, *(interrupts or ()), *(activity or ())]),
        "warnings": warnings,
        "before": sides[0],
        "after": sides[1],
        "changes": [_fields(change) for change in _ordered(changes)],
        "tasks": [_fields(change) for change in _ordered(tasks)[:top]],
        "cgroups": [_fields(change) for change in _ordered(cgroups)[:top]],
        "interrupts": None if interrupts is None else [_fields(change) for change in _ordered(interrupts)[:top]],
        "activity": None if activity is None else [_fields(change) for change in _ordered(activity)[:top]],
        "hosts": None if hosts is None else [_fields(change) for change in _ordered(hosts)[:top]],
    }


def value_words(value: float | None, unit: str) -> str:
    """A value of a Change for people."""
    if value is None:
        return "-"
    if unit == "ns":
        return format_ns(value)
    if unit == "ns_per_second":
        return f"{format_ns(value)}/s"
    return format_ratio(value) if unit == "ratio" else format_rate(value)


def change_words(change: Mapping[str, Any]) -> str:
    """A change in a few words: `p99 of wakeup waits rose 1.20 ms → 14.0 ms (11.7x)`."""
    old, new = (value_words(change[side], change["unit"]) for side in ("before", "after"))
    if change["status"] == "appeared":
        return f"{change['label']} is new with {new}"
    if change["status"] == "vanished":
        return f"{change['label']} is gone, it was {old}"
    if change["before"] is None or change["after"] is None:
        return f"{change['label']} {old} → {new}"
    verb = "rose" if change["after"] > change["before"] else "fell"
    return f"{change['label']} {verb} {old} → {new}{factor_words(change['factor'])}"


def factor_words(factor: float | None) -> str:
    """` (11.7x)`, nothing where it says nothing."""
    if factor is None or not 0.001 <= factor <= 1000:
        return ""
    return f" ({factor:.1f}x)" if factor >= 1 else f" ({factor:.2g}x)"


def _headline(before: Mapping[str, Any], after: Mapping[str, Any], changes: Sequence[Change]) -> str:
    best: dict[str, Change] = {}
    notable = [change for change in _ordered(changes) if change.score >= NOTABLE]
    # Of latency people ask for the 99th percentile, if it has changed at all.
    for change in sorted(notable, key=lambda change: not change.name.endswith(".p99_ns")):
        best.setdefault(change.family, change)
    parts = [change_words(_fields(change)) for change in _ordered(list(best.values()))]
    if parts:
        return "; ".join(parts)
    p99 = [(data["runqueue_latency"]["all"] or {}).get("p99_ns") for data in (before, after)]
    return f"Nothing changed much: p99 of all waits {format_ns(p99[0])} → {format_ns(p99[1])}"


def _ordered(changes: Sequence[Change]) -> list[Change]:
    return sorted(changes, key=lambda change: (-change.score, change.name))


def _fields(change: Change) -> dict[str, Any]:
    return {
        "name": change.name,
        "label": change.label,
        "unit": change.unit,
        "before": change.before,
        "after": change.after,
        "factor": change.factor,
        "status": change.status,
        "score": round(change.score, 3),
    }


def _side(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What a side says of itself."""
    recording = data["recording"] or {}
    same = ("host", "kernel", "source", "start_time", "interval_ns", "threshold_ns", "filters", "loss", "verdict")
    return {
        "file": printable(name),
        "files": list(data.get("files", [printable(name)])),
        "hosts": hosts_of(data),
        **{key: data[key] for key in same},
        "tool_version": recording.get("tool_version", data["tool_version"]),
        "damage": recording.get("damage"),
        "cpus": len(data["cpus"]),
    }


def _latencies(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    changes = []
    for kind, kind_weight in _KINDS.items():
        old, new = (data["runqueue_latency"].get(kind) or {} for data in (before, after))
        fewest = min(old.get("count") or 0, new.get("count") or 0)
        for name in (*PERCENTILES, "max_ns"):
            # A percentile rests on the waits beyond it, the longest on one.
            beyond = fewest * (1 - PERCENTILES[name]) if name in PERCENTILES else 1
            which = name.removesuffix("_ns").replace("p999", "p99.9").replace("max", "longest")
            label = f"{which} of {kind} waits" if name != "max_ns" else f"longest of {kind} waits"
            values = old.get(name), new.get(name)
            key = f"runqueue_latency.{kind}.{name}"
            weight = _WEIGHTS[name] * kind_weight
            changes.append(change_of(key, label, "ns", "latency", values, LATENCY_FLOOR_NS, weight, beyond))
    return changes


def _rates(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    changes = []
    for name, (label, weight, floor) in _RATES.items():
        counts = tuple(data["totals"].get(name) for data in (before, after))
        changes.append(_rate(name, label, counts, (before, after), weight, floor))
    if before["threshold_ns"] == after["threshold_ns"]:
        slow = tuple(_slow_waits(data) for data in (before, after))
        changes.append(_rate("slow_waits", "slow waits", slow, (before, after), 0.9, 0.5))
    return changes


def _rate(
    name: str, label: str, counts: tuple[Any, ...], sides: tuple[Any, Any], weight: float, floor: float
) -> Change:
    per_second = [
        None if count is None else round(count * NS_PER_S / data["interval_ns"], 3)
        for count, data in zip(counts, sides, strict=True)
    ]
    events = max((count for count in counts if count is not None), default=0)
    values = per_second[0], per_second[1]
    return change_of(f"{name}_per_second", f"{label} a second", "per_second", "rates", values, floor, weight, events)


def _slow_waits(data: Mapping[str, Any]) -> int | None:
    if data["slow_waits"] is None:
        return None
    return int(data["counts"].get("slow_waits", len(data["slow_waits"])))


def _ratios(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    ticks = min(data["interval_ns"] * max(1, len(data["cpus"])) / TICK_NS for data in (before, after))
    changes = []
    for name, (label, weight) in _RATIOS.items():
        values = _ratio(before, name), _ratio(after, name)
        changes.append(change_of(name, label, "ratio", "ratios", values, RATIO_FLOOR, weight, ticks))
    return changes


def _ratio(data: Mapping[str, Any], name: str) -> float | None:
    if name == "pressure_ratio":
        return round(min(1.0, data["pressure"]["some_ns"] / data["interval_ns"]), 6) if data["pressure"] else None
    if name == "throttled_ratio":
        if data["throttling"] is None:
            return None
        periods, throttled = (
            int(sum(row[key] for row in data["throttling"])) for key in ("periods", "throttled_periods")
        )
        return round(throttled / periods, 6) if periods else 0.0
    value: float | None = data["totals"].get(name)
    return value


def _sums(before: Mapping[str, Any], after: Mapping[str, Any], of: Any, family: str) -> list[Change]:
    """The run delay per second of each task's name, or cgroup, on both sides."""
    old: Mapping[str, TaskSum] = of(before)
    new: Mapping[str, TaskSum] = of(after)
    changes = []
    for key in {**old, **new}:
        one, two = old.get(key), new.get(key)
        values = [
            _per_second(total, data, other_known=other is not None)
            for total, data, other in ((one, before, two), (two, after, one))
        ]
        status = "both"
        if one is None:
            status = "appeared" if is_complete(before) else "not listed"
        elif two is None:
            status = "vanished" if is_complete(after) else "not listed"
        events = max(total.events for total in (one, two) if total)
        label = f"run delay of {key}"
        change = change_of(key, label, "ns_per_second", "tasks", (values[0], values[1]), DELAY_FLOOR_NS, 0.9, events)
        changes.append(replace(change, status=status, name=f"{family}:{key}"))
    return changes


def _interrupts(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change] | None:
    """The time per second of each source, on both sides; `None` if it was not measured on both."""
    if not before["interrupts"] or not after["interrupts"]:
        return None
    sides = [_sources(data) for data in (before, after)]
    changes = []
    for key in {**sides[0], **sides[1]}:
        old, new = (side.get(key) for side in sides)
        values = [
            float(round(row["total_ns"] * NS_PER_S / timed_ns(data))) if row else 0.0
            for row, data in ((old, before), (new, after))
        ]
        events = max(row["count"] for row in (old, new) if row)
        change = change_of(
            f"interrupt:{key}", f"time of {key}", "ns_per_second", "interrupts", (values[0], values[1]),
            INTERRUPT_FLOOR_NS, 0.9, events,
        )  # fmt: skip
        status = "both" if old and new else "vanished" if old else "appeared"
        changes.append(replace(change, status=status))
    return changes


def _sources(data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {str(SourceName(row["kind"], row["name"])): row for row in data["interrupts"]["by_source"]}


def _per_second(total: TaskSum | None, data: Mapping[str, Any], *, other_known: bool) -> float | None:
    if total is None:
        return 0.0 if other_known and is_complete(data) else None
    return float(round(total.run_delay_ns * NS_PER_S / data["interval_ns"]))
