"""What takes CPU time away from tasks that want it, over some minutes: steal, quotas, pressure, and what it costs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from schedtop.base.units import NS_PER_MS, NS_PER_S, format_brief_ns, format_ratio, format_round_ns
from schedtop.model.frame import Frame
from schedtop.model.rows import Rows
from schedtop.verdict.limits import STEAL_ALARM, STEAL_NOTICE

SPAN_NS = 300 * NS_PER_S
FIRST_SPAN_NS = 60 * NS_PER_S
"""What is shown as long as no more is known."""

Values = npt.NDArray[np.float64]
Cpus = tuple[int, ...] | None

_CACHED_MOST = 4000


@dataclass(frozen=True, slots=True)
class Series:
    """One thing over time: its value in a Frame on some CPUs (`None`: all; the value is `None` where it is not known,
    and of all CPUs where it is not kept by CPU), how it is written and drawn.

    `scale` gives the top of its axis from the largest value seen; `marks` are values worth a label on the axis.
    """

    word: str
    value: Callable[[Frame, Cpus], float | None]
    format: Callable[[float | None], str]
    scale: Callable[[float], float]
    style: str
    marks: tuple[float, ...] = ()


def worst_throttled(rows: Rows) -> tuple[int, float] | None:
    """The id of the cgroup that was throttled in most of its periods, and their share; `None` without any."""
    rows = rows[rows["periods"] > 0]
    if not len(rows):
        return None
    shares = rows["throttled_periods"] / rows["periods"]
    index = int(shares.argmax())
    return int(rows["cgroup_id"][index]), float(shares[index])


def _throttled(frame: Frame, _cpus: Cpus) -> float | None:
    worst = worst_throttled(frame.throttling)
    return worst[1] if worst else None


def _p99(frame: Frame, cpus: Cpus) -> float | None:
    return None if "latency" in frame.unavailable else frame.latency.histogram(None, cpus).percentile_ns(0.99)


def _stolen(frame: Frame, cpus: Cpus) -> float | None:
    return frame.ratio("steal_ns", [cpu for cpu in cpus if cpu < len(frame.cpus.online)] if cpus else None)


def _pressure(frame: Frame, _cpus: Cpus) -> float | None:
    if frame.pressure is None or not frame.interval_ns or "pressure" in frame.unavailable:
        return None
    # The kernel brings its total up to date every two seconds: a short interval may get more than its own.
    return min(1.0, frame.pressure.some_ns / frame.interval_ns)


def _ratio_scale(most: float) -> float:
    """So large that the 10 % line is always on it, and steady."""
    return next((top for top in (0.12, 0.25, 0.5) if most <= top), 1.0)


def _time_scale(most: float) -> float:
    """The next of 1, 2, 5, 10, … ms."""
    steps = (digit * NS_PER_MS * 10**power for power in range(5) for digit in (1, 2, 5))
    return next((float(step) for step in steps if most <= step), max(most, 1.0))


STEAL = Series("steal", _stolen, format_ratio, _ratio_scale, "steal", (STEAL_NOTICE, STEAL_ALARM))
QUOTA = Series("quota", _throttled, format_ratio, _ratio_scale, "throttled")
PRESSURE = Series("PSI", _pressure, format_ratio, _ratio_scale, "busy")
P99 = Series("p99", _p99, format_brief_ns, _time_scale, "wakeup")
SERIES = (STEAL, QUOTA, PRESSURE, P99)


def span_of(frames: Sequence[Frame]) -> int:
    """The time that is shown of these Frames, in nanoseconds: five minutes, at first one."""
    known_ns = frames[-1].end_ns - frames[0].end_ns + frames[0].interval_ns if frames else 0
    return FIRST_SPAN_NS if known_ns <= FIRST_SPAN_NS else SPAN_NS


class Past:
    """The values of all SERIES over some minutes; those of a Frame are worked out once."""

    def __init__(self) -> None:
        self._values: dict[tuple[int, int], tuple[float, ...]] = {}
        self._cpus: Cpus = None
        self._frames: tuple[Frame, ...] = ()
        self._known = np.empty((0, len(SERIES) + 2))
        """Values, end and length of each of them."""

    def table(self, frames: Sequence[Frame], places: int, cpus: Cpus = None, span_ns: int = SPAN_NS) -> Values:
        """The largest value of each series in `places` equal parts, shape (series, places), NaN without data."""
        if cpus != self._cpus:
            self._cpus = cpus
            self._values.clear()
            self._frames = ()
        table = np.full((places, len(SERIES)), np.nan)
        end = frames[-1].end_ns if frames else 0
        recent = frames[bisect_right(frames, end - span_ns, key=attrgetter("end_ns")) :]
        if not recent or places <= 0:
            return table.T
        values, ends, lengths = self._known_of(recent)
        age = end - ends
        begun = age + lengths
        last = places - 1 - (age / span_ns * places).astype(int)
        first = places - 1 - np.minimum(places - 1, (begun / span_ns * places - 1e-9).astype(int))
        np.fmax.at(table, last, values)
        for index in np.flatnonzero(first < last).tolist():
            part = slice(first[index], last[index] + 1)
            table[part] = np.fmax(table[part], values[index])
        return table.T

    def _known_of(self, frames: Sequence[Frame]) -> tuple[Values, Values, Values]:
        """Values, ends and lengths of these Frames; those of the last time are kept."""
        ends = [frame.end_ns for frame in frames[:1]]
        before, known = self._frames, self._known
        gone = bisect_left(before, ends[0], key=attrgetter("end_ns"))
        kept = len(before) - gone
        if kept <= 0 or tuple(frames[:kept]) != before[gone:]:
            gone = kept = 0
            known = np.empty((0, len(SERIES) + 2))
        new = [(*self._of(frame), frame.end_ns, frame.interval_ns) for frame in frames[kept:]]
        known = np.concatenate((known[gone:], np.array(new, float).reshape(-1, len(SERIES) + 2)))
        self._frames, self._known = tuple(frames), known
        return known[:, :-2], known[:, -2], known[:, -1]

    def _of(self, frame: Frame) -> tuple[float, ...]:
        key = (frame.end_ns, frame.interval_ns)
        found = self._values.get(key)
        if found is None:
            if len(self._values) >= _CACHED_MOST:
                self._values.clear()
            known = (series.value(frame, self._cpus) for series in SERIES)
            found = self._values[key] = tuple(np.nan if value is None else float(value) for value in known)
        return found


def top_of(series: Series, values: Values) -> float:
    """The top of a series' axis."""
    known = values[~np.isnan(values)]
    return series.scale(float(known.max()) if len(known) else 0.0)


def axis_text(series: Series, value: float) -> str:
    """A value as a label of the axis."""
    return format_round_ns(round(value)) if series.format is format_brief_ns else f"{value * 100:.0f} %"
