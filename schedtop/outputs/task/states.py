"""How the time of a task went, in the report to read: its states over time, and its threads."""

from __future__ import annotations

from collections.abc import Sequence

from schedtop.base.units import format_count, format_ns, format_ratio, printable
from schedtop.outputs.tables import titled
from schedtop.task import STATES, Column, StateTimes, TaskFrame

STRIP_COLUMNS = 60
THREADS = 20
"""How many rows are shown at most."""

_EIGHTHS = " ▁▂▃▄▅▆▇█"


def states_text(task: TaskFrame) -> str:
    """A line for each state: its share, its time, and a bar for each piece of time."""
    columns = _fewer(task.strip, STRIP_COLUMNS)
    lines = []
    for state in STATES:
        ns = getattr(task.states, f"{state}_ns")
        if state == "throttled" and "throttled" in task.unavailable:
            continue
        if not ns and state in ("stopped", "throttled"):
            continue
        bars = "".join(_bar(column.states.ratio(state)) for column in columns)
        lines.append(f"  {state:<15}{format_ratio(task.states.ratio(state)):>7} {format_ns(ns):>8}  |{bars}|")
    piece = f"; each column is {format_ns(columns[0].duration_ns)}" if columns else ""
    of_threads = ", threads added up" if task.whole_process and thread_count(task) != 1 else ""
    return f"State over time{of_threads}{piece}\n" + "\n".join(lines)


def _fewer(columns: Sequence[Column], most: int) -> list[Column]:
    """As many neighbours together as it takes."""
    each = -(-len(columns) // most)
    found = []
    for start in range(0, len(columns), max(each, 1)):
        part = columns[start : start + each]
        states = sum((column.states for column in part), StateTimes())
        found.append(Column(sum(column.duration_ns for column in part), states))
    return found


def _bar(ratio: float | None) -> str:
    if not ratio:
        return " "
    return _EIGHTHS[max(1, min(8, round(ratio * 8)))]


def threads_text(task: TaskFrame) -> str:
    """A table of the threads of a process."""
    if not task.whole_process or len(task.threads) < 2:
        return ""
    header = (
        "tid",
        "comm",
        "now",
        "run time",
        "run delay",
        "running",
        "runnable",
        "sleeping",
        "uninterruptible",
        "switches",
        "cpu",
    )
    rows = [
        (
            str(thread.tid),
            printable(thread.comm),
            thread.state,
            format_ns(thread.states.running_ns),
            format_ns(thread.states.runnable_ns),
            *(format_ratio(thread.states.ratio(state)) for state in STATES[:4]),
            format_count(thread.voluntary_switches + thread.involuntary_switches),
            str(thread.cpu) if thread.cpu >= 0 else "-",
        )
        for thread in task.threads[:THREADS]
    ]
    return titled("Threads by run time", thread_count(task), header, rows, left=("comm", "now"))


def thread_count(task: TaskFrame) -> int:
    """How many threads it has, those among them that are no longer kept one by one."""
    return len(task.threads) + task.loss.threads_forgotten
