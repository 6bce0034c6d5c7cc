"""The report for a ticket: text of at most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from schedtop.base.units import (
    NS_PER_S,
    format_count,
    format_counted,
    format_ns,
    format_rate,
    format_ratio,
    format_short_ns,
    plural,
    rate,
)
from schedtop.charts.text import Piece, trends_text
from schedtop.charts.trends import values_of_row
from schedtop.outputs.plain import blocks_text
from schedtop.outputs.report.activity import CALL_HEAD, PROCESS_HEAD, activity_cells
from schedtop.outputs.report.interrupts import CPU_HEAD, SOURCE_HEAD, interrupt_cells
from schedtop.outputs.report.words import (
    Data,
    cause_name,
    clock,
    moment,
    origin_words,
    overhead_words,
    place_name,
    summary_words,
    task_name,
    time_cells,
    useful_columns,
    worst_words,
)
from schedtop.outputs.scheduler.histogram import histogram_table
from schedtop.outputs.scheduler.short_lived import command_name, endings_words, starter_name
from schedtop.outputs.scheduler.text import latency_table
from schedtop.outputs.tables import table

WIDTH = 80

_BAR = 30


def to_text(data: Data, top: int) -> str:
    """The report as text, ending with a newline; tables have at most `top` rows, those over time all of them."""
    parts: tuple[Callable[[Data, int], str], ...] = (
        *(_head, _verdict, _over_time, _trends, _latency, _histogram, _cpus, _tasks, _groups, _short_lived),
        *(_slow_waits, _blockings, _preemptions, _interrupts, _activity, _quotas, _events),
    )
    blocks = [part(data, top) for part in parts]
    return blocks_text((*blocks, _prose(f"Cost of schedtop: {overhead_words(data)}.")))


def _head(data: Data, _top: int) -> str:
    recording = data["recording"] or {}
    title = f"schedtop report{' of ' + recording['file'] if recording else ''}"
    facts = origin_words(data)
    width = max(len(name) for name, _ in facts) + 2
    lines = [_prose(value, f"{name:<{width}}", " " * width) for name, value in facts]
    return "\n".join([title, *lines])


def _verdict(data: Data, _top: int) -> str:
    verdict = data["verdict"]
    lines = [_prose(verdict["headline"], f"Verdict ({verdict['level']}): ", "  ")]
    lines += [_prose(evidence, "  - ", "    ") for evidence in verdict["evidence"]]
    lines += [_prose(verdict["action"], "  Next: ", "    ")] if verdict["action"] else []
    lines += [_prose(words, "  ", "    ") for words in verdict["alternatives"]]
    worst = worst_words(data)
    lines += [_prose(worst, "", "  ")] if worst else []
    return "\n".join([*lines, "", _prose(". ".join(summary_words(data)) + ".")])


def _over_time(data: Data, _top: int) -> str:
    rows = [time_cells(row, data["interval_ns"]) for row in data["stretches"]]
    if not rows:
        return ""
    names = useful_columns(rows)
    made = table(names, [[row[name] for name in names] for row in rows], left=("time", "verdict"), gap=" ")
    return f"Over time\n{made}"


def _trends(data: Data, _top: int) -> str:
    rows = data["series"]
    if not rows:
        return ""
    pieces = [Piece(row["offset_ns"], row["interval_ns"], values_of_row(row)) for row in rows]
    return trends_text(pieces, round(moment(rows[0]["start_time"]).timestamp() * NS_PER_S))


def _latency(data: Data, _top: int) -> str:
    return latency_table(data)


def _histogram(data: Data, _top: int) -> str:
    return histogram_table(data["runqueue_latency"]["all"], "all waits")


def _cpus(data: Data, top: int) -> str:
    span_ns = data["interval_ns"]
    counters = ("switches", "involuntary_switches", "wakeups", "migrations_in")
    rows = sorted(data["cpus"], key=lambda row: -(row["involuntary_switches"] or 0))[:top]
    rows = sorted(rows, key=lambda row: row["cpu"])
    cells = [
        (
            str(name),
            *(format_count(rate(row[counter], span_ns)) for counter in counters),
            *(format_ratio(row[name]) for name in ("busy_ratio", "steal_ratio")),
            format_count(row["queue_length"]),
        )
        for name, row in [*((row["cpu"], row) for row in rows), ("all", data["totals"])]
    ]
    header = ("cpu", "switch/s", "invol/s", "wakeup/s", "moved in/s", "busy", "steal", "queue")
    which = f", the {len(rows)} of {len(data['cpus'])} with most involuntary switches" * (len(rows) < len(data["cpus"]))
    return f"CPUs{which}\n" + table(header, cells)


def _tasks(data: Data, top: int) -> str:
    if data["tasks"] is None:
        return "Tasks: not available"
    shown = data["tasks"][:top]
    rows = [
        (
            str(task["tid"]),
            task["comm"],
            *(format_ns(task[name]) for name in ("run_delay_ns", "max_wait_ns", "run_ns")),
            format_count(task["involuntary_switches"]),
            str(task["last_cpu"]),
            _cut(place_name(task["cgroup"]), 22),
        )
        for task in shown
    ]
    header = ("tid", "comm", "delay", "longest", "run", "invol", "cpu", "cgroup")
    title = f"Tasks by run delay: {_of(data, 'tasks', shown)}"
    return f"{title}\n" + table(header, rows, left=("comm", "cgroup"), gap=" ") if rows else title


def _groups(data: Data, top: int) -> str:
    if not data["groups"]:
        return ""
    rows = [
        (
            _cut(group["name"], 30),
            str(group["tasks"]),
            *(format_ns(group[name]) for name in ("run_delay_ns", "max_wait_ns", "run_ns")),
            format_short_ns((group["runqueue_latency"] or {}).get("p99_ns")),
        )
        for group in data["groups"][:top]
    ]
    title = f"By {data['groups'][0]['by']}: {_of(data, 'groups', rows)}"
    return f"{title}\n" + table(("name", "tasks", "delay", "longest", "run", "p99"), rows, left=("name",))


def _short_lived(data: Data, top: int) -> str:
    found = data.get("short_lived")  # a snapshot of an older version has none
    if not found or not found["commands"]:
        return ""
    shown = found["commands"][:top]
    rows = [
        (
            _cut(command_name(command), 18),
            format_count(command["count"]),
            format_rate(rate(command["count"], data["interval_ns"])),
            *(format_short_ns(command[name]) for name in ("run_ns", "run_delay_ns")),
            _cut(starter_name(command), 18),
            _cut(endings_words(command), 16),
        )
        for command in shown
    ]
    counts = [
        format_counted(found[many], one, many)
        for one, many in (("process", "processes"), ("thread", "threads"))
        if found[many]
    ]
    title = f"Short-lived: {', '.join(counts)}; {len(shown)} of {format_counted(len(found['commands']), 'command')}"
    header = ("command", "count", "/s", "run", "delay", "started by", "ended")
    return f"{title}\n" + table(header, rows, left=("command", "started by", "ended"), gap=" ")


def _slow_waits(data: Data, top: int) -> str:
    waits = data["slow_waits"]
    if waits is None:
        return "Slow waits: not available"
    lines = [f"Slowest waits: {_of(data, 'slow_waits', waits[:top])}"]
    for wait in waits[:top]:
        at = f"{moment(wait['time']).astimezone():%H:%M:%S.%f}"[:-3]
        # A snapshot has no words for it.
        words = wait.get("words") or f"{task_name(wait)} waited {format_ns(wait['wait_ns'])} for CPU {wait['cpu']}."
        lines.append(_prose(f"{format_ns(wait['wait_ns'])}, {cause_name(wait)}. {words}", f"  {at}  ", " " * 4))
    return "\n".join(lines)


def _blockings(data: Data, top: int) -> str:
    pairs, parts = data["blockings"], data["attribution"]
    if not pairs:
        return ""
    rows = [
        (
            task_name(pair["victim"]),
            task_name(pair["blocker"]),
            format_ns(pair["blocked_ns"]),
            format_count(pair["count"]),
        )
        for pair in pairs[:top]
    ]
    known = format_ratio(min(1.0, parts["attributed_ns"] / (parts["ended_wait_ns"] or 1)))
    title = f"Blame, who held the CPU: {_of(data, 'blockings', rows, 'pair')}, {known} of the delay"
    return f"{title}\n" + table(("victim", "blocker", "time", "waits"), rows, left=("victim", "blocker"))


def _preemptions(data: Data, top: int) -> str:
    pairs = data["preemptions"]
    if not pairs:
        return ""
    rows = [
        (
            task_name(pair["victim"]),
            task_name(pair["preemptor"]),
            format_ns(pair["wait_ns"]),
            format_count(pair["count"]),
        )
        for pair in pairs[:top]
    ]
    title = f"Preemptions: {_of(data, 'preemptions', rows, 'pair')}"
    return f"{title}\n" + table(("victim", "preemptor", "waits' sum", "times"), rows, left=("victim", "preemptor"))


def _interrupts(data: Data, top: int) -> str:
    found = interrupt_cells(data, top)
    if not found:
        return ""
    # Without the mean, which the two before it tell: the lines are long enough.
    mean = SOURCE_HEAD.index("mean")
    rows = [(_cut(row[0], 24), *row[1:mean], row[mean + 1], _cut(row[-1], 24)) for row in found.sources]
    head = (*SOURCE_HEAD[:mean], *SOURCE_HEAD[mean + 1 :])
    sources = table(head, rows, left=("source", "raised by, most"), gap=" ")
    return f"{found.title}\n{sources}\n{found.cpu_title}\n" + table(CPU_HEAD, found.cpus)


def _activity(data: Data, top: int) -> str:
    found = activity_cells(data, top)
    if not found:
        return ""
    processes = [(_cut(row[0], 16), *row[1:]) for row in found.processes]
    calls = [(*(_cut(cell, 16) for cell in row[:-1]), _cut(row[-1], 32)) for row in found.calls]
    blocks = [found.title, table(PROCESS_HEAD, processes, left=("process",), gap=" ")]
    if calls:
        blocks.append(table(CALL_HEAD, calls, left=("system call", "errnos"), gap=" "))
    words = "; ".join(found.standing_out)
    return "\n".join([*blocks, _prose(words or "nothing", "Stands out: ", "  ")])


def _quotas(data: Data, top: int) -> str:
    rows = [
        (
            _cut(place_name(row["cgroup"]), 34),
            format_count(row["periods"]),
            format_count(row["throttled_periods"]),
            format_ratio(min(1.0, row["throttled_periods"] / row["periods"]) if row["periods"] else None),
            format_ns(row["throttled_ns"]),
        )
        for row in (data["throttling"] or ())[:top]
    ]
    if not rows:
        return ""
    return "Quotas\n" + table(("cgroup", "periods", "throttled", "share", "throttled time"), rows, left=("cgroup",))


def _events(data: Data, _top: int) -> str:
    if not data["events"]:
        return ""
    span_ns = data["interval_ns"]
    lines = [
        _prose(f"{event['kind']}: {event['text']}", f"  {clock(moment(event['time']), span_ns)}  ", " " * 12)
        for event in data["events"]
    ]
    return "\n".join(["Events", *lines])


def _of(data: Data, name: str, shown: Sequence[Any], noun: str = "") -> str:
    """How many are shown of how many."""
    every = data["counts"].get(name, len(data[name] or ()))
    return f"{len(shown)} of {every}" + (f" {plural(every, noun)}" if noun else "")


def _cut(words: str, width: int) -> str:
    return words if len(words) <= width else words[: width - 1] + "…"


def _prose(words: str, first: str = "", rest: str = "") -> str:
    lines = textwrap.wrap(words, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return "\n".join(lines) or first.rstrip()
