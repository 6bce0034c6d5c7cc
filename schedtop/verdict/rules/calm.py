"""Few slow waits, or none, and nothing else either."""

from __future__ import annotations

import shlex

import numpy as np

from schedtop.base.units import format_ns, format_round_ns
from schedtop.model.filters import Filter
from schedtop.model.rows import TASK_DTYPE, Rows, kernel_tids, rows_where, text
from schedtop.verdict.advice import typed
from schedtop.verdict.facts import Facts
from schedtop.verdict.limits import LITTLE_LONGER, QUIET_NS, WAITS_SHARE
from schedtop.verdict.parts import victims_of, waiters
from schedtop.verdict.phrases import counted, percent
from schedtop.verdict.rule import Finding
from schedtop.verdict.slow import is_enough
from schedtop.verdict.wait import explain
from schedtop.verdict.words import context_words, p99_words, up_to_words, waits_words

_ANY = typed("Still slow? See system calls, I/O (key a)", "sudo schedtop activity")
ALIKE = 0.5
"""Of several tasks that are alike each waits at least this part of what the one waits that waits most."""

_KNOWN = "See its path (key P) or activity (a)"


def rare(f: Facts) -> Finding | None:
    """Some waits are slow, too few for a common cause."""
    rows = f.slow.rows
    if f.slow.enough or not len(rows):
        return None
    worst = rows[int(np.argmax(rows["wait_ns"]))]
    longest_ns = int(worst["wait_ns"])
    headline = f"{counted(len(rows), 'slow wait')}, the longest {format_ns(longest_ns)}: too few to name a cause"
    if (f.slow.load < WAITS_SHARE and longest_ns < LITTLE_LONGER * f.frame.threshold_ns) or _of_helpers(f, rows):
        return Finding(headline, (*_asked_words(f), *p99_words(f)), *_elsewhere(f), level="ok")
    action = typed("Look at this task alone", f"schedtop task {int(worst['tid'])}")
    return Finding(
        headline, (*_asked_words(f), explain(worst, kernel=f.view.host.kernel).rstrip("."), *p99_words(f)), *action
    )


def _of_helpers(f: Facts, rows: Rows) -> bool:
    """Whether only threads of the kernel wait, behind a real-time task for example."""
    return bool(np.isin(rows["tid"], kernel_tids(f.frame.tasks)).all())


def left_out(f: Facts) -> Finding | None:
    """No wait of what the filter shows is slow, but a thread of the same process waits that it hides."""
    if not f.names_tasks or len(f.slow.rows):
        return None
    waits, processes = f.frame.slow_waits, np.unique(f.view.tasks["tgid"])
    here = np.isin(waits["tgid"], processes[processes > 0]) & (waits["wait_ns"] >= max(1, f.frame.threshold_ns))
    if shown := f.view.settings.shown_filter.cpus:
        here &= np.isin(waits["cpu"], shown)
    rows = rows_where(waits, here)
    if not is_enough(len(rows), int(rows["wait_ns"].sum()) / max(1, f.frame.interval_ns)):
        return None
    most = victims_of(rows)[0]
    own = rows_where(rows, rows["tid"] == most.tid)
    headline = f"The filter hides {most.words} of the same process, which waits {up_to_words(own)}"
    return Finding(headline, context_words(f), f"Filter by pid:{int(own['tgid'][0])} instead (key f): all its threads")


def calm(f: Facts) -> Finding | None:
    """No wait is slow."""
    if f.slow.enough or len(f.slow.rows):
        return None
    if f.p99_ns is None:
        longest = format_ns(int(f.view.tasks["max_wait_ns"].max(initial=0)))
        headline = f"No slow wait of what the filter shows; its longest is {longest}"
    elif f.p99_ns <= QUIET_NS:
        headline = f"Waits are short: p99 is {format_ns(f.p99_ns)}"
    else:
        headline = f"No wait is slow: p99 is {format_ns(f.p99_ns)}, slow is {format_round_ns(f.frame.threshold_ns)}"
    return Finding(headline, (*_asked_words(f), *context_words(f)), *_elsewhere(f))


