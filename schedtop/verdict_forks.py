"""Short-lived tasks as the verdict sees them: who they are, and how much of the CPUs' work they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from schedtop.blame import percent
from schedtop.facts import MAIN_SHARE, Facts
from schedtop.rows import Rows, take_rows, text
from schedtop.short_lived import (
    by_command,
    by_exit_code,
    by_parent,
    command_name,
    ending_words,
    exit_signal,
    exit_status,
    often,
)
from schedtop.units import NS_PER_MS, format_count, format_ns, format_rate, rate

FORK_SHARE = 0.4  # of all the work of the CPUs: what starts them has nearly as much again, for forking and waiting
NOTABLE_SHARE = 0.2  # worth a word beside another cause
LEAST_LOAD = 0.1  # of the CPUs' time: less is little work, whoever does it
LEAST_RATE = 20.0  # a second: fewer are jobs
LONGEST_MEAN_NS = 50 * NS_PER_MS  # who runs longer is worth a process: a compiler


@dataclass(frozen=True, slots=True)
class Forks:
    """`words`: who they are and how many a second; `share`: of the time that the CPUs were busy."""

    words: str
    share: float
    evidence: tuple[str, ...]


def forks(f: Facts) -> Forks | None:
    """The short-lived tasks shown, if they are many, short, and a notable part of the work."""
    rows, frame = f.view.short_lived, f.frame
    busy_ns = 0 if "busy" in frame.unavailable else frame.total("busy_ns")
    count, run_ns = int(rows["count"].sum()), int(rows["run_ns"].sum())
    per_s = rate(count, frame.interval_ns) or 0.0
    if not busy_ns or per_s < LEAST_RATE or run_ns > LONGEST_MEAN_NS * count:
        return None
    share = min(1.0, run_ns / busy_ns)
    if share < NOTABLE_SHARE or run_ns < LEAST_LOAD * frame.interval_ns * len(frame.cpus.ids):
        return None
    waited = int(rows["run_delay_ns"].sum()) // count
    evidence = (f"{format_rate(per_s)} a second ran {format_ns(run_ns // count)} and waited {format_ns(waited)} each",)
    return Forks(_names(rows, frame.interval_ns), share, evidence + _failures(rows))


def forks_words(f: Facts) -> tuple[str, ...]:
    """The same beside another cause."""
    found = forks(f)
    return () if found is None else (f"short-lived: {found.words} took {percent(found.share)} of the busy time",)


def _names(rows: Rows, interval_ns: int) -> str:
    """The command that is most of it, else who started most of it, else how many there are."""
    commands, whole = by_command(rows), int(rows["run_ns"].sum())
    top = commands[int(np.argmax(commands["run_ns"]))]
    if top["run_ns"] >= MAIN_SHARE * whole:
        own = rows[(rows["comm"] == top["comm"]) & (rows["is_thread"] == top["is_thread"])]
        name = f"{command_name(top)}{' threads' if top['is_thread'] else ''}"
        return f"{name} {_often(own, interval_ns)}{_starter(own)}"
    starters = by_parent(rows)
    for starter in starters[:1]:
        own = take_rows(rows, np.flatnonzero(rows["parent"] == starter.comm))
        if starter.comm and int(own["run_ns"].sum()) >= MAIN_SHARE * whole:
            return f"{len(by_command(own))} commands {_often(own, interval_ns)}{_starter(own)}"
    return f"{len(commands)} commands {_often(rows, interval_ns)}, most of them {command_name(commands[0])},"


def _often(rows: Rows, interval_ns: int) -> str:
    return often(int(rows["count"].sum()), interval_ns)


def _starter(rows: Rows) -> str:
    """` by make (1234)`, if one of that name started most of them."""
    top = by_parent(rows)[0]
    if not top.comm or top.count < MAIN_SHARE * int(rows["count"].sum()):
        return ""
    return f" by {text(top.comm)}{f' ({top.tgid})' if top.tgid else ''}"


def _failures(rows: Rows) -> tuple[str, ...]:
    """That most did not end well, if so."""
    processes = take_rows(rows, np.flatnonzero(rows["is_thread"] == 0))
    bad = [(code, count) for code, count in by_exit_code(processes) if code]
    whole = int(processes["count"].sum())
    if not bad or sum(count for _, count in bad) < 0.5 * whole:
        return ()
    code, count = bad[0]
    how = ending_words(exit_status(code), exit_signal(code))
    return (f"most of them do not end well: {format_count(count)} {how}",)
