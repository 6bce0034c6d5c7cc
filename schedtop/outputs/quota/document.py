"""Advice on quotas as data and as JSON: `schedtop.advise/1`, see docs/advise.md."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from schedtop import __version__
from schedtop.base.units import NS_PER_US, iso_time
from schedtop.model.rows import text
from schedtop.outputs.plain import json_text
from schedtop.quota.advice import Advice, Step
from schedtop.quota.findings import Findings
from schedtop.quota.prediction import Range

SCHEMA = "schedtop.advise/1"

MOST_THREADS = 100
"""So many threads of a cgroup, those that ran most."""


def document(findings: Findings) -> dict[str, Any]:
    """Integers in the unit that the name carries; a ratio is 0..1; what is not available is `null`."""
    return {
        "schema": SCHEMA,
        "tool_version": __version__,
        "host": findings.host.name,
        "kernel": findings.host.kernel,
        "source": findings.host.source,
        "recording": findings.file or None,
        "damage": findings.damage or None,
        "start_time": iso_time(findings.start_time_ns),
        "interval_ns": findings.interval_ns,
        "threshold_ns": findings.threshold_ns,
        "cgroup": findings.wanted or None,
        "cgroups_with_quota": findings.quotas,
        "without_waits": findings.without_waits or None,
        "loss": asdict(findings.loss),
        "cgroups": [_cgroup(advice, findings) for advice in findings.advices],
    }


def to_json(findings: Findings) -> str:
    """The document as text."""
    return json_text(document(findings))


def _cgroup(advice: Advice, findings: Findings) -> dict[str, Any]:
    record, found, lasting = advice.record, advice.prediction, advice.lasting
    return {
        "cgroup": record.path or None,
        "cgroup_id": record.cgroup_id,
        "quota_ns": record.quota_ns or None,
        "period_ns": record.period_ns or None,
        "burst_ns": record.burst_ns,
        "quota_ratio": advice.quota_ratio(record.quota_ns) if record.period_ns else None,
        "quota_inferred": record.inferred,
        "quota_changed": record.cgroup_id in findings.changed,
        "enclosing_quotas": [
            {"cgroup": path, "quota_ratio": ratio} for path, ratio in sorted(record.enclosing.items())
        ],
        "interval_ns": record.interval_ns,
        "periods": record.periods,
        "throttled_periods": record.throttled_periods,
        "throttled_ns": record.throttled_ns,
        "run_ns": record.run_ns,
        "known_ratio": found.known_ratio if found else None,
        "lasts": {"median_ns": round(lasting.median_ns), "worst_ns": round(lasting.worst_ns)} if lasting else None,
        "threads": _threads(advice),
        "why_not": advice.why_not or None,
        "advice": [_step(advice, step) for step in advice.steps],
    }


def _threads(advice: Advice) -> list[dict[str, Any]]:
    whole = max(1, advice.record.run_ns)
    return [
        {
            "tid": int(row["tid"]),
            "tgid": int(row["tgid"]),
            "comm": text(row["comm"]),
            "process": text(row["process"]),
            "run_ns": int(row["run_ns"]),
            "share_ratio": int(row["run_ns"]) / whole,
        }
        for row in advice.spenders[:MOST_THREADS]
    ]


def _step(advice: Advice, step: Step) -> dict[str, Any]:
    return {
        "removed_ratio": step.removed_ratio,
        "quota": {"low": _quota(advice, step.quota_ns.low), "high": _quota(advice, step.quota_ns.high)},
        "burst_ns": _integers(step.burst_ns),
    }


def _quota(advice: Advice, quota_ns: float | None) -> dict[str, Any] | None:
    """A quota and what is predicted for it, in the time and under the load that were recorded."""
    found = advice.prediction
    if quota_ns is None or found is None:
        return None
    return {
        "quota_us": quota_us(quota_ns),
        "quota_ratio": advice.quota_ratio(quota_ns),
        "throttled_ns": _integers(found.throttled_ns(quota_ns)),
        "throttled_periods": _integers(found.throttled_periods(quota_ns)),
    }


def quota_us(quota_ns: float) -> int:
    """As the kernel takes it, rounded up."""
    return int(np.ceil(quota_ns / NS_PER_US))


def _integers(found: Range) -> dict[str, int | None]:
    return {
        "low": None if found.low is None else round(found.low),
        "high": None if found.high is None else round(found.high),
    }
