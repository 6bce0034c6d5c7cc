"""A TaskFrame as a report to read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from schedtop import __version__
from schedtop.base.units import format_clock_ms, format_ns, format_round_ns, iso_time, printable
from schedtop.model.host import Host
from schedtop.outputs.plain import blocks_text
from schedtop.outputs.tables import shown_of
from schedtop.outputs.task.calls import faults_text, ongoing_text, slow_calls_text, syscalls_text
from schedtop.outputs.task.entitlement import entitlement_text
from schedtop.outputs.task.scheduling import (
    attributes_text,
    cpus_text,
    preemptors_text,
    switches_text,
    waits_text,
    wakers_text,
)
from schedtop.outputs.task.states import states_text, thread_count, threads_text
from schedtop.outputs.task.traffic import connections_text, io_text, network_text
from schedtop.outputs.words import by_reason
from schedtop.task import TaskFrame, exit_words, waited_before_ns
from schedtop.verdict.wait import explain

WAITS = 10
"""How many rows are shown at most."""

_COMMAND_CHARACTERS = 160


def to_text(task: TaskFrame, host: Host, threshold_ns: int | None, ended_early: str = "") -> str:
    """The report; the arguments as in `task_report`."""
    parts = [
        _head(task, host, ended_early),
        states_text(task),
        switches_text(task),
        attributes_text(task),
        entitlement_text(task),
        threads_text(task),
    ]
    sections: tuple[Callable[[TaskFrame], str], ...] = (
        waits_text,
        wakers_text,
        preemptors_text,
        cpus_text,
        syscalls_text,
        slow_calls_text,
        ongoing_text,
        faults_text,
        io_text,
        network_text,
        connections_text,
    )
    parts += [section(task) for section in sections]
    parts += [_slow_waits(task, threshold_ns, host.kernel), _unavailable(task), _loss(task)]
    return blocks_text(parts)


def _head(task: TaskFrame, host: Host, ended_early: str) -> str:
    facts = [f"schedtop {__version__}", f"host {host.name}", f"kernel {host.kernel}", f"source {host.source}"]
    facts += [iso_time(task.start_time_ns), f"over {format_ns(task.interval_ns)}"]
    name = printable(task.comm)
    subject = f"Process {task.tgid} ({name}), " if task.whole_process else f"Task {task.tid} ({name}), "
    lines = ["  ".join(facts), subject + (_all_threads(task) if task.whole_process else _one_thread(task))]
    if task.command_line:
        command = printable(task.command_line)
        lines.append("  " + command[:_COMMAND_CHARACTERS] + ("..." if len(command) > _COMMAND_CHARACTERS else ""))
    if task.ended:
        lines.append(f"  It has ended{exit_words(task.exit_code)}; what follows is up to then.")
    elif ended_early:
        lines.append(f"  This is shorter than it was to be: {ended_early}.")
    return "\n".join(lines)


def _all_threads(task: TaskFrame) -> str:
    """How many threads are looked at."""
    count, started = thread_count(task), task.threads_started
    threads = "its only thread" if count == 1 else f"all {count} threads"
    return f"{threads}, {started} of them started meanwhile" if started else threads


def _one_thread(task: TaskFrame) -> str:
    """That it is one alone, and how many others its process has."""
    inside = "" if task.tid == task.tgid else f" of process {task.tgid} ({printable(task.process)})"
    facts = [f"has {task.process_threads} threads"] if task.process_threads > 1 else []
    facts += [f"started {task.threads_started} meanwhile"] if task.threads_started else []
    return f"this thread{inside} alone" + (f": the process {' and '.join(facts)} (--process)" if facts else "")


def _slow_waits(task: TaskFrame, threshold_ns: int | None, kernel: str) -> str:
    if threshold_ns is None or "slow waits" in task.unavailable:
        return ""
    rows = sorted(task.slow_waits, key=lambda row: -int(row["wait_ns"]))
    lines = [
        f"  {format_clock_ms(int(row['time_ns']))}  {explain(row, kernel=kernel)}{_before(task, row)}"
        for row in rows[:WAITS]
    ]
    title = f"Waits of {format_round_ns(threshold_ns)} and more: {shown_of(len(lines), len(rows))}"
    return "\n".join([title, *lines])


def _before(task: TaskFrame, row: Any) -> str:
    """A wait is listed when it ends, and whole, as in a snapshot: the states above have only what lies within."""
    before_ns = waited_before_ns(task, row)
    return f" It began {format_ns(before_ns)} before this report." if before_ns else ""


def _unavailable(task: TaskFrame) -> str:
    return "\n".join(f"not available: {parts}: {why}" for parts, why in by_reason(task.unavailable))


def _loss(task: TaskFrame) -> str:
    lost = [f"{name.replace('_', ' ')}: {count}" for name, count in asdict(task.loss).items() if count]
    return "lost: " + ", ".join(lost) if lost else "nothing was lost"
