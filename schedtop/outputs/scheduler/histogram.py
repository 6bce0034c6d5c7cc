"""Histograms of runqueue latency as text: by powers of two, as `runqlat` has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedtop.base.units import format_count, format_counted, format_ns, format_short_ns
from schedtop.outputs.tables import shown_of, table

GROUPS_SHOWN = 12
"""Of how many groups the histograms are shown: those with most run delay."""

_BAR = 40
_NUMBERED = ("thread", "process")
"""Groups that are told by a number: many may have the same name."""


def octaves(histogram: Mapping[str, Any] | None) -> list[tuple[str, int]]:
    """A histogram's buckets added up by powers of two, from the first that holds anything to the last."""
    counts = _counts(histogram)
    return [(_range(octave), counts.get(octave, 0)) for octave in range(min(counts), max(counts) + 1)] if counts else []


def histogram_table(histogram: Mapping[str, Any] | None, title: str) -> str:
    """One histogram with a bar for each of its rows, under a title; empty without waits."""
    rows = octaves(histogram)
    most = max((count for _, count in rows), default=0)
    lines = [(name, format_count(count), "#" * -(-count * _BAR // most)) for name, count in rows]
    return table((title, "count", ""), lines, left=("",)) if rows else ""


def kinds_table(latency: Mapping[str, Any], title: str = "Waits by length\n") -> str:
    """`runqueue_latency` with a column for each kind of wait, and a bar for all; empty without waits."""
    counts = {kind: _counts(histogram) for kind, histogram in latency.items()}
    whole = counts["all"]
    if not whole:
        return ""
    kinds = [kind for kind in counts if kind != "all"]
    most = max(whole.values())
    rows = [
        (
            _range(octave),
            *(format_count(counts[kind].get(octave, 0)) for kind in kinds),
            "#" * -(-whole.get(octave, 0) * _BAR // most),
        )
        for octave in range(min(whole), max(whole) + 1)
    ]
    return title + table(("wait", *kinds, "all"), rows, left=("all",))


def group_histograms(data: Mapping[str, Any]) -> list[str]:
    """A histogram for each of the groups with most run delay that waited at all."""
    waited = [group for group in data["groups"] or () if (group["runqueue_latency"] or {}).get("count")]
    if not waited:
        return []
    shown = waited[:GROUPS_SHOWN]
    together = "" if shown[0].get("latency_by_kind") else ", all kinds of wait"
    title = f"Runqueue latency by {shown[0]['by']}{together}: {shown_of(len(shown), len(waited))}"
    return [title, *map(_group_histogram, shown)]


def _group_histogram(group: Mapping[str, Any]) -> str:
    latency = group["runqueue_latency"]
    number = f" ({group['id']})" if group["by"] in _NUMBERED else ""
    percentiles = ", ".join(f"{name[:-3]} {format_ns(latency[name])}" for name in ("p50_ns", "p99_ns", "max_ns"))
    head = f"{group['name']}{number}: {format_counted(latency['count'], 'wait')}, {percentiles}"
    by_kind = group.get("latency_by_kind")
    made = kinds_table({**by_kind, "all": latency}, title="") if by_kind else histogram_table(latency, "wait")
    return f"{head}\n{made}"


def _counts(histogram: Mapping[str, Any] | None) -> dict[int, int]:
    """How many waits there were, by the power of two."""
    counts: dict[int, int] = {}
    for bucket in (histogram or {}).get("buckets", ()):
        octave = max(6, bucket["low_ns"].bit_length() - 1)
        counts[octave] = counts.get(octave, 0) + bucket["count"]
    return counts


def _range(octave: int) -> str:
    return f"{format_short_ns(2**octave)}-{format_short_ns(2 ** (octave + 1))}"
