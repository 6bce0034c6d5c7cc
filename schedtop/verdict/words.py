"""Words that the rules of the verdict share: slow waits, blockers, idle CPUs and what else is notable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from schedtop.base.cpu_lists import cpus_text
from schedtop.base.units import format_ns
from schedtop.model.containers import cgroup_label, is_within
from schedtop.model.rows import Rows, take_rows, text
from schedtop.verdict.facts import MAIN_SHARE, MISSING_SHARE, Facts
from schedtop.verdict.short_lived import forks_words
from schedtop.verdict.wait import KNOWN_RATIO, Part, all_blockers_of, percent, task_words, victims_of

COVERED_SHARE = 0.5  # of less than half of a wait, who had the CPU need not be typical
VICTIM_SHARE = 0.1  # who waited for less of it is a bystander
FEW_VICTIMS = 2  # so many have names in the headline
STEAL_NOTICE, STEAL_ALARM = 0.05, 0.10  # as the header marks it (panes/levels.py)
IDLE = 0.1  # could have taken work
DELAYED_SHARE = 0.1  # a task that waits a tenth of the time notices
DELAY_LOAD = 0.2  # and so much waiting altogether is more than wakeups make
QUOTA_NOTICE = 0.1  # who runs out in fewer of its periods seldom notices


def context_words(f: Facts, *said: str) -> tuple[str, ...]:
    """What else is notable and has not been said."""
    parts = []
    if "steal" not in said and f.steal is not None and f.steal >= STEAL_NOTICE:
        parts.append(f"steal is {percent(f.steal)}")
    if "quotas" not in said and f.quotas and f.quotas[0][1] >= QUOTA_NOTICE:
        name = cgroup_label(f.quotas[0][0]) if f.quotas[0][0] else "a cgroup"
        parts.append(f"{name} is throttled in {percent(f.quotas[0][1])} of its periods")
    parts.extend(() if "forks" in said else forks_words(f))
    if 0 < f.missing <= MISSING_SHARE:
        parts.append(f"{percent(f.missing)} of the slow waits were not seen")
    return tuple(parts)


def slow_words(f: Facts, rows: Rows) -> tuple[str, ...]:
    """How many slow waits these are (of one cause, or all), the longest, and their share of the slow waiting time."""
    if not len(rows):
        return ()
    longest = format_ns(int(rows["wait_ns"].max()))
    share = int(rows["wait_ns"].sum()) / max(1, sum(f.weights.values()))
    count = f"{len(rows)} slow wait{'s' if len(rows) != 1 else ''}"
    which = " of this cause" if len(rows) < len(f.waits) else ""
    return (f"{count}{which}, the longest {longest}, {percent(share)} of the slow waiting time",)


def calm_words(f: Facts) -> tuple[str, ...]:
    """How many slow waits there are, and the 99th percentile."""
    return (f"slow waits: {len(f.waits) or 'none'}", *p99_words(f))


def p99_words(f: Facts) -> tuple[str, ...]:
    """The 99th percentile of all waits, if it is known."""
    return () if f.p99_ns is None else (f"p99 is {format_ns(f.p99_ns)}",)


def blocker_words(rows: Rows) -> tuple[str, ...]:
    """Who had the CPU most, if that is known of enough."""
    whole = int(rows["wait_ns"].sum())
    covered = min(1.0, int(rows["covered_ns"].sum()) / max(1, whole))
    if covered < COVERED_SHARE:
        return (f"who had the CPU is known of {percent(covered)} only",)
    return tuple(
        f"{part.words} had the CPU for {percent(part.ns / whole)} of these waits" for part in all_blockers_of(rows)[:1]
    )


def main_blocker(rows: Rows) -> Part | None:
    """Who had the CPU for most of what is known of these waits, if one did and enough is known."""
    whole, covered = int(rows["wait_ns"].sum()), int(rows["covered_ns"].sum())
    top = next(iter(all_blockers_of(rows)), None)
    return top if top and covered >= COVERED_SHARE * whole and top.ns >= MAIN_SHARE * covered else None


def share_words(rows: Rows, part: Part) -> str:
    """For how much of these waits it had the CPU: at least, where not all is known."""
    whole = max(1, int(rows["wait_ns"].sum()))
    bound = "at least " if int(rows["covered_ns"].sum()) < KNOWN_RATIO * whole else ""
    return f"{bound}{percent(part.ns / whole)}"


def main_victims(rows: Rows) -> list[Part]:
    """Who waited for long in these, the longest first; everyone where many waited a little each."""
    victims, whole = victims_of(rows), int(rows["wait_ns"].sum())
    long = [victim for victim in victims if victim.ns >= VICTIM_SHARE * whole]
    return long if sum(victim.ns for victim in long) >= MAIN_SHARE * whole else victims


def among_share(rows: Rows, victims: Sequence[Part]) -> float:
    """For how much of these waits the victims themselves had the CPU."""
    tids = {victim.tid for victim in victims}
    blocked = sum(part.ns for part in all_blockers_of(rows) if part.tid in tids)
    return blocked / max(1, int(rows["wait_ns"].sum()))


def widen_words(f: Facts, victims: Sequence[Part]) -> str:
    """What to do about the affinity; with few tasks the command that moves the first of them."""
    if len(victims) > FEW_VICTIMS:
        return "Widen the affinity"
    return f"Widen the affinity: taskset -cp {cpus_text(f.frame.cpus.ids)} {victims[0].tid}"


def idle_words(f: Facts, rows: Rows) -> str:
    """Which CPU was idle meanwhile, and how idle it is altogether."""
    chosen = rows[rows["idle_cpu"] >= 0]
    if not len(chosen):
        return "another CPU was idle meanwhile"
    cpu = int(np.argmax(np.bincount(chosen["idle_cpu"], chosen["wait_ns"])))
    if f.idle.get(cpu, 0.0) >= IDLE:
        return f"CPU {cpu} is {percent(f.idle[cpu])} idle"
    return f"CPU {cpu} was idle meanwhile"


def task_names(parts: Sequence[Part]) -> str:
    """One or two tasks by name, of more how many and the first."""
    if len(parts) > FEW_VICTIMS:
        return f"{len(parts)} tasks (most: {parts[0].words})"
    return " and ".join(part.words for part in parts)


def longest_runner(tasks: Rows) -> list[Part]:
    """The task that ran longest, if any did."""
    if not len(tasks) or int(tasks["run_ns"].max()) <= 0:
        return []
    row = tasks[int(np.argmax(tasks["run_ns"]))]
    return [Part(int(row["tid"]), task_words(int(row["tid"]), row["comm"]), int(row["run_ns"]))]


def biggest_words(tasks: Rows) -> tuple[str, ...]:
    """The process that ran longest, all of that name together, if any did: many short tasks are one load."""
    tasks = tasks[tasks["run_ns"] > 0]
    if not len(tasks):
        return ()
    names = np.where(tasks["process"] != b"", tasks["process"], tasks["comm"])
    # Tasks without any name are not one process.
    keys = np.where(names != b"", names, tasks["tid"].astype("S16"))
    found, places = np.unique(keys, return_inverse=True)
    most = int(np.argmax(np.bincount(places, tasks["run_ns"], len(found))))
    own = take_rows(tasks, np.flatnonzero(places == most))
    ran = format_ns(int(own["run_ns"].sum()))
    if len(own) == 1:
        return (f"biggest: {task_words(int(own['tid'][0]), own['comm'][0])} ran {ran}",)
    return (f"biggest: {text(found[most])}, {len(own)} tasks, ran {ran}",)


def on_worst_cpu(rows: Rows) -> tuple[Rows, int]:
    """The CPU with most of the time of these waits, and those on it."""
    cpu = int(np.argmax(np.bincount(np.maximum(rows["cpu"], 0), rows["wait_ns"])))
    return take_rows(rows, np.flatnonzero(np.maximum(rows["cpu"], 0) == cpu)), cpu


def quota_above(f: Facts, cgroup: int) -> list[tuple[str, float]]:
    """The group that throttles a cgroup most: itself or one that it is inside of."""
    path = f.frame.cgroups.get(cgroup, "")
    return [quota for quota in f.quotas if quota[0] and is_within(path, quota[0])][:1]


def delayed(f: Facts) -> tuple[Rows, int]:
    """The tasks that wait much of the time without a slow wait, on the CPU with most of that; the longest first."""
    tasks = f.view.tasks[f.view.tasks["run_delay_ns"] >= DELAYED_SHARE * f.frame.interval_ns]
    whole = int(f.view.tasks["run_delay_ns"].sum())
    if f.enough or "tasks" in f.frame.unavailable or not len(tasks) or whole < DELAY_LOAD * f.frame.interval_ns:
        return tasks[:0], 0
    cpu = int(np.argmax(np.bincount(np.maximum(tasks["last_cpu"], 0), tasks["run_delay_ns"])))
    tasks = tasks[tasks["last_cpu"] == cpu]
    return tasks[np.argsort(-tasks["run_delay_ns"], kind="stable")], cpu


def waiters(tasks: Rows) -> list[Part]:
    """Task rows as parts of their run delay."""
    return [Part(int(row["tid"]), task_words(int(row["tid"]), row["comm"]), int(row["run_delay_ns"])) for row in tasks]


def delay_words(f: Facts, tasks: Rows) -> tuple[str, ...]:
    """How much they wait, and who had the CPU for most of it."""
    waited = int(tasks["run_delay_ns"].sum()) / max(1, f.frame.interval_ns)
    parts = [f"{waited:.1f} tasks wait on average, no wait is slow"]
    pairs = f.view.pairs[np.isin(f.view.pairs["victim_tid"], tasks["tid"])]
    if len(pairs) and int(pairs["blocked_ns"].sum()):
        row = pairs[int(np.argmax(pairs["blocked_ns"]))]
        blocker, victim = (task_words(int(row[f"{role}_tid"]), row[f"{role}_comm"]) for role in ("other", "victim"))
        parts.append(f"{blocker} had the CPU for {format_ns(int(row['blocked_ns']))} of it while {victim} waited")
    return tuple(parts)
