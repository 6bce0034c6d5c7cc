"""The interrupts in a report, as short cells: the same as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from schedtop.base.units import format_count, format_ns, format_ratio, rate
from schedtop.model.interrupts import SourceName
from schedtop.outputs.report.words import Data, span_words
from schedtop.outputs.scheduler.interrupts import raised_by_words

SOURCE_HEAD = ("source", "/s", "time", "of CPUs", "mean", "longest", "raised by, most")
CPU_HEAD = ("cpu", "device interrupts", "softirqs", "vectors", "of the CPU", "/s")

_KINDS = ("hardirq_ns", "softirq_ns", "vector_ns")


class InterruptCells(NamedTuple):
    """Rows of SOURCE_HEAD and CPU_HEAD, and what they are. CPUs: those with most time, by number."""

    title: str
    sources: Sequence[tuple[str, ...]]
    cpu_title: str
    cpus: Sequence[tuple[str, ...]]


def timed_ns(data: Data) -> int:
    """How long interrupts were timed: of a snapshot all the time."""
    known: int | None = data["interrupts"].get("timed_ns")
    return data["interval_ns"] if known is None else max(1, known)


def interrupt_cells(data: Data, top: int) -> InterruptCells | None:
    """At most `top` rows each; `None` if interrupts were not timed."""
    found = data.get("interrupts")
    if not found:
        return None
    span_ns, by_cpu = timed_ns(data), found["by_cpu"]
    whole_ns = span_ns * max(1, len(by_cpu))
    sources = [
        (
            str(SourceName(row["kind"], row["name"])),
            format_count(rate(row["count"], span_ns)),
            format_ns(row["total_ns"]),
            format_ratio(row["total_ns"] / whole_ns),
            format_ns(row["total_ns"] // row["count"] if row["count"] else None),
            format_ns(row["max_ns"]),
            raised_by_words(row),
        )
        for row in found["by_source"][:top]
    ]
    shown = sorted(by_cpu, key=lambda row: -_time(row))[:top]
    cpus = [
        (
            str(row["cpu"]),
            *(format_ns(row[name]) for name in _KINDS),
            format_ratio(_time(row) / span_ns),
            format_count(rate(row["count"], span_ns)),
        )
        for row in sorted(shown, key=lambda row: int(row["cpu"]))
    ]
    part = f", timed for {span_words(span_ns)}" if span_ns < data["interval_ns"] else ""
    title = f"Interrupts by time: {len(sources)} of {len(found['by_source'])} sources{part}"
    which = f", the {len(shown)} of {len(by_cpu)} with most" * (len(shown) < len(by_cpu))
    return InterruptCells(title, sources, f"Interrupts by CPU{which}", cpus)


def _time(row: Data) -> int:
    return sum(int(row[name]) for name in _KINDS)
