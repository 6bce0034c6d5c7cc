"""A task that waits and still does not run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from schedtop.base.units import format_ns
from schedtop.model.containers import cgroup_label
from schedtop.model.rows import Rows
from schedtop.model.sched_class import treatment
from schedtop.verdict.advice import UNLOAD_SCHED_EXT, move_words, renice_words, typed
from schedtop.verdict.facts import Facts
from schedtop.verdict.limits import IDLE, MAIN_FACTOR, STARVED_NS
from schedtop.verdict.parts import Part, longest_runner
from schedtop.verdict.phrases import task_words
from schedtop.verdict.rule import Finding
from schedtop.verdict.slow import asks_to_wait
from schedtop.verdict.words import context_words


def starving(f: Facts) -> Finding | None:
    """A task waits on and on: its wait has not ended, so that no slow wait tells of it."""
    waiting = f.view.tasks["waiting_ns"]
    starved = f.view.tasks[waiting >= max(STARVED_NS, f.frame.threshold_ns)]
    within = int(np.minimum(starved["waiting_ns"], f.frame.interval_ns).sum())
    if not len(starved) or within <= MAIN_FACTOR * f.slow.total_ns or "tasks" in f.frame.unavailable:
        return None
    row = starved[int(np.argmax(starved["waiting_ns"]))]
    task = task_words(int(row["tid"]), row["comm"], treatment(row).words)
    waited = format_ns(int(row["waiting_ns"]))
    evidence = (*_evidence(f, starved, row), *context_words(f))
    if f.queues_unknown:
        headline = f"{task} has been waiting for {waited} and still does not run"
        reason = "Compare without the loaded scheduler"
        return Finding(headline, evidence, *typed(reason, UNLOAD_SCHED_EXT))
    if f.idle.get(int(row["last_cpu"]), 0.0) >= IDLE or f.frame.loss.tasks_untracked:
        headline = f"{task} seems to have waited for {waited}, but its CPU was idle or not every task was seen"
        action, command = typed("Compare with the kernel's numbers", f"cat /proc/{int(row['tid'])}/schedstat")
        return Finding(headline, evidence, action, command, level="unknown")
    headline = f"{task} has been waiting for {waited} and still does not run"
    level = "notice" if asks_to_wait(starved).all() else ""
    rival = next(iter(_rivals(f, row)), None)
    if rival:
        action, command = typed("Let the one that runs there wait", renice_words(rival))
        return Finding(headline, evidence, action, command, level)
    elsewhere = move_words(f, int(row["tid"]), int(row["last_cpu"]))
    action, command = typed("Move it to another CPU", elsewhere)
    return Finding(headline, evidence, action, command, level)


def _rivals(f: Facts, row: np.void) -> list[Part]:
    """The task that ran longest among those last seen where a starved one waits."""
    there = (f.frame.tasks["last_cpu"] == row["last_cpu"]) & (f.frame.tasks["tid"] != row["tid"])
    return longest_runner(f.frame.tasks[there])


def _evidence(f: Facts, starved: Rows, row: np.void) -> Iterator[str]:
    """Others like it, the quota above it, and the task that ran longest where it waits."""
    if len(starved) > 1:
        yield f"tasks that wait like it: {len(starved) - 1} more"
    if quota := f.quota_above(int(row["cgroup_id"])):
        yield f"its group {cgroup_label(quota[0])} is throttled"
    if f.queues_unknown:
        return
    cpu = int(row["last_cpu"])
    for each in _rivals(f, row):
        yield f"{each.words} ran {format_ns(each.ns)} and was last seen on CPU {cpu}, too"