def calm_by_sums(f: Facts) -> Finding | None:
    """Tasks are hardly delayed."""
    if f.sums is None:
        return None
    delay_ns = int(f.view.tasks["run_delay_ns"].sum())
    a_second = f"{format_ns(round(delay_ns / max(f.frame.duration_s, 1e-9)))} of run delay a second"
    which = "all tasks" if f.sums.sees_all else "all visible tasks"
    which = "what the filter shows" if f.names_tasks else which
    headline = f"Little waiting: {a_second}, of {which} together"
    return Finding(headline, (*context_words(f), *f.sums.lacks), *_elsewhere(f))


def _asked_words(f: Facts) -> tuple[str, ...]:
    """For how much of the time a task waits and runs that a filter asks about: of several the one that waits most.

    Of several alike one or the other waits most: all are told.
    """
    tasks = f.view.tasks
    tasks = rows_where(tasks, tasks["run_ns"] + tasks["run_delay_ns"] > 0)
    if not f.names_tasks or not len(tasks):
        return ()
    delays_ns, ran_ns = tasks["run_delay_ns"], tasks["run_ns"]
    if len(tasks) > 1 and len(np.unique(tasks["comm"])) == 1 and delays_ns.min() >= ALIKE * delays_ns.max():
        name, spans_ns = text(tasks["comm"][0]), max(1, f.frame.interval_ns)
        waited, busy = (percent(int(ns.sum()) / len(tasks) / spans_ns) for ns in (delays_ns, ran_ns))
        return (f"{len(tasks)} {name} wait {waited} of the time each and run {busy}",)
    most = waiters(tasks[[int(np.argmax(delays_ns))]])[0]
    ran = f.run_share(most.tid)
    return (f"{waits_words(f, most)}{f' and runs {percent(ran)}' if ran is not None else ''}",)


def _elsewhere(f: Facts) -> tuple[str, str]:
    """What keeps it that is not the scheduler: the path of the task or service that is looked at, else all activity."""
    late = "" if f.view.host.recorded_source else _selected(f) or _filtered(f)
    return typed(_KNOWN, f"sudo schedtop path {late}") if late else _ANY


def _selected(f: Facts) -> str:
    """The option for the selected task or process; empty: none is, or it is not shown any more."""
    key, kind = f.view.settings.selected_task, f.view.settings.group
    field, option = {"thread": ("tid", "--tid"), "process": ("tgid", "--pid")}.get(kind, ("", ""))
    if not key or not key[0] or not field or not np.any(f.view.tasks[field] == key[0]):
        return ""
    return f"{option} {key[0]}"


def _filtered(f: Facts) -> str:
    """The option for what the filter, or else the scope, leaves: a task, a process, a cgroup, a name; empty: more."""
    wanted = f.view.settings.filter if f.names_tasks else _scope(f.view.host.scope)
    if not wanted.names_tasks:
        return ""
    rows, cgroups = wanted.rows(f.view.tasks, "", f.frame.cgroups), f.frame.cgroups
    if wanted.tids and (tid := _only(rows, "tid")):
        return f"--tid {tid}"
    if tgid := _only(rows, "tgid"):
        return f"--pid {tgid}"
    if wanted.cgroups and (path := cgroups.get(_only(rows, "cgroup_id"), "")):
        return f"--cgroup {shlex.quote(path)}"
    comm = wanted.comms[0] if len(wanted.comms) == 1 else ""
    return f"--comm {shlex.quote(comm)}" if 0 < len(comm.encode()) < TASK_DTYPE["comm"].itemsize else ""


def _scope(words: str) -> Filter:
    try:
        return Filter.parse(words)
    except ValueError:  # a name or path with spaces in it
        return Filter()


def _only(rows: Rows, field: str) -> int:
    """The one value that all these rows have; 0: there are several, or none."""
    found = np.unique(rows[field])
    return int(found[0]) if len(found) == 1 else 0
