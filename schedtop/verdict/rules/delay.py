"""Much waiting without a slow wait: tasks that are delayed in short turns, and pressure."""

from __future__ import annotations

import numpy as np

from schedtop.base.units import format_ns
from schedtop.model.rows import Rows, rows_where, text
from schedtop.model.sched_class import treatment
from schedtop.verdict.advice import look_closer, typed, widen_words
from schedtop.verdict.biggest import biggest_of
from schedtop.verdict.facts import Facts
from schedtop.verdict.limits import MAIN_SHARE, ROOM
from schedtop.verdict.neighbour import Competition, left_together, neighbour_of
from schedtop.verdict.parts import Part, waiters
from schedtop.verdict.phrases import counted, percent, task_words, verb
from schedtop.verdict.rule import Finding
from schedtop.verdict.words import (
    are_pinned,
    context_words,
    delay_words,
    hidden_words,
    moved_of,
    p99_words,
    pinned_to,
    task_names,
)

_WHO = "See what had the CPU (key 3), or each wait"


def turns(f: Facts) -> Finding | None:
    """No wait is slow, but there are so many that it comes to the same: tasks that share one CPU while others idle."""
    tasks, cpu, most = f.delayed.tasks, f.delayed.cpu, _pinned_beside(f)
    if most is None or f.full or len(f.frame.cpus.ids) < 2:
        return None
    p99 = f.frame.latency.histogram(None, cpu).percentile_ns(0.99) or 0
    # With others left out the percentile would be that of other tasks.
    by_share = bool(f.slow.left_out or f.names_tasks)
    how = f"and {_wait_words(f)}" if by_share else f"(p99 {format_ns(p99)})"
    evidence, hidden = (*_turns_words(f, tasks), *context_words(f)), hidden_words(f, waiters(tasks))
    moved = _moved(f)
    if len(tasks) > 1 and (there := neighbour_of(f, moved)):
        them, (_, command) = Competition(cpu, waiters(tasks), how), widen_words(f, moved)
        return left_together(them, there, moved, command, evidence, hidden)
    how = f" {how}" if by_share or len(tasks) == 1 else f" and compete {how}"
    headline = _pinned_words(f, moved, how, most)
    return Finding(headline, evidence, *widen_words(f, moved), alternatives=hidden, victim=moved.tid)


def turns_by_sums(f: Facts) -> Finding | None:
    """Tasks that may run on one CPU only and wait for it, while another one has nothing to do."""
    most = _pinned_beside(f)
    if most is None or f.sums is None:
        return None
    evidence = (*delay_words(f), *context_words(f), *f.sums.lacks)
    moved = _moved(f)
    headline = _pinned_words(f, moved, f" and {_wait_words(f)}", most)
    return Finding(headline, evidence, *widen_words(f, moved), level=f.level)


def _moved(f: Facts) -> Part:
    """Of all that is pinned to that CPU and waits, the one to move: it may wait less than the delayed tasks."""
    return moved_of(f, waiters(f.delayed.tasks), pinned_to(f, f.delayed.cpu))


def _pinned_beside(f: Facts) -> int | None:
    """The other CPU with most room, if all delayed tasks may run on one CPU only."""
    idle = {cpu: ratio for cpu, ratio in f.idle.items() if cpu != f.delayed.cpu and ratio >= ROOM}
    if not len(f.delayed.tasks) or not idle or not (f.delayed.tasks["allowed_cpus"] == 1).all():
        return None
    return max(idle, key=lambda cpu: idle[cpu])


def _pinned_words(f: Facts, moved: Part, how: str, most: int) -> str:
    tasks = are_pinned(waiters(f.delayed.tasks), moved)
    return f"CPU {f.delayed.cpu}: {tasks} to it{how}; CPU {most} is {percent(f.idle[most])} idle"


def waiting(f: Facts) -> Finding | None:
    """The same without such a simple reason."""
    if not len(f.delayed.tasks):
        return None
    tasks = f.delayed.tasks
    where = "" if f.queues_unknown else f"CPU {f.delayed.cpu}: "
    headline = f"{where}{task_names(waiters(tasks))} {_wait_words(f)}, in short turns{_why_words(f, tasks)}"
    evidence = (*_turns_words(f, tasks), *p99_words(f), *context_words(f))
    return Finding(headline, evidence, *typed(_WHO, look_closer(f)))


