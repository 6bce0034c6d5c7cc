"""Several recordings as one report: the JSON contract `schedtop.fleet/1`, described in docs/report.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schedtop import __version__
from schedtop.base.units import iso_time, plural
from schedtop.model.rows import WAIT_KINDS
from schedtop.outputs.fleet.hosts import COUNTERS, SHARES, HostBoot, Numbers, rank, worst_first
from schedtop.outputs.fleet.sums import Sum
from schedtop.outputs.fleet.together import Together
from schedtop.outputs.scheduler.snapshot import PERCENTILES, histogram_fields
from schedtop.outputs.schemas import FLEET
from schedtop.outputs.words import named

SCHEMA = FLEET


def fleet(together: Together, top: int) -> dict[str, Any]:
    """What all recordings say together, as plain objects; services and blame are at most `top` long, hosts are whole.

    Raises ValueError without a recording.
    """
    hosts = worst_first(list(together.boots.values()))
    if not hosts:
        raise ValueError("there is no recording")
    numbers, spans = together.numbers, [span for host in hosts for span in host.spans]
    return {
        "schema": SCHEMA,
        "tool_version": __version__,
        "headline": headline(hosts, together),
        "start_time": iso_time(min(begin for begin, _ in spans)),
        "end_time": iso_time(max(end for _, end in spans)),
        "host_time_ns": numbers.interval_ns,
        "threshold_ns": together.threshold_ns,
        "counts": {
            "files": together.files,
            "hosts": len(together.host_names),
            "boots": len(hosts),
            "services": len(together.services) + together.services.forgotten,
            "blame": len(together.blame) + together.blame.forgotten,
            "slow_waits": slow_waits(together),
        },
        "left_out": [{"file": file, "reason": reason} for file, reason in together.left_out],
        "warnings": list(warnings(together)),
        "differences": differences(together),
        "verdicts": verdicts(hosts),
        "hosts": [_host(host) for host in hosts],
        **_numbers(numbers),
        "runqueue_latency": {
            kind: found and histogram_fields(found)
            for kind, found in ((kind, numbers.latency[kind]) for kind in (*WAIT_KINDS, "all"))
        },
        "services": [_service(name, row) for name, row in together.services.largest(top)],
        "blame": [_blame(pair, row) for pair, row in together.blame.largest(top)],
        "slow_waits": [{"host": host, **wait} for host, wait in together.slow_waits[:top]],
    }


def headline(hosts: list[HostBoot], together: Together) -> str:
    """How many hosts are bad, and what the worst of them says."""
    worst, many = hosts[0], len(together.host_names)
    if many == 1:
        return f"{worst.name}: {worst.verdict['headline']}"
    level = worst.verdict["level"]
    alike = len({host.name for host in hosts if rank(host.verdict) == rank(worst.verdict)})
    if level == "ok":
        return f"All {many} hosts are fine; the longest waits were on {worst.name}: {worst.verdict['headline']}"
    return f"{alike} of {many} hosts: {level}; the worst is {worst.name}: {worst.verdict['headline']}"


def slow_waits(together: Together) -> int | None:
    """How many in all; `None` where thresholds differ, or a recording does not tell."""
    known = together.numbers.slow_waits
    return known.total if together.threshold_ns is not None and known.recordings == together.files else None


def differences(together: Together) -> list[dict[str, Any]]:
    """The settings in which hosts differ: each value, and the hosts that have it; most hosts first."""
    return [
        {
            "setting": setting,
            "values": [
                {"value": value, "hosts": list(hosts)}
                for value, hosts in sorted(values.items(), key=lambda item: (-len(item[1]), item[0]))
            ],
        }
        for setting, values in together.settings.items()
        if len(values) > 1
    ]


def verdicts(hosts: list[HostBoot]) -> list[dict[str, Any]]:
    """Which verdict how many hosts have: worst level first, then most hosts."""
    found: dict[tuple[int, str, str], dict[str, None]] = {}
    for host in hosts:
        key = (rank(host.verdict), str(host.verdict["level"]), str(host.verdict["rule"]))
        found.setdefault(key, {})[host.name] = None
    rows = sorted(found.items(), key=lambda item: (item[0][0], -len(item[1]), item[0][2]))
    return [{"level": level, "rule": rule, "hosts": list(names)} for (_, level, rule), names in rows]


def warnings(together: Together) -> Iterator[str]:
    """What makes the sums weak, as sentences without a full stop."""
    if together.left_out:
        files = [file for file, _ in together.left_out]
        yield f"{len(files)} {plural(len(files), 'file is', 'files are')} left out: {named(files)}"
    boots = list(together.boots.values())
    if overlapping := [boot.name for boot in boots if boot.overlaps]:
        yield f"recordings of {named(overlapping)} cover the same time, and what both hold counts twice"
    if together.threshold_ns is None:
        yield "thresholds differ, so slow waits are not counted together"
    for name, words in (("switches", "context switches"), ("wakeups", "wakeups")):
        known = together.numbers.counters[name].recordings
        if 0 < known < together.files:
            yield f"{words} are known of {known} of {together.files} recordings"
    if damaged := [words for boot in boots for words in boot.damage]:
        yield f"{len(damaged)} {plural(len(damaged), 'recording is', 'recordings are')} damaged: {damaged[0]}"
    if not together.complete:
        yield "not all tasks of all recordings are known"
    for sums, words in ((together.services, "services"), (together.blame, "pairs of services")):
        if sums.forgotten:
            yield f"{sums.forgotten} {words} with least time were left out"


def _numbers(numbers: Numbers) -> dict[str, Any]:
    """`totals`, `pressure`, `throttling` and `loss`, of a host or of all."""
    return {
        "totals": {
            **{name: numbers.counters[name].total if numbers.counters[name].recordings else None for name in COUNTERS},
            **{f"{name}_per_second": numbers.per_second(name) for name in COUNTERS},
            **{name: numbers.share(name) for name in SHARES},
        },
        "pressure_ratio": _part(numbers.pressure.total, numbers.pressure.ns, numbers.pressure.recordings),
        "throttled_periods": _known(numbers.throttled_periods.total, numbers.throttled_periods.recordings),
        "throttled_ns": _known(numbers.throttled_ns.total, numbers.throttled_ns.recordings),
        "loss": dict(numbers.loss),
    }


def _host(host: HostBoot) -> dict[str, Any]:
    numbers, latency = host.numbers, host.numbers.latency["all"]
    return {
        "host": host.name,
        "boot_id": host.boot_id,
        **host.facts,
        "files": list(host.files),
        "start_time": iso_time(min(begin for begin, _ in host.spans)),
        "end_time": iso_time(max(end for _, end in host.spans)),
        "interval_ns": numbers.interval_ns,
        "verdict": dict(host.verdict),
        "verdict_file": host.verdict_file,
        "damage": list(host.damage),
        "waits": latency and latency.count,
        **{name: latency and latency.percentile_ns(ratio) for name, ratio in PERCENTILES.items()},
        "max_ns": latency.max_ns if latency and latency.count else None,
        "slow_waits": _known(numbers.slow_waits.total, numbers.slow_waits.recordings),
        **_numbers(numbers),
    }


def _service(name: str, row: Sum) -> dict[str, Any]:
    delay_ns, run_ns, timeslices, tasks, longest_ns = row.values
    return {
        "service": name,
        "hosts": row.host_count,
        "tasks": tasks,
        "run_delay_ns": delay_ns,
        "run_ns": run_ns,
        "timeslices": timeslices,
        "max_wait_ns": longest_ns,
        **_worst(row),
    }


def _blame(pair: tuple[str, str], row: Sum) -> dict[str, Any]:
    blocked_ns, waits = row.values
    return {
        "victim": pair[0],
        "blocker": pair[1],
        "hosts": row.host_count,
        "blocked_ns": blocked_ns,
        "count": waits,
        **_worst(row),
    }


def _worst(row: Sum) -> dict[str, Any]:
    per_second, host = row.worst
    return {"worst_host": host, "worst_ns_per_second": round(max(0.0, per_second))}


def _part(part: int, whole: int, known: int) -> float | None:
    return round(min(1.0, part / whole), 6) if known and whole else None


def _known(value: int, known: int) -> int | None:
    return value if known else None
