"""A capture in Chrome's trace event format (JSON): CPUs and tasks as tracks, states as slices, wakeups as arrows.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from schedtop.base.units import NS_PER_US, plural
from schedtop.capture.events import MIGRATE, PREEMPTED, STATE_LETTERS, Capture
from schedtop.capture.slices import RUNNABLE, RUNNING, Slices, slices_of
from schedtop.model.waits import WAKERS, WokenBy
from schedtop.outputs.capture.facts import facts
from schedtop.outputs.capture.tracks import Track

CPUS_PID = 5_000_000
"""The process of the CPU tracks: no task has a number above 4,194,304 (PID_MAX_LIMIT)."""

PATHS_PID = CPUS_PID + 1
"""The process of the tracks of paths."""

_LINES = 10_000


def chrome_trace(capture: Capture, paths: Sequence[Track] = ()) -> Iterator[bytes]:
    """The trace in pieces, with tracks of paths. Times are of CLOCK_MONOTONIC, in microseconds with three places."""
    slices = slices_of(capture)
    yield b'{"displayTimeUnit":"ns","otherData":' + json.dumps(facts(capture)).encode() + b',"traceEvents":[\n'
    lines = chain(
        _cpu_tracks(capture), _task_tracks(capture, slices), _runs(capture, slices), _losses(capture),
        _states(capture, slices), _arrows(capture, slices), _migrations(capture), _paths(paths),
    )  # fmt: skip
    separator = ""
    while piece := list(islice(lines, _LINES)):
        yield (separator + ",\n".join(piece)).encode()
        separator = ",\n"
    yield b"\n]}\n"


def _us(time_ns: int) -> str:
    """Exactly, as a float of today's clocks could not say it."""
    return f"{time_ns // NS_PER_US}.{time_ns % NS_PER_US:03d}"


def _meta(kind: str, pid: int, tid: int, name: str, value: object) -> str:
    arguments = json.dumps({name: value})
    return f'{{"ph":"M","name":"{kind}","pid":{pid},"tid":{tid},"args":{arguments}}}'


def _cpu_tracks(capture: Capture) -> Iterator[str]:
    yield _meta("process_name", CPUS_PID, 0, "name", "CPUs")
    yield _meta("process_sort_index", CPUS_PID, 0, "sort_index", -1)
    for cpu in capture.cpus:
        yield _meta("thread_name", CPUS_PID, cpu, "name", f"CPU {cpu}")
        yield _meta("thread_sort_index", CPUS_PID, cpu, "sort_index", cpu)


def _task_tracks(capture: Capture, slices: Slices) -> Iterator[str]:
    names = capture.task_names
    moved = capture.events["tid"][capture.events["kind"] == MIGRATE]
    tids = np.unique(np.concatenate((slices.states["tid"], moved))).tolist()
    for tgid in sorted({names.tgid(tid) for tid in tids}):
        yield _meta("process_name", tgid, tgid, "name", names.name(tgid))
    for tid in tids:
        yield _meta("thread_name", names.tgid(tid), tid, "name", names.name(tid))


def _quoted(capture: Capture) -> list[str]:
    """Names as JSON, by the indices of `Names.at`; -1 is the last one."""
    return [json.dumps(text) for text in (*capture.task_names.texts, "?")]


def _in_pieces(rows: npt.NDArray[Any]) -> Iterator[Any]:
    """The rows as tuples: all of them at a time would take ten times the memory of the array."""
    for start in range(0, len(rows), _LINES):
        yield from rows[start : start + _LINES].tolist()


def _runs(capture: Capture, slices: Slices) -> Iterator[str]:
    names, runs = _quoted(capture), slices.runs[slices.runs["end_ns"] > slices.runs["start_ns"]]
    found = capture.task_names.at(runs["tid"], runs["start_ns"])
    for (start, end, tid, cpu, prio), name in zip(_in_pieces(runs), _in_pieces(found), strict=True):
        yield (
            f'{{"ph":"X","cat":"cpu","name":{names[name]},"pid":{CPUS_PID},"tid":{cpu},"ts":{_us(start)},'
            f'"dur":{_us(end - start)},"args":{{"tid":{tid},"prio":{prio}}}}}'
        )


