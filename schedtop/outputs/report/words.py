"""What a report says in words and short cells, the same as text and as HTML. All of it is made from plain objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from schedtop.base.units import (
    NS_PER_S,
    format_bytes,
    format_count,
    format_counted,
    format_ns,
    format_ratio,
    format_round_ns,
    format_short_ns,
    plural,
    rate,
)
from schedtop.model.containers import cgroup_label
from schedtop.outputs.words import by_reason, filter_words, loss_words

SIGNS = {"alarm": "!!", "notice": "!", "unknown": "?", "ok": ""}
"""A verdict's level as a sign."""

HOUR_NS = 3600 * NS_PER_S

Data = Mapping[str, Any]


def moment(text: str) -> datetime:
    """A time of a report, in UTC."""
    return datetime.fromisoformat(text)


def end_of(data: Data) -> datetime:
    """When the interval, or a piece of it, ended."""
    start = moment(data["start_time"])
    return moment(data["end_time"]) if data.get("end_time") else start + timedelta(microseconds=_us(data))


def clock(time: datetime, span_ns: int) -> str:
    """A local time, as exactly as a span of that length needs it."""
    local = time.astimezone()
    if span_ns > 20 * HOUR_NS:
        return local.strftime("%m-%d %H:%M")
    return local.strftime("%H:%M:%S") if span_ns >= 3 * NS_PER_S else local.strftime("%H:%M:%S.%f")[:-5]


def when_words(data: Data) -> str:
    """From when to when, in local time and in UTC, and how long."""
    start, end = moment(data["start_time"]), end_of(data)
    local, until = start.astimezone(), end.astimezone()
    parts = [f"{local:%Y-%m-%d %H:%M:%S} to {_until(local, until)} {local.tzname()}"]
    if local.utcoffset():
        parts = [f"{parts[0]} ({start.astimezone(UTC):%H:%M:%S} to {_until(start, end)} UTC)"]
    many = data["intervals"]
    parts.append(f"{span_words(data['interval_ns'])}{f' in {many} intervals' if many > 1 else ''}")
    return ", ".join(parts)


def span_words(span_ns: int) -> str:
    """A length of time as people say it: `15.0 s`, `10 min 3 s`, `2 h 5 min`."""
    seconds = round(span_ns / NS_PER_S)
    if seconds < 100:
        return format_ns(span_ns)
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds % 60} s"


def origin_words(data: Data) -> list[tuple[str, str]]:
    """Program, host and options: names and values, in order."""
    recording = data["recording"] or {}
    version = data["tool_version"]
    recorded = recording.get("tool_version")
    facts = [
        ("host", data["host"]),
        ("kernel", data["kernel"]),
        ("time", when_words(data)),
        ("source", f"{source_words(data)}, {len(data['cpus'])} {plural(len(data['cpus']), 'CPU')}"),
        ("version", version if recorded in (None, version) else f"{version}, recorded by {recorded}"),
        ("slow waits", f"{format_round_ns(data['threshold_ns'])} and longer"),
        ("filters", filter_words(data["filters"]) or "none"),
    ]
    if set(recording.get("filters", "").split()) - set(filter_words(data["filters"]).split()):
        facts.append(("recorded with", recording["filters"]))
    if recording.get("triggers"):
        facts.append(("triggers", "; ".join(recording["triggers"])))
    if recording.get("from") or recording.get("to"):
        facts.append(("part", f"from {recording['from'] or 'the beginning'} to {recording['to'] or 'the end'}"))
    facts.append(("lost", loss_words(data["loss"]) or "nothing"))
    facts += [("damage", recording["damage"])] if recording.get("damage") else []
    facts += [("ended", recording["ended"])] if recording.get("ended") not in (None, "done") else []
    facts += [("note", note) for note in recording.get("notes", ())]
    return facts + [("not available", f"{parts}: {why}") for parts, why in by_reason(data["unavailable"])]


def source_words(data: Data) -> str:
    """Where the data is from."""
    recorded = data.get("recorded_source")
    return f"{data['source']} of {recorded}" if recorded else str(data["source"])


