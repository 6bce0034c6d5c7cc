"""A slow wait as cells of text: in the table of a snapshot, and in lines as they happen."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from schedtop.base.units import format_count, format_ns, format_ratio
from schedtop.model.sched_class import class_words

SLOW_WAIT_HEADER = (
    "time",
    "tid",
    "comm",
    "class",
    "cpu",
    "wait",
    "cause",
    "preempted by",
    "woken by",
    "queue",
    "blocked by",
)
SLOW_WAIT_LEFT = ("comm", "class", "cause", "preempted by", "woken by", "blocked by")

_COVERED = 0.9
"""Below this share it is said how much of a wait is known."""


def slow_wait_cells(wait: Mapping[str, Any]) -> dict[str, str]:
    """One of `slow_waits[]` as cells, by SLOW_WAIT_HEADER."""
    cells = (
        datetime.fromisoformat(wait["time"]).astimezone().strftime("%H:%M:%S.%f")[:-3],
        str(wait["tid"]),
        wait["comm"],
        class_words(wait) or "-",
        str(wait["cpu"]) if wait["cpu"] == wait["enqueue_cpu"] else f"{wait['enqueue_cpu']}>{wait['cpu']}",
        format_ns(wait["wait_ns"]),
        wait["cause"] + (f", {wait['evidence']}" if wait["evidence"] else ""),
        task_name(wait["preemptor"]),
        _waker(wait),
        format_count(wait["queue_length"]),
        _blockers(wait),
    )
    return dict(zip(SLOW_WAIT_HEADER, cells, strict=True))


def _waker(wait: Mapping[str, Any]) -> str:
    """What woke it; of ksoftirqd also in which softirq, where interrupts are timed."""
    if not wait["waker"]:
        return wait["waker_interrupt"] or wait["woken_by"] or task_name(None)
    return task_name(wait["waker"]) + (f" in {wait['waker_interrupt']}" if wait["waker_interrupt"] else "")


def _blockers(wait: Mapping[str, Any]) -> str:
    """The blockers, each with its share of the wait."""
    whole = wait["wait_ns"] or 1
    parts = [f"{task_name(blocker)} {format_ratio(blocker['run_ns'] / whole)}" for blocker in wait["blockers"]]
    if wait["other_blockers_ns"]:
        parts.append(f"others {format_ratio(wait['other_blockers_ns'] / whole)}")
    cover = wait["blockers_cover_ratio"]
    if parts and cover is not None and cover < _COVERED:
        parts.append(f"(only {format_ratio(cover)} of the wait is known)")
    return ", ".join(parts) or "-"


def task_name(task: Mapping[str, Any] | None) -> str:
    """A task by name, tid and class; what has no tid (a source of interrupts) by its name."""
    if not task:
        return "-"
    if task["tid"] is None:
        return str(task["comm"])
    how = class_words(task)
    return f"{task['comm']} ({task['tid']}, {how})" if how else f"{task['comm']} ({task['tid']})"