def _losses(capture: Capture) -> Iterator[str]:
    for first, last, cpu, _, count in capture.losses.tolist():
        words = f"{count} {plural(count, 'event')} lost"
        yield (
            f'{{"ph":"X","cat":"lost","name":"{words}","pid":{CPUS_PID},"tid":{cpu},"ts":{_us(first)},'
            f'"dur":{_us(last - first)},"args":{{"lost":{count}}}}}'
        )


def _states(capture: Capture, slices: Slices) -> Iterator[str]:
    names = capture.task_names
    for start, end, tid, state, prev_state, cpu, waker_cpu, waker, by, woken_ns in _in_pieces(slices.states):
        if state == RUNNING:
            words, more = "running", f'"cpu":{cpu}'
        elif state != RUNNABLE:
            letter = state_letter(prev_state)
            words, more = f"sleeping ({letter})", f'"state":"{letter}","cpu":{cpu}'
        elif woken_ns:
            words, more = "runnable", f'"reason":"wakeup","waker":{waker},"waker_cpu":{waker_cpu}'
            more += f',"woken_by":"{_source(by, waker)}"'
        else:
            words, more = "runnable", f'"reason":"{"preemption" if prev_state & PREEMPTED else "switched out"}"'
        yield (
            f'{{"ph":"X","cat":"state","name":"{words}","pid":{names.tgid(tid)},"tid":{tid},"ts":{_us(start)},'
            f'"dur":{_us(end - start)},"args":{{{more}}}}}'
        )


def state_letter(prev_state: int) -> str:
    """The kernel's letter for a state that it reports, as in perf and ftrace."""
    return STATE_LETTERS.get(prev_state & 0xFF, "?") if prev_state & 0xFF else "R"


def _source(by: int, waker: int) -> str:
    """What woke a task in a word; a CPU that is idle is woken by interrupts alone."""
    return WAKERS[by] if by or waker else WAKERS[WokenBy.INTERRUPT]


def _arrows(capture: Capture, slices: Slices) -> Iterator[str]:
    """From the waker to the task that became runnable. An interrupt has no track to begin on."""
    names, states = capture.task_names, slices.states
    woken = states[(states["woken_ns"] > 0) & (states["waker_tid"] > 0) & (states["state"] == RUNNABLE)]
    for number, row in enumerate(_in_pieces(woken), 1):
        start, _, tid, _, _, _, _, waker, _, woken_ns = row
        same = f'"cat":"wakeup","name":"wakeup","id":{number}'
        yield f'{{"ph":"s",{same},"pid":{names.tgid(waker)},"tid":{waker},"ts":{_us(woken_ns)}}}'
        yield f'{{"ph":"f","bp":"e",{same},"pid":{names.tgid(tid)},"tid":{tid},"ts":{_us(start)}}}'


def _paths(tracks: Sequence[Track]) -> Iterator[str]:
    if tracks:
        yield _meta("process_name", PATHS_PID, 0, "name", "Paths across tasks")
        yield _meta("process_sort_index", PATHS_PID, 0, "sort_index", -2)
    for track in tracks:
        yield _meta("thread_name", PATHS_PID, track.tid, "name", track.name)
        for bar in (one for episode in track.bars for one in episode.flat()):
            yield (
                f'{{"ph":"X","cat":"path","name":{json.dumps(bar.name)},"pid":{PATHS_PID},"tid":{track.tid},'
                f'"ts":{_us(bar.start_ns)},"dur":{_us(bar.end_ns - bar.start_ns)},"args":{json.dumps(bar.details)}}}'
            )


def _migrations(capture: Capture) -> Iterable[str]:
    names, rows = capture.task_names, capture.events[capture.events["kind"] == MIGRATE]
    for time_ns, tid, from_cpu, to_cpu in _in_pieces(rows[["time_ns", "tid", "from_cpu", "to_cpu"]]):
        yield (
            f'{{"ph":"i","s":"t","cat":"migration","name":"to CPU {to_cpu}","pid":{names.tgid(tid)},"tid":{tid},'
            f'"ts":{_us(time_ns)},"args":{{"from_cpu":{from_cpu},"to_cpu":{to_cpu}}}}}'
        )
