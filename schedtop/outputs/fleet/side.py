"""Several recordings as one side of a comparison: what `outputs.diff` reads of a report, of all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedtop.base.units import iso_time
from schedtop.model.filters import Filter
from schedtop.model.rows import WAIT_KINDS
from schedtop.outputs.fleet.document import headline, slow_waits, warnings
from schedtop.outputs.fleet.hosts import COUNTERS, worst_first
from schedtop.outputs.fleet.together import Together
from schedtop.outputs.scheduler.snapshot import filter_fields, histogram_fields


def side(together: Together) -> dict[str, Any]:
    """Sums over all hosts and the time of all hosts together, so that each rate is a mean a second and host.

    Words take the place of names where hosts differ: `host` is `6 hosts`, `kernel` all releases. Raises ValueError
    without a recording.
    """
    hosts = worst_first(list(together.boots.values()))
    if not hosts:
        raise ValueError("there is no recording")
    numbers, span_ns = together.numbers, together.numbers.interval_ns
    begins = [begin for host in hosts for begin, _ in host.spans]
    slow = slow_waits(together)
    names = together.host_names
    return {
        "host": names[0] if len(names) == 1 else f"{len(names)} hosts",
        "kernel": _all(together, "kernel"),
        "source": _all(together, "source"),
        "tool_version": _all(together, "schedtop"),
        "start_time": iso_time(min(begins)),
        "interval_ns": span_ns,
        "intervals": together.files,
        "threshold_ns": together.threshold_ns,
        "filters": _filters(together),
        "loss": dict(numbers.loss),
        "verdict": dict(hosts[0].verdict) | {"headline": headline(hosts, together)},
        "cpus": [{}] * sum({host.place: host.facts["cpus"] for host in hosts}.values()),
        "totals": {
            **{name: numbers.counters[name].over(span_ns) for name in COUNTERS},
            **{name: numbers.share(name) for name in ("busy_ratio", "steal_ratio")},
        },
        "runqueue_latency": {
            kind: found and histogram_fields(found)
            for kind, found in ((kind, numbers.latency[kind]) for kind in (*WAIT_KINDS, "all"))
        },
        "slow_waits": None if slow is None else [],
        "counts": {"slow_waits": slow, "tasks": len(together.tasks) + (not together.complete)},
        "pressure": _pressure(together),
        "throttling": _throttling(together),
        "tasks": _tasks(together),
        "interrupts": _interrupts(together),
        "activity": _activity(together),
        "unavailable": dict(together.unavailable),
        "recording": None,
        "warnings": list(warnings(together)),
        "host_names": names,
        "p99_by_host": _p99_by_host(together),
        "files": [file for host in hosts for file in host.files],
    }


def _all(together: Together, setting: str) -> str:
    return ", ".join(sorted(together.settings[setting]))


def _filters(together: Together) -> Mapping[str, Any]:
    if len(together.settings["filters"]) == 1:
        return together.filters
    return filter_fields(Filter(), scope="differ by host")


def _pressure(together: Together) -> dict[str, int | None] | None:
    some, full, span_ns = together.numbers.pressure, together.numbers.full, together.numbers.interval_ns
    return {"some_ns": some.over(span_ns), "full_ns": full.over(span_ns)} if some.recordings else None


def _throttling(together: Together) -> list[dict[str, Any]] | None:
    """All cgroups as one: what is compared is the share of their periods."""
    numbers = together.numbers
    if not numbers.periods.recordings:
        return None
    names = ("periods", "throttled_periods", "throttled_ns")
    return [{"cgroup": None, **{name: getattr(numbers, name).total for name in names}}]


def _tasks(together: Together) -> list[dict[str, Any]]:
    """Tasks of the same names and cgroup, of all hosts, as one."""
    return [
        {
            "comm": key.comm,
            "process": key.process,
            "cgroup": key.cgroup or None,
            "run_delay_ns": row.values[0],
            "timeslices": row.values[1],
        }
        for key, row in together.tasks.largest()
    ]


def _interrupts(together: Together) -> dict[str, Any] | None:
    if not together.interrupts_ns:
        return None
    rows = [
        {"kind": kind, "name": name, "total_ns": row.values[0], "count": row.values[1]}
        for (kind, name), row in together.interrupts.largest()
    ]
    return {"timed_ns": together.interrupts_ns, "by_source": rows}


def _activity(together: Together) -> dict[str, Any] | None:
    found = together.activity
    if not found.measured_ns:
        return None
    rows = [
        {"comm": name, **dict(zip(("io_ns", "reads", "writes", "fsyncs"), row.values, strict=True))}
        for name, row in found.rows.largest()
    ]
    totals = {name: known.over(found.measured_ns) for name, known in found.totals.items()}
    return {"measured_ns": found.measured_ns, "totals": totals, "rows": rows}


def _p99_by_host(together: Together) -> dict[str, tuple[int | None, int]]:
    """The p99 of all waits of each host, and how many waits there were; of several boots the worst one."""
    found: dict[str, tuple[int | None, int]] = {}
    for boot in reversed(worst_first(list(together.boots.values()))):
        latency = boot.numbers.latency["all"]
        if boot.name not in found or (boot.p99_ns or 0) > (found[boot.name][0] or 0):
            found[boot.name] = boot.p99_ns, latency.count if latency else 0
    return found
