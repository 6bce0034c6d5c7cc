"""A recording as one report: the JSON contract `schedtop.report/1`, described in docs/report.md.

Frames are added up as they are read, so that a long recording of a large host fits into memory. All other formats are
made from these plain objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from schedtop.base.histogram import LOW_NS
from schedtop.base.units import NS_PER_S, iso_time
from schedtop.history.history import History
from schedtop.history.thinning import thinned
from schedtop.history.view import View, ViewSettings
from schedtop.model.detail import Detail
from schedtop.model.frame import Frame, frame_bytes, merge
from schedtop.model.group_latency import GroupLatency
from schedtop.model.host import Host
from schedtop.model.rows import Rows
from schedtop.outputs.plain import json_text
from schedtop.outputs.report.activity import activity_fields
from schedtop.outputs.report.points import HEAT, Point, merge_points, point_of, series_row, width_for
from schedtop.outputs.scheduler.snapshot import snapshot
from schedtop.outputs.schemas import REPORT
from schedtop.verdict.engine import judge
from schedtop.verdict.verdict import Verdict
from schedtop.verdict.wait import explain

SCHEMA = REPORT

SERIES, STRETCHES = 600, 20
"""At most so many rows over time, and stretches with a verdict of their own."""

KEEP_TASKS, KEEP_SLOW_WAITS, KEEP_PAIRS, KEEP_SHORT_LIVED, KEEP_GROUPS = 20_000, 100_000, 20_000, 100, 4096
"""How many a report adds up; what is less is forgotten, and counted as lost. 42 MB, and twice that while it adds."""

KEEP_RAISED = 20_000
"""So many rows of what raised softirqs; of the others it is not known."""

TASK_LINES = 6
"""Of so many tasks the run delay is given over time."""

HEAT_ROWS, HEAT_COLUMNS = 128, 240

_TOGETHER, _TOGETHER_TASKS = 64, 1024
"""Points of a row that are added up before it is whole, and of how many tasks that knows the run delay."""

_BATCH, _BATCH_BYTES = 8, 16 << 20
"""Frames that are added at once: a Frame of 512 CPUs takes 2 MB."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of the time with its own verdict. `badness`: time in slow waits, then all run delay, per time."""

    point: Point
    verdict: Verdict
    badness: tuple[float, float]


