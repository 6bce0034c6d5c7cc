"""What `schedtop doctor` found, for people and for programs (`schedtop.doctor/1`, docs/doctor.md)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from schedtop import __version__
from schedtop.base.finding import STATES, Finding
from schedtop.base.units import iso_time, plural, printable
from schedtop.outputs.plain import json_text

SCHEMA = "schedtop.doctor/1"

WIDTH = 80

SIGNS = {"ok": "✓", "degraded": "!", "missing": "✗"}

FIRST = (
    "kernel", "sources", "user_namespace", "capabilities", "seccomp", "lockdown", "memlock", "bpf",
    "tracefs", "sched_switch", "bcc", "source",
)  # fmt: skip
"""Missing things in the order in which they are to be mended: what comes later often follows from what comes before."""

_COLOURS = {"ok": "32", "degraded": "33;1", "missing": "31;1"}
_STATE_AT, _NAME_AT, _FOUND_AT = 0, 12, 33
_LABEL = 8


@dataclass(frozen=True, slots=True)
class Examination:
    """All findings, each with its group, in order; `titles` are those of the groups."""

    host: str
    kernel: str
    time_ns: int
    titles: Mapping[str, str]
    findings: Sequence[tuple[str, Finding]]

    @property
    def status(self) -> int:
        """The exit status: 1 if something is missing without which the kernel programs do not work here."""
        return 1 if self.count("missing") else 0

    def count(self, state: str) -> int:
        """How many findings are of a state."""
        return sum(finding.state == state for _, finding in self.findings)

    @property
    def first(self) -> Finding | None:
        """What is to be mended first, `None` if nothing has to."""
        missing = {finding.name: finding for _, finding in self.findings if finding.state == "missing"}
        for name in FIRST:
            if name in missing:
                return missing[name]
        if missing:
            return next(iter(missing.values()))
        return next((one for _, one in self.findings if one.state == "degraded" and (one.repair or one.advice)), None)

    @property
    def verdict(self) -> str:
        """Whether schedtop works here, in one line."""
        if self.count("missing"):
            return "schedtop's kernel programs do not work here; it opens with what /proc tells"
        if count := self.count("degraded"):
            return f"schedtop works here, with {count} {plural(count, 'thing')} less than it could"
        return "schedtop works here, with all that it can"

    @property
    def counts(self) -> str:
        """How many are well, and which are not."""
        parts = [f"{self.count('ok')} ok"]
        for state in STATES[1:]:
            names = [finding.name for _, finding in self.findings if finding.state == state]
            parts += [f"{len(names)} {state} ({', '.join(names)})"] if names else [f"none {state}"]
        return ", ".join(parts)


def to_json(examination: Examination) -> str:
    """The contract for programs."""
    first = examination.first
    data = {
        "schema": SCHEMA,
        "tool_version": __version__,
        "host": examination.host,
        "kernel": examination.kernel,
        "time": iso_time(examination.time_ns),
        "status": examination.status,
        "verdict": examination.verdict,
        "counts": {state: examination.count(state) for state in STATES},
        "first": first.name if first else None,
        "findings": [_as_data(group, finding) for group, finding in examination.findings],
    }
    return json_text(data)


def _as_data(group: str, finding: Finding) -> dict[str, Any]:
    return {
        "group": group,
        "name": finding.name,
        "state": finding.state,
        "found": finding.found,
        "lost": finding.lost or None,
        "repair": finding.repair or None,
        "advice": finding.advice or None,
        "details": dict(finding.details),
    }


def to_text(examination: Examination, *, verbose: bool = False, coloured: bool = False) -> str:
    """The report for people, in at most 80 columns but for commands, which stay whole; `verbose`: with all fields."""
    origin = f"schedtop {__version__}  host {examination.host}  kernel {examination.kernel}"
    lines = [printable(origin), ""]
    for group, members in groupby(examination.findings, lambda pair: pair[0]):
        lines.append(_painted(examination.titles.get(group, group), "1", coloured))
        for _, finding in members:
            lines += _lines(finding, verbose, coloured)
        lines.append("")
    lines += _wrapped(examination.counts, 0)
    lines.append(_painted(f"Verdict: {examination.verdict}.", "1", coloured))
    return "\n".join([*lines, *_first(examination)]) + "\n"


def _lines(finding: Finding, verbose: bool, coloured: bool) -> Iterable[str]:
    state = f"{SIGNS[finding.state]} {finding.state}".ljust(_NAME_AT)
    name = printable(finding.name).ljust(_FOUND_AT - _NAME_AT - 1)
    found = _wrapped(finding.found, _FOUND_AT)
    yield f"{_painted(state, _COLOURS[finding.state], coloured)}{name} {found[0]}"
    yield from (" " * _FOUND_AT + line for line in found[1:])
    yield from _labelled("lost", finding.lost)
    if finding.repair:
        yield f"{' ' * _NAME_AT}{'repair':<{_LABEL}}{printable(finding.repair)}"
    yield from _labelled("" if finding.repair else "advice", finding.advice)
    if verbose:
        yield from _fields(finding)


def _labelled(label: str, text: str) -> Iterable[str]:
    for line in _wrapped(text, _NAME_AT + _LABEL) if text else ():
        yield f"{' ' * _NAME_AT}{label:<{_LABEL}}{line}"
        label = ""


def _wrapped(text: str, indent: int) -> list[str]:
    return textwrap.wrap(printable(text), WIDTH - indent, break_on_hyphens=False, break_long_words=False) or [""]


def _fields(finding: Finding) -> Iterable[str]:
    """The fields of a tracepoint's record."""
    fields = finding.details.get("fields") or ()
    if fields:
        yield f"{'':<{_NAME_AT}}{'offset':>6} {'size':>5}  field (* schedtop reads it)"
    for field in fields:
        mark = "*" if field["used"] else " "
        name = f"{mark} {field['name']}: {field['type']}"
        yield f"{'':<{_NAME_AT}}{field['offset']:>6} {field['size']:>5}  {printable(name)}"


def _first(examination: Examination) -> Iterable[str]:
    first = examination.first
    if first is None:
        return ["First: nothing has to be done."]
    optional = " (if you want it)" if first.state == "degraded" else ""
    todo = first.repair or first.advice or f"see what is said of {first.name} above"
    told = f"First{optional}: {printable(todo)}"
    if first.repair:
        return [told]  # a command stays whole
    return textwrap.wrap(told, WIDTH, break_on_hyphens=False, break_long_words=False, subsequent_indent="  ")


def _painted(text: str, code: str, coloured: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if coloured else text
