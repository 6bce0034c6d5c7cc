"""Paths and captures against Perfetto's own SQL over the file that we write, where its processor can be had."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loads import ended, python
from test_path import Chain, Started, chain, program, time_of, whole
from trace_processor import TraceProcessor, require_trace_processor, trace_processor

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.capture.events import SWITCH, Capture
from schedtop.capture.slices import RUNNING, slices_of
from schedtop.outputs.capture.perfetto import perfetto_trace
from schedtop.path.paths import Paths, find_paths
from schedtop.path.targets import Targets
from schedtop.sources.capture.source import CaptureSource

__all__ = ["chain", "program"]  # fixtures

pytestmark = pytest.mark.beside

CRITICAL = """
INCLUDE PERFETTO MODULE sched.thread_executing_span;
SELECT thread.tid AS tid, path.ts AS ts, path.dur AS dur
FROM _thread_executing_span_critical_path(
  (SELECT utid FROM thread WHERE tid = {tid}),
  (SELECT start_ts FROM trace_bounds),
  (SELECT end_ts - start_ts FROM trace_bounds)
) AS path JOIN thread USING (utid)
"""
"""Perfetto's own answer to what a thread waited for at each moment."""


TORN = """
SELECT ts FROM thread_state JOIN thread USING (utid) WHERE tid IN ({late}, {culprit}) AND state GLOB 'R*' AND dur = -1
"""
"""Queued, and the switch is one of those that some guests keep from tracepoints: no path goes there."""

IDLE = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
while True: pass
"""
"""Has a CPU when nothing else wants it."""


def taken(started: Started, directory: Path) -> tuple[Capture, Paths, Path]:
    """A capture of 2 s, our paths of it, and the file for Perfetto."""
    with CaptureSource("btf", path_ns=NS_PER_MS) as source:
        capture = source.take(2 * NS_PER_S, threading.Event())
    file = directory / "trace.perfetto-trace"
    file.write_bytes(b"".join(perfetto_trace(capture)))
    return capture, find_paths(capture, Targets(tids=(started.late,)), NS_PER_MS), file


def critical_ns(rows: list[Any], tid: int, start_ns: int, end_ns: int) -> int:
    """How long Perfetto has a task on the critical path within a time of its clock."""
    return sum(
        max(0, min(row.ts + row.dur, end_ns) - max(row.ts, start_ns)) for row in rows if row.tid == tid and row.dur > 0
    )


@pytest.mark.parametrize(
    ("way", "where", "culprit"),
    [("pipes", "pipe", "worker"), ("sleeper", "futex", "holder"), ("mutex", "futex", "holder")],
)
def test_the_critical_path_of_perfetto_is_ours(
    way: str, where: str, culprit: str, chain: Chain, tmp_path: Path
) -> None:
    """What it has of the culprit in each wait: that it ran, was queued or slept, as a whole.

    No CPU is idle meanwhile. To Perfetto a task comes to be on a path by a wakeup of which it knows the state of what
    ran then (_runnable_state of its sched.thread_executing_span), and of the idle task it keeps none: what only timers
    on an idle CPU wake is to it no waker of anything.
    """
    require_trace_processor()
    with ended(*(python(IDLE, str(cpu)) for cpu in (0, 1))):
        capture, paths, file = taken(chain(way), tmp_path)
    episodes = whole(paths, where)
    offset_ns = capture.clocks.boottime_ns - capture.clocks.monotonic_ns
    (tid,) = {segment.tid for one in episodes for segment in one.segments if segment.comm == culprit}
    with trace_processor(file) as perfetto:
        check_states(perfetto, capture, tid)
        late = paths.episodes[0].tid
        rows = perfetto.query(CRITICAL.format(tid=late))
        torn = [row.ts - offset_ns for row in perfetto.query(TORN.format(late=late, culprit=tid))]
    pairs = [
        (
            time_of([one], culprit, "running", "queued", "blocked"),
            critical_ns(rows, tid, one.start_ns + offset_ns, one.end_ns + offset_ns),
        )
        for one in episodes
        if not any(one.start_ns <= time_ns <= one.end_ns for time_ns in torn)
    ]
    assert len(pairs) >= len(episodes) / 2
    followed = [pair for pair in pairs if pair[1]]
    ours, theirs = (sum(times) for times in zip(*followed or [(0, 0)], strict=True))
    print(f"{culprit} in {len(followed)} of {len(pairs)} waits: {ours:,} ns, Perfetto {theirs:,}")
    # Of what woke the culprit before the recording neither knows.
    assert len(followed) >= len(pairs) - 1 > 0
    assert ours == pytest.approx(theirs, rel=0.01)


def check_states(perfetto: TraceProcessor, capture: Capture, tid: int) -> None:
    """As many switches, and the same time that the task ran, to the nanosecond."""
    (row,) = perfetto.query("SELECT COUNT(*) AS count FROM sched_slice")
    assert row.count == np.count_nonzero(capture.events["kind"] == SWITCH)
    states = slices_of(capture).states
    runs = states[(states["tid"] == tid) & (states["state"] == RUNNING)]
    # Perfetto knows a run from its first switch on, and the last one to the end of its events.
    within = runs[(runs["start_ns"] > capture.start_ns) & (runs["end_ns"] < capture.end_ns)]
    offset_ns = capture.clocks.boottime_ns - capture.clocks.monotonic_ns
    known = {row.ts: row.dur for row in perfetto.query(
        f"SELECT ts, dur FROM thread_state JOIN thread USING (utid) WHERE tid = {tid} AND state = 'Running'"
    )}  # fmt: skip
    lengths = {int(run["start_ns"]) + offset_ns: int(run["end_ns"] - run["start_ns"]) for run in within}
    assert lengths and lengths.items() <= known.items()
