"""What interrupts have to do with slow waits: how much of one they had the CPU, which, and which one woke the task."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from schedtop.base.breath import keep_on
from schedtop.model.rows import BLOCKERS, INTERRUPTERS, Integers, Rows
from schedtop.sources.interrupts.reader import InterruptReader

LEAST_SHARE = 0.01
"""Of a wait: with less of it interrupts are not told."""

_KSOFTIRQD = b"ksoftirqd/"

Comms = Callable[[Integers], npt.NDArray[np.bytes_]]

MOST_WAITS = 512
"""How many slow waits of a reading are looked at one by one: those with the most time of interrupts."""


def note_interrupts(
    rows: Rows, events: Rows, reader: InterruptReader, comms: Comms, breathe: Callable[[], object] = keep_on
) -> None:
    """Fills the fields of rows of SLOW_WAIT_DTYPE that tell of interrupts; `events`: what they are made of.

    `comms`: gives the names of tasks by their tids. `breathe` is called after each wait that is looked at.

    What interrupts took from a blocker is theirs, no longer the blocker's. Of a wait on several CPUs the last one is
    looked at. A task of sched_ext waits for no CPU in particular.
    """
    rows["waker_interrupt"] = [
        reader.name(int(source) - 1) if source else b"" for source in events["waker_source"].tolist()
    ]
    rows["waker_raiser"] = [reader.raiser(raiser, comms) for raiser in events["waker_raiser"].tolist()]
    _note_softirqs_of_ksoftirqd(rows, events, reader, comms)
    ends = events["end_ns"].astype(np.int64)
    queued = ends - (events["wait_ns"] - events["throttled_ns"]).astype(np.int64)
    starts = np.maximum(queued, events["enqueued_ns"].astype(np.int64))
    total = np.zeros(len(rows), np.int64)
    cpus = events["cpu"].astype(np.int64)
    for cpu in np.unique(cpus).tolist():
        mine = np.flatnonzero(cpus == cpu)
        total[mine] = reader.spans.total_ns(cpu, starts[mine], ends[mine])
    total[events["sched_ext"] != 0] = 0
    enough = np.flatnonzero(total >= np.maximum(1, LEAST_SHARE * rows["wait_ns"]))
    for index in enough[np.argsort(-total[enough], kind="stable")][:MOST_WAITS].tolist():
        _tell(rows, index, int(cpus[index]), int(starts[index]), int(ends[index]), reader, comms)
        breathe()


def _note_softirqs_of_ksoftirqd(rows: Rows, events: Rows, reader: InterruptReader, comms: Comms) -> None:
    """Of wakeups by ksoftirqd, which the kernel side names as the waker: what had raised the softirq that it did.

    A task that is woken on another CPU is enqueued there when that CPU handles the request (`ttwu_queue_wakelist()` in
    kernel/sched/core.c), often after the softirq has ended.
    """
    of_ksoftirqd = np.char.startswith(rows["waker_comm"], _KSOFTIRQD) & (events["waker_source"] != 0)
    for index in np.flatnonzero(of_ksoftirqd)[:MOST_WAITS].tolist():
        cpu = bytes(rows["waker_comm"][index])[len(_KSOFTIRQD) :]
        if not cpu.isdigit() or not reader.spans.has(int(cpu)):
            continue
        woken_ns = int(events["end_ns"][index]) - int(events["wait_ns"][index])
        raiser = reader.spans.last_raiser(int(cpu), int(events["waker_source"][index]) - 1, woken_ns)
        rows["waker_raiser"][index] = reader.raiser(raiser, comms)


def _tell(rows: Rows, index: int, cpu: int, start_ns: int, end_ns: int, reader: InterruptReader, comms: Comms) -> None:
    spans = reader.spans.during(cpu, start_ns, end_ns)
    sources = spans.by_source()
    row = rows[index]
    row["interrupted_ns"] = sum(ns for _, ns in sources)
    for place, (source, ns) in enumerate(sources[:INTERRUPTERS]):
        row["interrupt_ns"][place], row["interrupt"][place] = ns, reader.name(source)
        row["interrupt_raiser"][place] = reader.raiser(spans.raiser_of(source), comms)
    left = _take_from_blockers(row, spans.by_tid())
    # The rest came where it was not known what had the CPU; what there is no room for lies on an edge of the wait.
    room = max(0, int(row["wait_ns"]) - int(row["throttled_ns"]) - int(row["covered_ns"]))
    outside = max(0, left - room)
    row["interrupted_ns"] -= outside
    row["interrupt_ns"][0] = max(0, int(row["interrupt_ns"][0]) - outside)
    row["covered_ns"] += left - outside


def _take_from_blockers(row: np.void, taken: dict[int, int]) -> int:
    """Makes blockers shorter by what interrupts took from them; the time that was no blocker's."""
    left = 0
    times = row["blocker_ns"].tolist()
    for tid, ns in taken.items():
        places = [place for place, other in enumerate(row["blocker_tid"].tolist()) if other == tid and times[place]]
        if not tid:
            less = min(ns, int(row["cpu_idle_ns"]))
            row["cpu_idle_ns"] -= less
        elif places:
            less = min(ns, times[places[0]])
            times[places[0]] -= less
        else:
            less = min(ns, int(row["others_ns"]))
            row["others_ns"] -= less
        left += ns - less
    order = sorted(range(BLOCKERS), key=lambda place: -times[place])
    for name, values in (("tid", row["blocker_tid"].tolist()), ("comm", row["blocker_comm"].tolist())):
        row[f"blocker_{name}"] = [values[place] for place in order]
    row["blocker_ns"] = [times[place] for place in order]
    return left
