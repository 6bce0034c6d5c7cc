"""The comparison for people: text of at most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from schedtop.base.units import format_round_ns, plural
from schedtop.charts.text import distributions_text
from schedtop.outputs.diff.changes import NOTABLE, value_words
from schedtop.outputs.plain import blocks_text
from schedtop.outputs.report.words import SIGNS, clock, moment, span_words
from schedtop.outputs.tables import table
from schedtop.outputs.words import filter_words, loss_words, named

WIDTH = 80

Latency = Mapping[str, Any] | None
"""`all` of `runqueue_latency`; `None` where it is not known."""

_LABEL = 36


def to_text(data: Mapping[str, Any], top: int, latencies: tuple[Latency, Latency] = (None, None)) -> str:
    """The comparison as text, ending with a newline; each table has at most `top` rows.

    `latencies`: all waits of both sides, which are drawn over each other.
    """
    before, after = data["before"], data["after"]
    lines = [_prose(data["headline"] + "."), ""]
    for words, side in (("Before", before), ("After", after)):
        verdict = side["verdict"]
        sign = SIGNS.get(verdict["level"], "")
        lines.append(_prose(f"{verdict['headline']}.", f"{words}: {sign + ' ' if sign else ''}", "  "))
    lines += ["", *(_prose(words, "Warning: ", "  ") for words in data["warnings"])]
    blocks = ["\n".join(lines).rstrip(), _sides(before, after)]
    blocks += [distributions_text("How long waits were, as shares of all waits", *latencies)]
    changed = data["changes"][:top]
    blocks += [
        _table("p99 of all waits by host, what changed most", "p99 of all waits of ", (data["hosts"] or ())[:top])
    ]
    quiet = sum(change["score"] < NOTABLE for change in data["changes"])
    blocks.append(_table(f"What changed most (score under {NOTABLE:g}: little, {quiet} of these)", "", changed))
    blocks += [_table("Run delay by task, what changed most", "run delay of ", data["tasks"][:top])]
    blocks += [_table("Run delay by cgroup, what changed most", "run delay of ", data["cgroups"][:top])]
    blocks += [_table("Time of interrupts by source, what changed most", "time of ", (data["interrupts"] or ())[:top])]
    blocks += [_table("Activity, what changed most", "", (data["activity"] or ())[:top])]
    return blocks_text(blocks)


def _sides(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Program, host and time of both; what is the same on one line."""
    facts = []
    for one, two in zip(_facts(before), _facts(after), strict=True):
        name = one[0]
        if one[1] == two[1]:
            facts.append(_prose(one[1], f"{name:<12}", " " * 12))
        else:
            facts += [_prose(one[1], f"{name:<12}", " " * 12), _prose(two[1], f"{'':<10}> ", " " * 12)]
    return "\n".join(facts)


def _facts(side: Mapping[str, Any]) -> list[tuple[str, str]]:
    start, threshold_ns = moment(side["start_time"]), side["threshold_ns"]
    threshold = "thresholds differ" if threshold_ns is None else f"slow waits from {format_round_ns(threshold_ns)}"
    day = start.astimezone().strftime("%Y-%m-%d")
    when = f"{day} {clock(start, side['interval_ns'])} {start.astimezone().tzname()}"
    cpus = f"{side['cpus']} {plural(side['cpus'], 'CPU')}"
    return [
        ("file", side["file"]),
        ("host", f"{_hosts(side)}, kernel {side['kernel']}, {cpus}, source {side['source']}"),
        ("time", f"{when} ({side['start_time']}), {span_words(side['interval_ns'])}"),
        ("schedtop", f"{side['tool_version']}, {threshold}"),
        ("filters", filter_words(side["filters"]) or "none"),
        ("lost", loss_words(side["loss"]) or "nothing"),
    ]


def _hosts(side: Mapping[str, Any]) -> str:
    """The host, or how many and which."""
    names = side["hosts"]
    return str(side["host"]) if len(names) == 1 else f"{side['host']} ({named(names)})"


def _table(title: str, prefix: str, changes: Sequence[Mapping[str, Any]]) -> str:
    if not changes:
        return ""
    rows = [
        (
            _cut(change["label"].removeprefix(prefix)),
            value_words(change["before"], change["unit"]),
            value_words(change["after"], change["unit"]),
            _how(change),
            f"{change['score']:.1f}",
        )
        for change in changes
    ]
    return f"{title}\n" + table(("what", "before", "after", "change", "score"), rows, left=("what",))


def _how(change: Mapping[str, Any]) -> str:
    if change["status"] != "both":
        return {"appeared": "new", "vanished": "gone"}.get(change["status"], str(change["status"]))
    factor: float | None = change["factor"]
    if factor is None:
        return "-"
    return f"{factor:.2g}x" if factor < 0.95 else f"{factor:.1f}x" if factor < 100 else f"{factor:.0f}x"


def _cut(words: str) -> str:
    return words if len(words) <= _LABEL else words[: _LABEL - 1] + "…"


def _prose(words: str, first: str = "", rest: str = "") -> str:
    return "\n".join(
        textwrap.wrap(words, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    ) or first.rstrip()  # fmt: skip