def summary_words(data: Data) -> list[str]:
    """The whole in a few sentences, beside the verdict."""
    totals, span_ns = data["totals"], data["interval_ns"]
    switches, involuntary = (rate(totals[name], span_ns) for name in ("switches", "involuntary_switches"))
    first = f"{format_count(switches)} context switches a second"
    if involuntary is not None and switches:
        first += f", {format_count(involuntary)} of them involuntary ({format_ratio(min(1, involuntary / switches))})"
    sentences = [first]
    latency = data["runqueue_latency"]["all"]
    if latency and latency["count"]:
        sentences.append(
            f"of {format_counted(latency['count'], 'wait')} for a CPU half took up to {format_ns(latency['p50_ns'])}, "
            f"99 % up to {format_ns(latency['p99_ns'])}, and the longest took {format_ns(latency['max_ns'])}"
        )
    slow = data["counts"].get("slow_waits", len(data["slow_waits"] or ()))
    if data["slow_waits"] is not None:
        sentences.append(f"{format_count(slow) if slow else 'no'} {plural(slow, 'slow wait')}")
    if data["pressure"]:
        sentences.append(
            f"some task waited for {format_ratio(min(1, data['pressure']['some_ns'] / span_ns))} of the time"
        )
    ratios = [f"busy {format_ratio(totals['busy_ratio'])}", f"steal {format_ratio(totals['steal_ratio'])}"]
    return [*(sentence[:1].upper() + sentence[1:] for sentence in sentences), f"CPUs: {', '.join(ratios)}"]


def worst_words(data: Data) -> str:
    """When it was worst, and how; empty if that says no more than the whole."""
    worst = data["worst"]
    if not worst:
        return ""
    begin, end = (clock(time, data["interval_ns"]) for time in (moment(worst["start_time"]), end_of(worst)))
    parts = [f"p99 {format_ns(worst['p99_ns'])}", f"longest {format_ns(worst['max_ns'])}"]
    parts += (
        [f"{format_count(worst['slow_waits'])} slow wait{'s' * (worst['slow_waits'] != 1)}"]
        if worst["slow_waits"] is not None
        else []
    )
    same = worst["verdict"]["headline"] == data["verdict"]["headline"]
    told = "the same verdict" if same else worst["verdict"]["headline"]
    return f"Worst from {begin} to {end} ({', '.join(parts)}): {told}"


def task_name(task: Data | None) -> str:
    """A task by name and tid; what has no tid (a source of interrupts) by its name."""
    if not task:
        return "-"
    return f"{task['comm']} ({task['tid']})" if task["tid"] is not None else str(task["comm"])


def place_name(path: str | None) -> str:
    """A cgroup's or container's short name."""
    return cgroup_label(path) if path else "-"


def cause_name(wait: Data) -> str:
    """The cause of a slow wait with what it rests on."""
    return f"{wait['cause']}, {wait['evidence']}" if wait["evidence"] else str(wait["cause"])


def overhead_words(data: Data) -> str:
    """What schedtop itself cost."""
    cost = data["overhead"]
    parts = [f"{format_ratio(cost['cpu_ratio'])} of one CPU", f"{format_bytes(cost['rss_bytes'])} of memory"]
    if (per_switch := cost["bpf_ns_per_switch"]) is not None:
        parts.append(f"{format_ns(per_switch)} a switch in the kernel")
    if (caused_ns := cost.get("longest_caused_wait_ns")) is not None:  # old snapshots lack it
        parts.append(f"others delayed by at most {format_ns(caused_ns)}")
    return ", ".join(parts)


def time_cells(row: Data, span_ns: int) -> dict[str, str]:
    """A row over time as short cells by column."""
    interval_ns = row["interval_ns"]
    throttled = rate(row["throttled_ns"], interval_ns)
    verdict = row.get("verdict")
    return {
        "time": clock(moment(row["start_time"]), span_ns),
        "switch/s": format_count(rate(row["switches"], interval_ns)),
        "invol/s": format_count(rate(row["involuntary_switches"], interval_ns)),
        "p50": format_short_ns(row["p50_ns"]),
        "p99": format_short_ns(row["p99_ns"]),
        "max": format_short_ns(row["max_ns"]),
        "slow": format_count(row["slow_waits"]),
        "steal": _percent(row["steal_ratio"]),
        "quota": "-" if throttled is None else f"{format_short_ns(throttled)}/s" if throttled else "0",
        "PSI": _percent(None if row["pressure_ns"] is None else min(1.0, row["pressure_ns"] / interval_ns)),
        "lost": format_count(row["lost"]),
        "verdict": f"{SIGNS.get(verdict['level'], '')} {verdict['rule']}".strip() if verdict else "",
    }


def useful_columns(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """The columns that say anything in any row; those that every reader looks for stay."""
    optional = {"steal", "quota", "PSI", "lost", "verdict"}
    return [
        name
        for name in (rows[0] if rows else ())
        if name not in optional or any(row[name] not in ("-", "0", "0%", "") for row in rows)
    ]


def _percent(ratio: float | None) -> str:
    return format_ratio(ratio).replace(" ", "")


def _us(data: Data) -> int:
    return int(data["interval_ns"]) // 1000


def _until(start: datetime, end: datetime) -> str:
    return f"{end:%H:%M:%S}" if end.date() == start.date() else f"{end:%Y-%m-%d %H:%M:%S}"