def waiting_by_sums(f: Facts) -> Finding | None:
    """Tasks are delayed, for whatever reason."""
    if not len(f.delayed.tasks) or f.sums is None:
        return None
    headline = f"CPU {f.delayed.cpu}: {task_names(waiters(f.delayed.tasks))} {_wait_words(f)}"
    evidence = (*delay_words(f), *biggest_of(f.tasks_there).evidence, *context_words(f), *f.sums.lacks)
    action, command = typed("See behind which task, with BPF", "sudo schedtop")
    return Finding(headline, evidence, action, command, level=f.level)


def _pressure(f: Facts) -> float | None:
    """For how much of the time some task waits, if that is much. It is the host's: of chosen tasks it says nothing."""
    return None if f.chosen else f.pressure


def pressure(f: Facts) -> Finding | None:
    """The kernel says that tasks wait, and no wait is slow."""
    share = _pressure(f)
    if f.slow.enough or share is None:
        return None
    headline = f"Some task waits {percent(share)} of the time (PSI), but no wait is slow"
    return Finding(headline, p99_words(f), *typed(_WHO, look_closer(f)))


def pressure_by_sums(f: Facts) -> Finding | None:
    """The kernel says that tasks wait, and none of them waits for much of the time."""
    share = _pressure(f)
    if f.sums is None or share is None:
        return None
    which = "none of them for much of it" if f.sums.sees_all else "none that is visible for much of it"
    headline = f"Some task waits {percent(share)} of the time (PSI), but {which}"
    evidence = (*delay_words(f), *context_words(f), *f.sums.lacks)
    return Finding(headline, evidence, *typed("See each wait, with BPF", "sudo schedtop"))


def _wait_words(f: Facts) -> str:
    """How much of the time the delayed tasks wait, each."""
    return f"{verb(len(f.delayed.tasks), 'waits', 'wait')} {percent(f.delayed.share)} of the time"


def _turns_words(f: Facts, tasks: Rows) -> tuple[str, ...]:
    """How much they wait, and which task had the CPU for most of it."""
    waited = int(tasks["run_delay_ns"].sum()) / max(1, f.frame.interval_ns)
    few = len(f.slow.rows)
    slow = f"{counted(few, 'wait')} {verb(few, 'is', 'are')} slow" if few else "no wait is slow"
    parts = [f"{waited:.1f} tasks wait on average, {slow}"]
    if (row := _most_blocking(f, tasks)) is not None:
        victim = task_words(int(row["victim_tid"]), row["victim_comm"], treatment(row, "victim_").words)
        blocked = format_ns(int(row["blocked_ns"]))
        parts.append(f"{_other_words(row)} had the CPU for {blocked} of it while {victim} waited")
    return tuple(parts)


def _why_words(f: Facts, tasks: Rows) -> str:
    """That there is more to run than CPUs, or else behind which task they wait, if that is mostly one."""
    if f.full:
        return ": all CPUs are busy"
    row = _most_blocking(f, tasks)
    if row is None or int(row["other_tid"]) in tasks["tid"]:  # they wait for each other
        return ""
    same = (f.view.pairs["other_tid"] == row["other_tid"]) & (f.view.pairs["other_interrupt"] == row["other_interrupt"])
    behind = int(f.view.pairs["blocked_ns"][same & np.isin(f.view.pairs["victim_tid"], tasks["tid"])].sum())
    mostly = behind >= MAIN_SHARE * int(tasks["run_delay_ns"].sum())
    return f", most of it behind {_other_words(row)}" if mostly else ""


def _most_blocking(f: Facts, tasks: Rows) -> np.void | None:
    """The pair of one of these tasks and of what had its CPU for longest while it waited; `None`: nothing is known."""
    pairs = rows_where(
        f.view.pairs, np.isin(f.view.pairs["victim_tid"], tasks["tid"]) & (f.view.pairs["blocked_ns"] > 0)
    )
    return pairs[int(np.argmax(pairs["blocked_ns"]))] if len(pairs) else None


def _other_words(row: np.void) -> str:
    return text(row["other_interrupt"]) or task_words(
        int(row["other_tid"]), row["other_comm"], treatment(row, "other_").words
    )
