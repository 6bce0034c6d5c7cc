"""The time that interrupts took, in a snapshot: as data, and as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from schedtop.base.units import format_count, format_ns, format_ratio, rate
from schedtop.history.view import View
from schedtop.model.interrupts import InterruptTable
from schedtop.model.rows import text
from schedtop.outputs.tables import table

_SOURCES = 15
_RAISERS = 8


def interrupt_fields(view: View) -> dict[str, Any] | None:
    """`interrupts` of a snapshot: of the CPUs let through, largest source first; `None` if they were not timed."""
    whole = view.frame.interrupts
    if whole is None or "interrupts" in view.frame.unavailable:
        return None
    ids = view.settings.shown_filter.cpu_ids(range(whole.cpus))
    return {
        "by_cpu": [{"cpu": cpu, **_kinds(whole.chosen([cpu]))} for cpu in view.cpu_ids if cpu < whole.cpus],
        "by_source": _sources(whole.chosen(ids)),
        "unmatched": whole.unmatched,
        "unattributed_ns": whole.unattributed_ns,
        "overwritten": whole.overwritten,
    }


def _kinds(some: InterruptTable) -> dict[str, int]:
    """The time of each kind, and how many interrupts there were."""
    times = {f"{kind}_ns": int(some.total_ns[:, some.of_kind(kind)].sum()) for kind in ("hardirq", "softirq", "vector")}
    return {**times, "count": int(some.counts.sum())}


def _sources(some: InterruptTable) -> list[dict[str, Any]]:
    counts, total_ns = some.counts.sum(axis=0), some.total_ns.sum(axis=0)
    max_ns = some.max_ns.max(axis=0, initial=0)
    return [
        {
            "name": some.sources[index].name,
            "kind": some.sources[index].kind,
            "count": int(counts[index]),
            "total_ns": int(total_ns[index]),
            "max_ns": int(max_ns[index]),
            "raised_by": _raisers(some, index),
        }
        for index in np.argsort(-total_ns, kind="stable").tolist()
        if counts[index] or total_ns[index]
    ]


def _raisers(some: InterruptTable, index: int) -> list[dict[str, Any]]:
    """What raised a softirq, the most time first; what is not known is not among it."""
    return [
        {
            "tid": int(row["tid"]) or None,
            "name": text(row["by"]),
            "count": int(row["count"]),
            "total_ns": int(row["total_ns"]),
        }
        for row in some.raisers(index)[:_RAISERS]
    ]


def raised_by_words(row: Mapping[str, Any]) -> str:
    """What raised most of a source's time, with its share; empty where it is not known."""
    if not row.get("raised_by") or not row["total_ns"]:
        return ""
    first = row["raised_by"][0]
    name = f"{first['name']} ({first['tid']})" if first["tid"] else first["name"]
    return f"{format_ratio(min(1.0, first['total_ns'] / row['total_ns']))} {name}"


def interrupts_table(data: Mapping[str, Any]) -> str:
    """The interrupts by source and by CPU; empty if they were not timed."""
    found = data["interrupts"]
    if found is None:
        return ""
    interval_ns = data["interval_ns"]
    whole_ns = interval_ns * max(1, len(found["by_cpu"]))
    sources = [
        (
            row["name"],
            row["kind"],
            format_count(rate(row["count"], interval_ns)),
            format_ns(row["total_ns"]),
            format_ratio(row["total_ns"] / whole_ns),
            format_ns(row["total_ns"] // row["count"] if row["count"] else None),
            format_ns(row["max_ns"]),
            raised_by_words(row),
        )
        for row in found["by_source"][:_SOURCES]
    ]
    cpus = [
        (
            str(row["cpu"]),
            *(format_ns(row[name]) for name in ("hardirq_ns", "softirq_ns", "vector_ns")),
            format_ratio((row["hardirq_ns"] + row["softirq_ns"] + row["vector_ns"]) / interval_ns),
            format_count(rate(row["count"], interval_ns)),
        )
        for row in found["by_cpu"]
    ]
    title = f"Interrupts: {len(sources)} of {len(found['by_source'])} sources, the most time first"
    heads = ("source", "kind", "/s", "time", "of CPUs", "mean", "longest", "raised by, most")
    by_source = table(heads, sources, left=("source", "kind", "raised by, most"))
    by_cpu = table(("cpu", "device interrupts", "softirqs", "vectors", "of the CPU", "/s"), cpus)
    return f"{title}\n{by_source}\n{by_cpu}"
