"""The snapshot as text, to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedtop.base.units import (
    format_count,
    format_counted,
    format_ns,
    format_rate,
    format_ratio,
    format_round_ns,
    plural,
    rate,
)
from schedtop.history.sorting import TASK_SORTS
from schedtop.history.view import View
from schedtop.model.ext_scheduler import ExtScheduler
from schedtop.model.queue_lengths import length_ranges
from schedtop.model.sched_class import class_words
from schedtop.outputs.plain import blocks_text
from schedtop.outputs.scheduler.histogram import group_histograms, kinds_table
from schedtop.outputs.scheduler.interrupts import interrupts_table
from schedtop.outputs.scheduler.short_lived import command_name, endings_words, starter_name
from schedtop.outputs.scheduler.slow_waits import SLOW_WAIT_HEADER, SLOW_WAIT_LEFT, slow_wait_cells, task_name
from schedtop.outputs.scheduler.snapshot import PERCENTILES, snapshot
from schedtop.outputs.tables import table
from schedtop.outputs.words import by_reason, filter_words

_SLOW_WAITS, _PAIRS, _COMMANDS = 20, 15, 15

_LENGTHS, _LENGTH_BAR, _QUEUE_CPUS = 16, 30, 32


def to_text(view: View, tasks: int | None = 50) -> str:
    """A report to read: CPUs, latency, tasks, the slowest waits; rates are per second."""
    data = snapshot(view, tasks)
    parts = [_header(data), _verdict(data), _cpus(data), latency_table(data), kinds_table(data["runqueue_latency"])]
    parts += [_queues(data), interrupts_table(data), _groups(data), *group_histograms(data), _tasks(view, data)]
    more = (short_lived_table(data, _COMMANDS), _slow_waits(data), _blockings(data), _throttling(data))
    parts = [part for part in (*parts, *more) if part]
    reasons = [f"not available: {parts}: {why}" for parts, why in by_reason(view.frame.unavailable)]
    lost = [f"{name.replace('_', ' ')}: {count}" for name, count in data["loss"].items() if count]
    parts += ["\n".join(reasons)] if reasons else []
    parts += ["lost: " + ", ".join(lost)] if lost else []
    return blocks_text(parts)


def _header(data: dict[str, Any]) -> str:
    parts = [
        f"schedtop {data['tool_version']}",
        f"host {data['host']}",
        f"kernel {data['kernel']}",
        f"source {data['source']}",
        data["start_time"],
        f"over {format_ns(data['interval_ns'])}",
    ]
    if ext := data["sched_ext"]:
        parts.append(f"sched_ext {ExtScheduler(**ext).words}")
    chosen = filter_words(data["filters"])
    head = "  ".join(parts + (["only " + chosen] if chosen else []))
    return "\n".join([head, *(f"note: {note}" for note in data.get("notes", ()))])


def _verdict(data: dict[str, Any]) -> str:
    verdict = data["verdict"]
    lines = [f"Verdict: {verdict['headline']}", *(f"  {part}" for part in verdict["evidence"])]
    lines += [f"  Next: {verdict['action']}"] if verdict["action"] else []
    return "\n".join([*lines, *(f"  {words}" for words in verdict["alternatives"])])


def _cpus(data: dict[str, Any]) -> str:
    header = (
        "cpu",
        "switches/s",
        "voluntary/s",
        "involuntary/s",
        "wakeups/s",
        "in/s",
        "out/s",
        "busy",
        "steal",
        "queue",
    )
    counters = ("switches", "voluntary_switches", "involuntary_switches", "wakeups", "migrations_in", "migrations_out")
    rows = []
    for name, row in [(str(row["cpu"]), row) for row in data["cpus"]] + [("all", data["totals"])]:
        rates = [format_count(rate(row[counter], data["interval_ns"])) for counter in counters]
        ratios = [format_ratio(row["busy_ratio"]), format_ratio(row["steal_ratio"])]
        rows.append((name, *rates, *ratios, format_count(row["queue_length"])))
    return "CPUs\n" + table(header, rows)


def latency_table(data: Mapping[str, Any]) -> str:
    """The percentiles of each kind of wait, of a snapshot or a report."""
    header = ("waits", "count", *(name.removesuffix("_ns").replace("p999", "p99.9") for name in PERCENTILES), "max")
    rows = []
    for kind, histogram in data["runqueue_latency"].items():
        known = histogram or {}
        times = [format_ns(known.get(name)) for name in (*PERCENTILES, "max_ns")]
        rows.append((kind, format_count(known.get("count")), *times))
    return "Runqueue latency\n" + table(header, rows, left=("waits",))


def _queues(data: dict[str, Any]) -> str:
    """The run queues as `runqlen` tells them, of all tasks and of the fair class, and a row a CPU."""
    queue = data["queue_length"]
    if queue is None:
        return ""
    rows = []
    for first, last in length_ranges(queue["all"]["max"] or 0, _LENGTHS):
        counts = [
            sum(bucket["count"] for bucket in queue[kind]["buckets"] if first <= bucket["low"] <= last)
            for kind in ("all", "fair")
        ]
        name = str(first) if first == last else f"{first}-{last}"
        share = counts[0] / max(1, queue["all"]["count"])
        rows.append((name, *map(str, counts), format_ratio(share), "█" * round(share * _LENGTH_BAR)))
    expected = queue["expected_samples"]
    taken = f"{queue['samples']} of {expected} {plural(expected, 'sample')}, {queue['hz']} a second on each CPU"
    title = f"Run queue lengths: tasks that wait, the running one not counted; {taken}"
    histogram = table(("waiting", "all", "fair class", "share", "of all"), rows, left=("of all",))
    worst = sorted(queue["cpus"], key=lambda row: -(row["all"]["mean"] or 0))[:_QUEUE_CPUS]
    cells = [(str(row["cpu"]), *_queue_cells(row)) for row in sorted(worst, key=lambda row: row["cpu"])]
    header = ("cpu", "mean", "fair mean", "p50", "p90", "p99", "max", "some wait")
    return f"{title}\n{histogram}\n" + table(header, [*cells, ("all", *_queue_cells(queue))])


def _queue_cells(row: dict[str, Any]) -> list[str]:
    whole, fair = row["all"], row["fair"]
    means = ["-" if lengths["mean"] is None else f"{lengths['mean']:.2f}" for lengths in (whole, fair)]
    numbers = [format_count(whole[name]) for name in ("p50", "p90", "p99", "max")]
    return [*means, *numbers, format_ratio(whole["waiting_ratio"])]


def _tasks(view: View, data: dict[str, Any]) -> str:
    header = (
        "tid",
        "tgid",
        "comm",
        "class",
        "run",
        "run delay",
        "longest wait",
        "switches",
        "involuntary",
        "migrations",
        "cpu",
    )
    if data["tasks"] is None:
        return "Tasks: not available"
    rows = [
        (
            str(task["tid"]),
            str(task["tgid"]),
            task["comm"],
            class_words(task) or "-",
            *(format_ns(task[name]) for name in ("run_ns", "run_delay_ns", "max_wait_ns")),
            *(format_count(task[name]) for name in ("switches", "involuntary_switches", "migrations")),
            str(task["last_cpu"]),
        )
        for task in data["tasks"]
    ]
    title = f"Tasks by {TASK_SORTS[view.settings.task_sort]}: {len(rows)} of {len(view.tasks)}"
    return f"{title}\n" + table(header, rows, left=("comm", "class"))


def short_lived_table(data: Mapping[str, Any], most: int) -> str:
    """The commands of short-lived tasks, of a snapshot or a report; empty if there were none."""
    found = data["short_lived"]
    if not found or not found["commands"]:
        return ""
    header = ("command", "count", "/s", "run", "run delay", "longest wait", "ended", "started by")
    rows = [
        (
            command_name(command),
            format_count(command["count"]),
            format_rate(rate(command["count"], data["interval_ns"])),
            *(format_ns(command[name]) for name in ("run_ns", "run_delay_ns", "max_wait_ns")),
            endings_words(command),
            starter_name(command),
        )
        for command in found["commands"][:most]
    ]
    title = (
        f"Short-lived: {format_counted(found['processes'], 'process', 'processes')}, "
        f"{format_counted(found['threads'], 'thread')}"
    )
    return f"{title}, {len(rows)} of {format_counted(len(found['commands']), 'command')}\n" + table(
        header, rows, left=("command", "ended", "started by")
    )


def _slow_waits(data: dict[str, Any]) -> str:
    waits = data["slow_waits"]
    if waits is None:
        return "Slow waits: not available"
    title = f"Slow waits over {format_round_ns(data['threshold_ns'])}: {min(len(waits), _SLOW_WAITS)} of {len(waits)}"
    rows = [tuple(slow_wait_cells(wait).values()) for wait in waits[:_SLOW_WAITS]]
    return f"{title}\n" + table(SLOW_WAIT_HEADER, rows, left=SLOW_WAIT_LEFT)


def _blockings(data: dict[str, Any]) -> str:
    pairs, parts = data["blockings"], data["attribution"]
    if pairs is None:
        return ""
    whole = parts["ended_wait_ns"] or 1
    rows = [
        (task_name(pair["victim"]), task_name(pair["blocker"]), format_ns(pair["blocked_ns"]), str(pair["count"]))
        for pair in pairs[:_PAIRS]
    ]
    known = format_ratio(parts["attributed_ns"] / whole)
    shown = f"{len(rows)} of {len(pairs)} {plural(len(pairs), 'pair')}"
    title = f"Blame, who held the CPU: {shown}, {known} of the run delay is known"
    return f"{title}\n" + table(("victim", "blocker", "time", "waits"), rows, left=("victim", "blocker"))


def _throttling(data: dict[str, Any]) -> str:
    if not data["throttling"]:
        return ""
    rows = [
        (row["cgroup"] or "?", str(row["periods"]), str(row["throttled_periods"]), format_ns(row["throttled_ns"]))
        for row in data["throttling"]
    ]
    return "Quotas\n" + table(("cgroup", "periods", "throttled", "throttled time"), rows, left=("cgroup",))


def _groups(data: dict[str, Any]) -> str:
    groups = data["groups"]
    if not groups:
        return ""
    header = ("name", "tasks", "run", "run delay", "longest wait", "p50", "p99")
    rows = [
        (
            group["name"],
            str(group["tasks"]),
            *(format_ns(group[name]) for name in ("run_ns", "run_delay_ns", "max_wait_ns")),
            *(format_ns((group["runqueue_latency"] or {}).get(name)) for name in ("p50_ns", "p99_ns")),
        )
        for group in groups
    ]
    return f"By {groups[0]['by']}: {len(rows)}\n" + table(header, rows, left=("name",))
