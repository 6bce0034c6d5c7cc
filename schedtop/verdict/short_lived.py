"""Short-lived tasks as the verdict sees them: their names, parents and share of the CPUs' work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from schedtop.base.units import format_count, format_ns, rate
from schedtop.history.view import View
from schedtop.model.rows import Rows, rows_where, text
from schedtop.model.short_lived import (
    Parent,
    by_command,
    by_exit_code,
    by_parent,
    command_name,
    ending_words,
    exit_signal,
    exit_status,
    often,
    spoken_rate,
)
from schedtop.verdict.limits import (
    LEAST_RATE,
    LEAST_WORK,
    LONGEST_MEAN_NS,
    MAIN_SHARE,
    MOST_FAIL,
    MOST_NAMES,
    NEARLY_ALL,
    NOTABLE_SHARE,
)
from schedtop.verdict.phrases import counted, percent


@dataclass(frozen=True, slots=True)
class ShortLived:
    """`words`: what they are and how many a second; `starts`: the same as a sentence about what starts them, empty if
    that is not one; `named_share`: their part of the time that the CPUs were busy; `share`: that of all short-lived
    tasks that are short; `starter`: what started most of them, if known."""

    words: str
    starts: str
    named_share: float
    share: float
    starter: Parent | None
    evidence: tuple[str, ...]

    @property
    def takes(self) -> str:
        """What starts them, or what they are, and how much of the CPUs they take."""
        share = f"{percent(self.named_share)} of CPU time"
        return f"{self.starts}: {share}" if self.starts else f"{self.words} take {share}"


def notable_short_lived(view: View) -> ShortLived | None:
    """The short-lived tasks, if they are many, short, and a notable part of the work.

    Those shown; with a filter that asks for tasks all of them, since the chosen ones may wait behind these.
    """
    frame, names_tasks = view.frame, view.settings.shown_filter.names_tasks
    every = frame.short_lived if names_tasks else view.short_lived
    rows = _short(every)
    busy_ns = 0 if "busy" in frame.unavailable else frame.total("busy_ns")
    run_ns = int(rows["run_ns"].sum())
    share = min(1.0, run_ns / busy_ns) if busy_ns else 0.0
    if share < NOTABLE_SHARE or run_ns < LEAST_WORK * frame.interval_ns * len(frame.cpus.ids):
        return None
    named, names = _named(rows)
    count = int(named["count"].sum())
    if (rate(count, frame.interval_ns) or 0.0) < LEAST_RATE:
        return None
    what = f"{spoken_rate(count, frame.interval_ns)} {_kind(named)}/s ({names})"
    parents = by_parent(named)
    whole_starter = _whole_starter(parents)
    words = f"{what} by {whole_starter}" if whole_starter else f"{what}{_by_parents(parents)}"
    starts = f"{whole_starter} starts {what}" if whole_starter else ""
    whole = int(every["count"].sum())
    ran, waited = (int(every[name].sum()) // whole for name in ("run_ns", "run_delay_ns"))
    each = f"each ran {format_ns(ran)} and waited {format_ns(waited)}"
    all_words = f"all short-lived tasks: {often(whole, frame.interval_ns)}, {each}"
    named_share = min(1.0, int(named["run_ns"].sum()) / busy_ns)
    starter = next((parent for parent in parents if parent.comm), None)
    first_runs = () if names_tasks else _first_runs(view)
    return ShortLived(words, starts, named_share, share, starter, (all_words, *first_runs, *_failures(rows)))


def _first_runs(view: View) -> tuple[str, ...]:
    """How long new tasks waited to run at all, if that is known."""
    waits = view.latency("fork")
    if "latency" in view.frame.unavailable or not waits.count:
        return ()
    p99 = format_ns(waits.percentile_ns(0.99))
    return (f"new tasks waited up to {format_ns(waits.max_ns)} for their first run, p99 {p99}",)


def _short(rows: Rows) -> Rows:
    """Those of commands that are no jobs."""
    commands = by_command(rows)
    jobs = rows_where(commands, commands["run_ns"] > LONGEST_MEAN_NS * commands["count"])
    names = set(zip(jobs["comm"].tolist(), jobs["is_thread"].tolist(), strict=True))
    own = zip(rows["comm"].tolist(), rows["is_thread"].tolist(), strict=True)
    return rows_where(rows, np.array([name not in names for name in own], bool))


def _named(rows: Rows) -> tuple[Rows, str]:
    """The command that is most of it, else what one parent started if that is most of it, else all; and its name, or
    theirs."""
    commands, whole = by_command(rows), int(rows["run_ns"].sum())
    top = commands[int(np.argmax(commands["run_ns"]))]
    if top["run_ns"] >= MAIN_SHARE * whole:
        own = rows_where(rows, (rows["comm"] == top["comm"]) & (rows["is_thread"] == top["is_thread"]))
        return own, command_name(top)
    starter = by_parent(rows)[0]
    own = rows_where(rows, rows["parent"] == starter.comm)
    if starter.comm and int(own["run_ns"].sum()) >= MAIN_SHARE * whole:
        return own, _commands(own)
    return rows, f"{counted(len(commands), 'command')}, most often {command_name(commands[0])}"


def _kind(rows: Rows) -> str:
    """What they are, many of them."""
    is_thread = rows["is_thread"] != 0
    return "threads" if is_thread.all() else "tasks" if is_thread.any() else "processes"


def _commands(rows: Rows) -> str:
    """Their names, in the same order each second; of more than three how many."""
    commands = by_command(rows)
    if len(commands) > MOST_NAMES:
        return counted(len(commands), "command")
    return ", ".join(sorted(map(command_name, commands)))


def _whole_starter(parents: Sequence[Parent]) -> str:
    """`make (1234)` if it started all but a few; else empty."""
    top = parents[0]
    if not top.comm or top.count < NEARLY_ALL * sum(parent.count for parent in parents):
        return ""
    return f"{text(top.comm)}{f' ({top.tgid})' if top.tgid else ''}"


def _by_parents(parents: Sequence[Parent]) -> str:
    """` mostly by sh (64 %)`, ` by sh, bash`; empty if not known."""
    whole = sum(parent.count for parent in parents)
    known = [parent for parent in parents if parent.comm]
    if not known or sum(parent.count for parent in known) < MAIN_SHARE * whole:
        return ""
    top = known[0]
    name = text(top.comm)
    if top.count >= MAIN_SHARE * whole:
        return f" mostly by {name} ({percent(top.count / whole)})"
    if len(known) <= MOST_NAMES:
        return f" by {', '.join(text(parent.comm) for parent in known)}"
    return f" by {len(known)} parents"


def _failures(rows: Rows) -> tuple[str, ...]:
    """That most did not end well, if so."""
    processes = rows_where(rows, rows["is_thread"] == 0)
    bad = [(code, count) for code, count in by_exit_code(processes) if code]
    whole = int(processes["count"].sum())
    if not bad or sum(count for _, count in bad) < MOST_FAIL * whole:
        return ()
    code, count = bad[0]
    how = ending_words(exit_status(code), exit_signal(code))
    return (f"most of them do not end well: {format_count(count)} {how}",)
