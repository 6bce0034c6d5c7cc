"""What can be drawn over time, and its values: of Frames, or of the rows over time of a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from schedtop.base.histogram import Histogram
from schedtop.base.units import NS_PER_S, format_brief_ns, format_count, format_ratio, rate
from schedtop.charts.chart import Chart, Line
from schedtop.model.frame import Frame

Values = Mapping[str, float | None]
"""A piece of time: each field that a trend may show, `None` where it is not available."""

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trend:
    """One chart over time. `lines`: field of Values, name and style; `part`: the part of a Frame that it needs.

    `by_cpu`: the field that is known of each CPU; empty: there is none.
    """

    key: str
    title: str
    lines: tuple[tuple[str, str, str], ...]
    format: Callable[[float | None], str]
    part: str
    by_cpu: str = ""
    logarithmic: bool = False
    least_high: float = 1.0

    def chart(self, columns: Sequence[Values | None]) -> Chart:
        """The chart of pieces of time, `None` for those of which nothing is known; without lines that have no value."""
        # The first line is the largest of those that start at zero.
        shaded = "" if self.logarithmic else self.lines[0][0]
        lines = [
            Line(name, style, [None if one is None else one.get(field) for one in columns], shaded=field == shaded)
            for field, name, style in self.lines
        ]
        known = tuple(line for line in lines if any(value is not None for value in line.values))
        return Chart(self.title, known, self.format, self.logarithmic, self.least_high)


TRENDS = (
    Trend(
        "latency",
        "Runqueue latency",
        (("max_ns", "max", "text"), ("p99_ns", "p99", "preemption"), ("p50_ns", "p50", "wakeup")),
        format_brief_ns,
        "latency",
        by_cpu="max_ns",
        logarithmic=True,
    ),
    Trend(
        "switches",
        "Context switches a second",
        (("switches", "all", "wakeup"), ("involuntary", "invol", "preemption")),
        format_count,
        "switches",
        by_cpu="switches",
        least_high=10.0,
    ),
    Trend(
        "queue", "Tasks that wait for a CPU", (("queued", "queue", "wakeup"),), format_count, "queue_length", "queued"
    ),
    Trend("steal", "Steal", (("steal", "steal", "steal"),), format_ratio, "steal", "steal", least_high=0.05),
    Trend(
        "pressure",
        "CPU pressure (PSI)",
        (("some", "some", "preemption"), ("full", "full", "text")),
        format_ratio,
        "pressure",
        least_high=0.05,
    ),
    Trend(
        "quota",
        "Time throttled by quotas",
        (("throttled", "quota", "throttled"),),
        format_ratio,
        "throttling",
        least_high=0.05,
    ),
)
"""All there are, in the order in which they are shown."""


def values_of(frames: Sequence[Frame], cpus: Sequence[int] | None = None) -> Values:
    """The Values of consecutive Frames (at least one), of these CPUs or all. The run queue is the longest one seen."""
    lacks = set[str]().union(*(frame.unavailable for frame in frames))
    interval_ns = max(1, sum(frame.interval_ns for frame in frames))
    values: dict[str, float | None] = dict.fromkeys(field for trend in TRENDS for field, _, _ in trend.lines)
    if "latency" not in lacks:
        waits = sum((frame.latency.histogram(None, cpus) for frame in frames), Histogram.empty())
        if waits.count:
            values |= {"p50_ns": waits.percentile_ns(0.5), "p99_ns": waits.percentile_ns(0.99), "max_ns": waits.max_ns}
    if "switches" not in lacks:
        values["switches"] = _sum(frames, "switches", cpus) * NS_PER_S / interval_ns
        values["involuntary"] = _sum(frames, "involuntary_switches", cpus) * NS_PER_S / interval_ns
    elif cpus is None and all(frame.kernel_switches is not None for frame in frames):
        # Of the whole host the kernel counts them itself.
        values["switches"] = sum(frame.kernel_switches or 0 for frame in frames) * NS_PER_S / interval_ns
    if "steal" not in lacks and (accounted := _sum(frames, "accounted_ns", cpus)):
        values["steal"] = _sum(frames, "steal_ns", cpus) / accounted
    if not {"latency", "queue_length"} & lacks:
        # Who waits is seen by the same programs that time the waits.
        values["queued"] = max(float(_chosen(frame.cpus.queue_length, cpus).sum()) for frame in frames)
    if "pressure" not in lacks and all(frame.pressure is not None for frame in frames):
        pressures = [frame.pressure for frame in frames if frame.pressure is not None]
        # The kernel adds it up a little later than the interval ends: it may be more than all of it.
        values["some"] = min(1.0, sum(pressure.some_ns for pressure in pressures) / interval_ns)
        values["full"] = min(1.0, sum(pressure.full_ns for pressure in pressures) / interval_ns)
    if "throttling" not in lacks:
        values["throttled"] = sum(int(frame.throttling["throttled_ns"].sum()) for frame in frames) / interval_ns
    return values


def values_by_cpu(field: str, frames: Sequence[Frame], cpus: int) -> Numbers:
    """One of the fields that trends know of each CPU, shape (cpus,), NaN where it is not known."""
    values = np.full(cpus, np.nan)
    for frame in frames:
        known = _of_cpus(field, frame)[:cpus]
        online = frame.cpus.online[: len(known)]
        np.fmax(values[: len(known)], np.where(online, known, np.nan), out=values[: len(known)])
    return values


def _of_cpus(field: str, frame: Frame) -> Numbers:
    if field == "max_ns":
        longest = frame.latency.max_ns.max(axis=0).astype(np.float64)
        waited: Numbers = np.where(longest > 0, longest, np.nan)
        return waited
    if field == "queued":
        return frame.cpus.queue_length.astype(np.float64)
    if field == "steal":
        accounted = frame.cpus.column("accounted_ns").astype(np.float64)
        steal: Numbers = frame.cpus.column("steal_ns") / np.where(accounted > 0, accounted, np.nan)
        return steal
    return frame.cpus.column("switches").astype(np.float64) * (NS_PER_S / max(1, frame.interval_ns))


def values_of_row(row: Mapping[str, Any]) -> Values:
    """The Values of a row over time of a report (SERIES_FIELDS); an older one has fewer."""
    interval_ns = max(1, row["interval_ns"])

    def share(name: str) -> float | None:
        return None if row.get(name) is None else float(row[name]) / interval_ns

    some = share("pressure_ns")
    return {
        **{name: row[name] for name in ("p50_ns", "p99_ns", "max_ns")},
        "switches": rate(row["switches"], interval_ns),
        "involuntary": rate(row["involuntary_switches"], interval_ns),
        "steal": row["steal_ratio"],
        "queued": row.get("queue_length"),
        "some": None if some is None else min(1.0, some),
        "throttled": share("throttled_ns"),
    }


def _chosen(column: npt.NDArray[Any], cpus: Sequence[int] | None) -> npt.NDArray[Any]:
    return column if cpus is None else column[[cpu for cpu in cpus if cpu < len(column)]]


def _sum(frames: Sequence[Frame], counter: str, cpus: Sequence[int] | None) -> int:
    return sum(int(_chosen(frame.cpus.column(counter), cpus).sum(dtype=np.int64)) for frame in frames)
