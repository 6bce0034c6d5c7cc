"""One boot of a host: what its recordings say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from schedtop.base.histogram import BUCKETS, LOW_NS, Histogram
from schedtop.base.units import NS_PER_S
from schedtop.model.rows import WAIT_KINDS
from schedtop.outputs.fleet.sums import Known
from schedtop.outputs.report.words import end_of, moment

LEVELS = ("alarm", "notice", "unknown", "ok")
"""Of verdicts, worst first."""

KINDS = (*WAIT_KINDS, "all")

COUNTERS = (
    *("switches", "voluntary_switches", "involuntary_switches", "wakeups"),
    *("migrations_in", "migrations_out", "cache_migrations", "numa_migrations"),
)
SHARES = ("busy_ratio", "steal_ratio")

_PLACES = {int(low): place for place, low in enumerate(LOW_NS)}


def histogram_of(fields: Mapping[str, Any] | None) -> Histogram | None:
    """The histogram that a report tells. Raises ValueError and the like for what is none."""
    if fields is None:
        return None
    counts = np.zeros(BUCKETS, np.int64)
    for bucket in fields["buckets"]:
        counts[_PLACES[bucket["low_ns"]]] += bucket["count"]
    longest = fields["max_ns"] or 0
    if counts.min() < 0 or longest < 0 or fields["sum_ns"] < 0:
        raise ValueError("a count of waits is negative")
    return Histogram(counts, int(fields["sum_ns"]), int(longest))


@dataclass(slots=True)
class Numbers:
    """What can be added up of some recordings: counters, CPUs' time by share, latency, throttling, pressure, loss."""

    interval_ns: int = 0
    counters: dict[str, Known] = field(default_factory=lambda: {name: Known() for name in COUNTERS})
    shares: dict[str, list[float]] = field(default_factory=lambda: {name: [0.0, 0.0] for name in SHARES})
    latency: dict[str, Histogram | None] = field(default_factory=lambda: dict.fromkeys(KINDS))
    slow_waits: Known = field(default_factory=Known)
    pressure: Known = field(default_factory=Known)
    full: Known = field(default_factory=Known)
    periods: Known = field(default_factory=Known)
    throttled_periods: Known = field(default_factory=Known)
    throttled_ns: Known = field(default_factory=Known)
    loss: dict[str, int] = field(default_factory=dict)

    def add(self, data: Mapping[str, Any]) -> None:
        """Adds the report of one recording."""
        span_ns = data["interval_ns"]
        self.interval_ns += span_ns
        for name, known in self.counters.items():
            known.add(data["totals"].get(name), span_ns)
        for name, share in self.shares.items():
            ratio = data["totals"].get(name)
            if ratio is not None:
                weight = span_ns * max(1, len(data["cpus"]))
                share[0] += ratio * weight
                share[1] += weight
        for kind in KINDS:
            found = histogram_of(data["runqueue_latency"].get(kind))
            if found is not None:
                so_far = self.latency[kind]
                self.latency[kind] = found if so_far is None else so_far + found
        listed = data["slow_waits"]
        self.slow_waits.add(None if listed is None else data["counts"].get("slow_waits", len(listed)), span_ns)
        pressure = data["pressure"]
        self.pressure.add(pressure and pressure["some_ns"], span_ns)
        self.full.add(pressure and pressure["full_ns"], span_ns)
        for name in ("periods", "throttled_periods", "throttled_ns"):
            rows = data["throttling"]
            getattr(self, name).add(None if rows is None else sum(row[name] for row in rows), span_ns)
        for name, count in data["loss"].items():
            self.loss[name] = self.loss.get(name, 0) + count

    def share(self, name: str) -> float | None:
        """A share of the CPUs' time, each CPU and moment counting the same; `None` if it is not known."""
        part, whole = self.shares[name]
        return round(part / whole, 6) if whole else None

    def per_second(self, name: str) -> float | None:
        """A counter a second and host, of the recordings that have it."""
        known = self.counters[name]
        return round(known.total * NS_PER_S / known.ns, 3) if known.ns else None


@dataclass(slots=True)
class HostBoot:
    """A boot of a host: `place` is the number of its name; `facts`: those of its first recording; `verdict`: the one of
    the worst level, which `verdict_file` has; `spans`: from when to when each recording is, in nanoseconds;
    `overlaps`: some cover the same time.
    """

    place: int
    name: str
    boot_id: str | None
    facts: dict[str, Any]
    numbers: Numbers = field(default_factory=Numbers)
    files: list[str] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    verdict: Mapping[str, Any] = field(default_factory=dict)
    verdict_file: str = ""
    damage: list[str] = field(default_factory=list)
    overlaps: bool = False

    def add(self, data: Mapping[str, Any], file: str) -> None:
        """Adds the report of one of its recordings."""
        self.numbers.add(data)
        self.files.append(file)
        begin, end = (round(time.timestamp() * NS_PER_S) for time in (moment(data["start_time"]), end_of(data)))
        # Neighbours may share a moment: times are of clocks that are set.
        slack_ns = min(NS_PER_S, (end - begin) // 2)
        self.overlaps |= any(begin + slack_ns < other[1] and other[0] + slack_ns < end for other in self.spans)
        self.spans.append((begin, end))
        if not self.verdict or rank(data["verdict"]) < rank(self.verdict):
            self.verdict, self.verdict_file = data["verdict"], file
        if damage := (data["recording"] or {}).get("damage"):
            self.damage.append(f"{file}: {damage}")

    @property
    def p99_ns(self) -> int | None:
        """Of all its waits; `None` without any."""
        latency = self.numbers.latency["all"]
        return latency.percentile_ns(0.99) if latency else None


def rank(verdict: Mapping[str, Any]) -> int:
    """The place of a verdict's level, the worst first."""
    level = verdict["level"]
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)


def worst_first(hosts: Sequence[HostBoot]) -> list[HostBoot]:
    """By the level of the verdict, then by the p99 of all waits."""
    return sorted(hosts, key=lambda host: (rank(host.verdict), -(host.p99_ns or 0), host.name, host.boot_id or ""))
