"""Several recordings for people: text of at most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from schedtop.base.units import (
    format_count,
    format_counted,
    format_ns,
    format_ratio,
    format_round_ns,
    format_short_ns,
    plural,
)
from schedtop.outputs.plain import blocks_text
from schedtop.outputs.report.words import SIGNS, Data, cause_name, clock, moment, span_words, task_name
from schedtop.outputs.scheduler.text import latency_table
from schedtop.outputs.tables import table
from schedtop.outputs.words import loss_words, named

WIDTH = 80

HOST_HEAD = ("host", "verdict", "p99", "max", "slow", "busy", "steal", "time")
SERVICE_HEAD = ("service", "hosts", "tasks", "run delay", "run", "longest", "worst host", "delay/s")
BLAME_HEAD = ("victim", "blocker", "hosts", "time", "waits", "worst host", "time/s")


def to_text(data: Data, top: int) -> str:
    """The fleet as text, ending with a newline; tables have at most `top` rows."""
    parts: tuple[Callable[[Data, int], str], ...] = (
        *(_head, _verdicts, _hosts, latency_table_of, _services, _blame, _slow_waits, _how),
    )
    return blocks_text(part(data, top) for part in parts)


def fact_words(data: Data) -> list[tuple[str, str]]:
    """What all is made of: names and values."""
    counts, begin, end = data["counts"], moment(data["start_time"]), moment(data["end_time"])
    boots = f" ({counts['boots']} boots)" if counts["boots"] != counts["hosts"] else ""
    hosts = f"{format_counted(counts['hosts'], 'host')}{boots}, {format_counted(counts['files'], 'recording')}"
    local, until = begin.astimezone(), end.astimezone()
    threshold = "(thresholds differ)" if data["threshold_ns"] is None else _from(data["threshold_ns"])
    facts = [
        ("hosts", hosts),
        ("time", f"{local:%Y-%m-%d %H:%M:%S} to {until:%Y-%m-%d %H:%M:%S} {local.tzname()}"),
        ("host time", f"{span_words(data['host_time_ns'])}, the lengths of all recordings added up"),
        ("slow waits", threshold),
        ("lost", loss_words(data["loss"]) or "nothing"),
        *(("warning", words) for words in data["warnings"]),
        *(("left out", f"{one['file']}: {one['reason']}") for one in data["left_out"]),
    ]
    for one in data["differences"]:
        values = "; ".join(f"{value['value']} ({named(value['hosts'])})" for value in one["values"])
        facts.append(("differs", f"{one['setting']}: {values}"))
    return facts


def summary_words(data: Data) -> list[str]:
    """Sums and means in a few sentences."""
    totals, latency = data["totals"], data["runqueue_latency"]["all"]
    rates = [format_count(_whole(totals[f"{name}_per_second"])) for name in ("switches", "involuntary_switches")]
    sentences = [f"{rates[0]} context switches a second and host, {rates[1]} of them involuntary"]
    if latency and latency["count"]:
        sentences.append(
            f"of {format_counted(latency['count'], 'wait')} for a CPU on all hosts half took up to "
            f"{format_ns(latency['p50_ns'])}, 99 % up to {format_ns(latency['p99_ns'])}, and the longest took "
            f"{format_ns(latency['max_ns'])}"
        )
    slow = data["counts"]["slow_waits"]
    if slow is not None:
        sentences.append(f"{format_count(slow) if slow else 'no'} {plural(slow, 'slow wait')}")
    ratios = (f"busy {format_ratio(totals['busy_ratio'])}", f"steal {format_ratio(totals['steal_ratio'])}")
    return [*(one[:1].upper() + one[1:] for one in sentences), f"CPUs of all hosts: {', '.join(ratios)}"]


def host_cells(data: Data, top: int) -> list[tuple[str, ...]]:
    """Rows of HOST_HEAD."""
    return [
        (
            host["host"],
            f"{SIGNS.get(host['verdict']['level'], '')} {host['verdict']['rule']}".strip(),
            *(format_short_ns(host[name]) for name in ("p99_ns", "max_ns")),
            format_count(host["slow_waits"]),
            *(format_ratio(host["totals"][name]) for name in ("busy_ratio", "steal_ratio")),
            span_words(host["interval_ns"]),
        )
        for host in data["hosts"][:top]
    ]


def service_cells(data: Data, top: int) -> list[tuple[str, ...]]:
    """Rows of SERVICE_HEAD."""
    return [
        (
            row["service"] or "(unknown)",
            str(row["hosts"]),
            format_count(row["tasks"]),
            *(format_short_ns(row[name]) for name in ("run_delay_ns", "run_ns", "max_wait_ns")),
            row["worst_host"],
            format_short_ns(row["worst_ns_per_second"]),
        )
        for row in data["services"][:top]
    ]


def blame_cells(data: Data, top: int) -> list[tuple[str, ...]]:
    """Rows of BLAME_HEAD."""
    return [
        (
            row["victim"] or "(unknown)",
            row["blocker"] or "(unknown)",
            str(row["hosts"]),
            format_short_ns(row["blocked_ns"]),
            format_count(row["count"]),
            row["worst_host"],
            format_short_ns(row["worst_ns_per_second"]),
        )
        for row in data["blame"][:top]
    ]


def titles(data: Data, top: int) -> dict[str, str]:
    """What the tables are, each with how many rows there are of how many."""
    counts = data["counts"]
    return {
        "hosts": f"Hosts, the worst first: {_of(data['hosts'], counts['boots'], top)}",
        "services": f"Services by run delay: {_of(data['services'], counts['services'], top)}",
        "blame": f"Blame, which service had the CPU: {_of(data['blame'], counts['blame'], top)} pairs",
        "slow_waits": f"Slowest waits: {_of(data['slow_waits'], counts['slow_waits'], top)}",
    }


def how_words() -> str:
    """What is summed and what is the worst."""
    return (
        "Sums: waits (percentiles are those of the waits of all hosts together), slow waits, services, blame, loss. "
        "Means: rates a second and host; busy and steal, where each CPU counts the same. Worst: the verdict of a host "
        "is that of its worst recording; hosts are in order of level, then p99"
    )


def latency_table_of(data: Data, _top: int) -> str:
    """The percentiles of all hosts together."""
    return latency_table(data)


def wait_words(wait: Mapping[str, Any]) -> str:
    """A slow wait in words, without its time."""
    told = wait.get("words") or f"{task_name(wait)} waited {format_ns(wait['wait_ns'])} for CPU {wait['cpu']}."
    return f"{format_ns(wait['wait_ns'])}, {cause_name(wait)}. {told}"


def wait_place(wait: Mapping[str, Any], data: Data) -> str:
    """Host and time of a slow wait."""
    return f"{wait['host']}, {clock(moment(wait['time']), data['host_time_ns'])}"


def _head(data: Data, _top: int) -> str:
    facts = fact_words(data)
    width = max(len(name) for name, _ in facts) + 2
    lines = [_prose(value, f"{name:<{width}}", " " * width) for name, value in facts]
    return "\n".join([f"schedtop report of {format_counted(data['counts']['files'], 'recording')}", *lines])


def _verdicts(data: Data, _top: int) -> str:
    lines = [_prose(f"{data['headline']}.", "", "  ")]
    for row in data["verdicts"]:
        names, sign = row["hosts"], SIGNS.get(row["level"], "")
        first = f"  {sign:<2} {row['rule']}: "
        lines.append(_prose(f"{format_counted(len(names), 'host')} ({named(names)})", first, "     "))
    return "\n".join([*lines, "", _prose(". ".join(summary_words(data)) + ".")])


def _hosts(data: Data, top: int) -> str:
    rows = [(_cut(row[0], 20), _cut(row[1], 18), *row[2:]) for row in host_cells(data, top)]
    return f"{titles(data, top)['hosts']}\n" + table(HOST_HEAD, rows, left=("host", "verdict"), gap=" ")


def _services(data: Data, top: int) -> str:
    rows = [(_cut(row[0], 22), *row[1:6], _cut(row[6], 12), row[7]) for row in service_cells(data, top)]
    if not rows:
        return ""
    return f"{titles(data, top)['services']}\n" + table(SERVICE_HEAD, rows, left=("service", "worst host"), gap=" ")


def _blame(data: Data, top: int) -> str:
    rows = [(_cut(row[0], 20), _cut(row[1], 20), *row[2:5], _cut(row[5], 12), row[6]) for row in blame_cells(data, top)]
    if not rows:
        return ""
    left = ("victim", "blocker", "worst host")
    return f"{titles(data, top)['blame']}\n" + table(BLAME_HEAD, rows, left=left, gap=" ")


def _slow_waits(data: Data, top: int) -> str:
    waits = data["slow_waits"][:top]
    if not waits:
        return ""
    lines = [_prose(wait_words(wait), f"  {wait_place(wait, data)}  ", " " * 4) for wait in waits]
    return "\n".join([titles(data, top)["slow_waits"], *lines])


def _how(_data: Data, _top: int) -> str:
    return _prose(f"{how_words()}.")


def _of(rows: Sequence[Any], whole: int | None, top: int) -> str:
    shown = min(len(rows), top)
    return str(shown) if whole is None or whole == shown else f"{shown} of {whole}"


def _from(threshold_ns: int) -> str:
    return f"{format_round_ns(threshold_ns)} and longer"


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _cut(words: str, width: int) -> str:
    return words if len(words) <= width else words[: width - 1] + "…"


def _prose(words: str, first: str = "", rest: str = "") -> str:
    lines = textwrap.wrap(words, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return "\n".join(lines) or first.rstrip()