@dataclass(slots=True)
class Gatherer:
    """Adds Frames up, in order. `span_ns`: how long they will be together; `interval_ns`: the shortest row over time.

    `intervals` and `cpus`: how many there are so far.
    """

    host: Host
    settings: ViewSettings
    span_ns: int
    interval_ns: int
    points: list[Point] = field(default_factory=list)
    stretches: list[Stretch] = field(default_factory=list)
    intervals: int = 0
    cpus: int = 0
    total: Frame | None = None
    _begin_ns: int = 0
    _place: int = -1
    _row_place: int = -1
    _stretch: Frame | None = None
    _batch: list[Frame] = field(default_factory=list)
    _rows: list[list[Point]] = field(default_factory=list)
    """The Points of the stretch, those of a row over time together."""

    def add(self, frame: Frame) -> None:
        """The next Frame."""
        if not self.intervals:
            self._begin_ns = frame.end_ns - frame.interval_ns
        offset_ns = frame.end_ns - frame.interval_ns - self._begin_ns
        # By its middle: intervals are a little longer than they should be.
        middle_ns = max(0, offset_ns + frame.interval_ns // 2)
        # Never back: intervals that cover one another would make a stretch each.
        place = max(self._place, middle_ns // width_for(self.span_ns, STRETCHES, self.interval_ns))
        if place != self._place:
            self._close_stretch()
            self._place = place
        self.intervals += 1
        self.cpus = max(self.cpus, len(frame.cpus.online))
        self._add_point(point_of(frame, self.settings.filter, max(0, offset_ns)))
        self._batch.append(frame)
        if len(self._batch) >= _BATCH or sum(map(frame_bytes, self._batch)) >= _BATCH_BYTES:
            self._merge_batch()

    def finish(self) -> Frame:
        """The Frame of all. Raises ValueError if there was none."""
        self._close_stretch()
        if self.total is None:
            raise ValueError("there is no interval")
        return self.total

    def _add_point(self, point: Point) -> None:
        width_ns = width_for(self.span_ns, SERIES, self.interval_ns)
        place = max(self._row_place, (point.offset_ns + point.interval_ns // 2) // width_ns)
        if place != self._row_place or not self._rows:
            self._rows.append([])
            self._row_place = place
        row = self._rows[-1]
        row.append(point)
        if len(row) == _TOGETHER:
            row[:] = [merge_points(row, _TOGETHER_TASKS)]

    def _merge_batch(self) -> None:
        if self._batch:
            self._stretch = _bounded(merge([*([self._stretch] if self._stretch else []), *self._batch]))
            self._batch = []

    def _close_stretch(self) -> None:
        self._merge_batch()
        frame = self._stretch
        if frame is None:
            return
        view = view_of(self.host, frame, self.settings)
        rows = [merge_points(row) for row in self._rows]
        self.stretches.append(Stretch(merge_points(rows), judge(view), _badness(view)))
        self.points += rows
        self.total = _bounded(merge([self.total, frame])) if self.total else frame
        self._stretch, self._rows = None, []


def view_of(host: Host, frame: Frame, settings: ViewSettings) -> View:
    """The View of one Frame."""
    return History(host, [frame]).view(settings)


def report(
    gathered: Gatherer,
    *,
    recording: Mapping[str, Any] | None = None,
    events: Sequence[Mapping[str, Any]] = (),
    top: int = 50,
    all_tasks: bool = False,
) -> dict[str, Any]:
    """The report as plain objects; lists are at most `top` long, but for the tasks if all are wanted.

    Raises ValueError without a Frame.
    """
    frame = gathered.finish()
    view = view_of(gathered.host, frame, gathered.settings)
    data = snapshot(replace(view, slow_waits=view.slow_waits[:top]), None if all_tasks else top)
    cpus = len(view.frame.cpus.ids)
    for wait, row in zip(data["slow_waits"] or (), view.slow_waits[:top], strict=False):
        wait["words"] = explain(row, cpus, gathered.host.kernel)
    if data["interrupts"]:
        data["interrupts"]["timed_ns"] = sum(point.timed_ns for point in gathered.points)
    counts = {"tasks": len(view.tasks), "slow_waits": sum(point.slow_waits for point in gathered.points)}
    for name in ("preemptions", "blockings", "groups"):
        counts[name] = len(data[name] or ())
        data[name] = data[name] and data[name][:top]
    points = gathered.points
    data["activity"] = activity_fields(view.frame, view.host, top)
    end_ns = points[-1].start_time_ns + points[-1].interval_ns
    return {
        **data,
        "schema": SCHEMA,
        "verdict": _verdict(view, gathered).as_json(),
        "end_time": iso_time(end_ns),
        "intervals": gathered.intervals,
        "recording": dict(recording) if recording else None,
        "unavailable": dict(frame.unavailable),
        "counts": counts,
        "worst": _worst(gathered.stretches),
        "stretches": [_stretch_fields(stretch) for stretch in gathered.stretches],
        "series": [series_row(point) for point in points],
        "events": [dict(event) for event in events],
        "task_series": _task_series(view, points),
        "heat": _heat(view, points),
    }


def to_json(data: Mapping[str, Any]) -> str:
    """A report or a diff as text, ending with a newline."""
    return json_text(data)


def _bounded(frame: Frame) -> Frame:
    groups = frame.groups
    if groups is not None and len(groups.ids) > KEEP_GROUPS:
        largest = np.sort(np.argsort(-groups.sum_ns, kind="stable")[:KEEP_GROUPS])
        groups = GroupLatency(
            groups.kind, groups.ids[largest], groups.counts[largest], groups.sum_ns[largest], groups.wait_kinds[largest]
        )
    interrupts = frame.interrupts
    if interrupts is not None and len(interrupts.raised) > KEEP_RAISED:
        most = np.argsort(-interrupts.raised["total_ns"], kind="stable")[:KEEP_RAISED]
        interrupts = replace(interrupts, raised=interrupts.raised[np.sort(most)])
    kept = thinned(frame, Detail(KEEP_TASKS, KEEP_SLOW_WAITS, KEEP_PAIRS, KEEP_SHORT_LIVED))
    # Thinning drops the interrupts of large hosts: a report has one table of them, and not one for each interval.
    return replace(kept, groups=groups, interrupts=interrupts)


def _badness(view: View) -> tuple[float, float]:
    frame = view.frame
    slow_ns = int(view.slow_waits["wait_ns"].sum())
    if not view.settings.filter.names_tasks:
        # Under a flood not every slow wait is told one by one, but all are counted.
        first = int(np.searchsorted(LOW_NS, frame.threshold_ns))
        slow_ns = max(slow_ns, int((view.latency().counts[first:] * LOW_NS[first:]).sum()))
    waiting = view.tasks["waiting_ns"]
    slow_ns += int(np.minimum(waiting[waiting >= max(1, frame.threshold_ns)], frame.interval_ns).sum())
    return slow_ns / max(1, frame.interval_ns), int(view.tasks["run_delay_ns"].sum()) / max(1, frame.interval_ns)


def _stretch_fields(stretch: Stretch) -> dict[str, Any]:
    return {**series_row(stretch.point), "verdict": stretch.verdict.as_json()}


def _verdict(view: View, gathered: Gatherer) -> Verdict:
    """That of the whole; where it had more slow waits than are kept, the one that weighs most in its stretches."""
    whole = judge(view)
    forgotten = view.frame.loss.slow_waits_forgotten
    if whole.rule != "incomplete" or not forgotten:
        return whole
    weights: dict[str, float] = {}
    for stretch in gathered.stretches:
        rule = stretch.verdict.rule
        weights[rule] = weights.get(rule, 0.0) + stretch.badness[0] * stretch.point.interval_ns
    rule = max(weights, key=lambda name: weights[name])
    alike = [stretch for stretch in gathered.stretches if stretch.verdict.rule == rule]
    verdict = max(alike, key=lambda stretch: stretch.badness).verdict
    of_all = f"judged by stretches, there are too many slow waits: so in {len(alike)} of {len(gathered.stretches)}"
    return replace(verdict, evidence=(*verdict.evidence, of_all))


def _worst(stretches: Sequence[Stretch]) -> dict[str, Any] | None:
    """The stretch in which waits cost most; `None` if there is only one."""
    if len(stretches) < 2:
        return None
    return _stretch_fields(max(stretches, key=lambda stretch: stretch.badness))


def _task_series(view: View, points: Sequence[Point]) -> list[dict[str, Any]]:
    """The run delay of the tasks that waited most, a number for each row over time."""
    if "tasks" in view.frame.unavailable or "run_delay" in view.frame.unavailable:
        return []
    rows: Rows = view.tasks[:TASK_LINES]
    named = snapshot(replace(view, tasks=rows, slow_waits=view.slow_waits[:0], pairs=view.pairs[:0]), TASK_LINES)
    lines = []
    for task, start_ns in zip(named["tasks"] or (), rows["start_ns"].tolist(), strict=True):
        delays = [point.delays.get((task["tid"], start_ns), 0) for point in points]
        lines.append({"tid": task["tid"], "comm": task["comm"], "cgroup": task["cgroup"], "run_delay_ns": delays})
    return lines


def _heat(view: View, points: Sequence[Point]) -> dict[str, Any] | None:
    """CPUs over time, coarse enough to be drawn; of several CPUs in one row the highest value counts."""
    cpus = view.cpu_ids
    lacks = view.frame.unavailable
    if len(points) < 2 or not cpus or {"switches", "busy"} <= lacks.keys():
        return None
    columns = [merge_points(points[start : start + step]) for step in [-(-len(points) // HEAT_COLUMNS)]
               for start in range(0, len(points), step)]  # fmt: skip
    step = -(-len(cpus) // HEAT_ROWS)
    rows = [cpus[start : start + step] for start in range(0, len(cpus), step)]
    cells = np.zeros((len(columns), cpus[-1] + 1, len(HEAT)), np.int64)
    for column, point in enumerate(columns):
        known = point.heat[: cells.shape[1]]
        cells[column, : len(known)] = known
    rates = cells[:, :, 0] * NS_PER_S / np.maximum(1, [[point.interval_ns] for point in columns])
    busy = np.minimum(1, cells[:, :, 1] / np.maximum(1, cells[:, :, 2]))
    return {
        "cpus": [[row[0], row[-1]] for row in rows],
        "offset_ns": [point.offset_ns for point in columns],
        "interval_ns": [point.interval_ns for point in columns],
        "busy_ratio": None
        if "busy" in lacks
        else [[round(float(busy[at, row].max()), 3) for at in range(len(columns))] for row in rows],
        "involuntary_per_second": None
        if "switches" in lacks
        else [[round(float(rates[at, row].max()), 1) for at in range(len(columns))] for row in rows],
    }
