"""The verdict where only sums of waits are known (source `proc`).

Run delay, pressure, steal and quotas tell whether tasks wait, and on which CPUs; how long one wait was, and who had the
CPU meanwhile, nobody knows then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from schedtop.base.units import format_ns
from schedtop.model.containers import cgroup_label
from schedtop.model.frame import HIDDEN, INSIDE
from schedtop.model.rows import Rows
from schedtop.verdict.facts import ALARM_LOAD, Facts
from schedtop.verdict.wait import Part, percent
from schedtop.verdict.words import (
    QUOTA_NOTICE,
    STEAL_ALARM,
    STEAL_NOTICE,
    biggest_words,
    context_words,
    delayed,
    task_names,
    waiters,
    widen_words,
)

PRESSURE_NOTICE = 0.2  # wakeups alone make some; this is more
ROOM = 0.5  # a CPU that is idle so much takes half of what waits


@dataclass(frozen=True, slots=True)
class Sums:
    """What the rules here ask for besides Facts.

    `waiting`: tasks that waited on average, by their run delay; `idle`: the share of time in which a CPU had nothing to
    do, by the kernel's own account; `tasks`: those that waited much, on the CPU with most of that; `limits`: what is
    not known; `sees_all`: no task is hidden from the source.
    """

    facts: Facts
    waiting: float
    idle: dict[int, float]
    tasks: Rows
    cpu: int
    limits: tuple[str, ...]
    sees_all: bool

    @property
    def level(self) -> str:
        """How bad it is that so many wait."""
        return "alarm" if self.waiting >= ALARM_LOAD else "notice"


Answer = tuple[str, str, str, tuple[str, ...], str]
"""Level, rule, headline, evidence and action of a Verdict."""


def judge_sums(f: Facts) -> Answer:
    """The answer of the first rule that applies."""
    sums = _sums(f)
    level, rule, headline, evidence, action = next(answer for rule in _RULES if (answer := rule(sums)))
    return level, rule, headline, (*evidence, *sums.limits), action


def _sums(f: Facts) -> Sums:
    frame, ids = f.frame, f.view.cpu_ids
    tasks, cpu = delayed(f)
    whole = np.maximum(frame.cpus.column("accounted_ns")[ids], 1)
    used = frame.cpus.column("busy_ns")[ids] + frame.cpus.column("steal_ns")[ids]
    idle = dict(zip(ids, np.clip(1 - used / whole, 0, 1).tolist(), strict=True)) if f.busy else {}
    waiting = int(f.view.tasks["run_delay_ns"].sum()) / max(1, frame.interval_ns)
    why = frame.unavailable.get("slow_waits", frame.unavailable.get("latency", ""))
    limits = f"not known: single waits and who had the CPU ({why.partition(':')[0]})"
    partial = [note for note in f.view.host.notes if note in (HIDDEN, INSIDE)]
    return Sums(f, waiting, idle, tasks, cpu, (limits, *partial), not partial)


def _waiting_words(s: Sums) -> tuple[str, ...]:
    return (f"{s.waiting:.1f} tasks wait on average, by their run delay",)


def _stolen(s: Sums) -> Answer | None:
    steal = s.facts.steal
    if steal is None or steal < STEAL_NOTICE:
        return None
    level = "alarm" if steal >= STEAL_ALARM else "notice"
    headline = f"Steal is {percent(steal)}: the host is oversubscribed or limits this VM"
    evidence = (*_waiting_words(s), *context_words(s.facts, "steal"))
    return level, "steal", headline, evidence, "Move the VM or ask for dedicated CPUs"


def _throttled(s: Sums) -> Answer | None:
    quotas = s.facts.quotas
    if not quotas or quotas[0][1] < QUOTA_NOTICE:
        return None
    path, share = quotas[0]
    headline = (
        f"{cgroup_label(path) if path else 'A cgroup'} is throttled by its quota in {percent(share)} of its periods"
    )
    evidence = (*_waiting_words(s), *context_words(s.facts, "quotas"))
    return "notice", "quota", headline, evidence, "Raise the quota or spread the work"


def _saturated(s: Sums) -> Answer | None:
    f = s.facts
    if not f.full or round(s.waiting) < 1:
        return None
    cpus = "1 CPU is" if len(f.busy) == 1 else f"{len(f.busy)} CPUs are"
    busy = percent(sum(f.busy.values()) / len(f.busy))
    waits = "1 task waits" if round(s.waiting) == 1 else f"{s.waiting:.0f} tasks wait"
    headline = f"{cpus} {busy} busy and {waits} on average: more work than CPUs"
    action = "Run less at a time, add CPUs, or lower the priority of what can wait"
    return s.level, "saturated", headline, (*biggest_words(f.tasks_there), *context_words(f)), action


def _pinned(s: Sums) -> Answer | None:
    """Tasks that may run on one CPU only and wait for it, while another one has nothing to do."""
    idle = {cpu: ratio for cpu, ratio in s.idle.items() if cpu != s.cpu and ratio >= ROOM}
    if not len(s.tasks) or not idle or not (s.tasks["allowed_cpus"] == 1).all():
        return None
    most, victims = max(idle, key=lambda cpu: idle[cpu]), waiters(s.tasks)
    are = "is" if len(victims) == 1 else "are"
    headline = f"CPU {s.cpu}: {task_names(victims)} {are} pinned to it and {_share(s)}; "
    headline += f"CPU {most} is {percent(idle[most])} idle"
    evidence = (*_waiting_words(s), *context_words(s.facts))
    return s.level, "turns", headline, evidence, widen_words(s.facts, victims)


def _waiting(s: Sums) -> Answer | None:
    if not len(s.tasks):
        return None
    victims: list[Part] = waiters(s.tasks)
    headline = f"CPU {s.cpu}: {task_names(victims)} {_share(s)}"
    evidence = (*_waiting_words(s), *biggest_words(s.facts.tasks_there), *context_words(s.facts))
    return s.level, "waiting", headline, evidence, "See who it is with `sudo schedtop`, or lower a priority"


def _pressed(s: Sums) -> Answer | None:
    pressure = s.facts.pressure
    if pressure is None or pressure < PRESSURE_NOTICE:
        return None
    which = "none of them for much of it" if s.sees_all else "none that is visible for much of it"
    headline = f"Some task waits {percent(pressure)} of the time (PSI), but {which}"
    return "notice", "pressure", headline, (*_waiting_words(s), *context_words(s.facts)), "Look at the run delays"


def _calm(s: Sums) -> Answer:
    f = s.facts
    delay_ns = int(f.view.tasks["run_delay_ns"].sum())
    a_second = f"{format_ns(round(delay_ns / max(f.frame.duration_s, 1e-9)))} of run delay a second"
    which = "all tasks" if s.sees_all else "all visible tasks"
    which = "what the filter shows" if f.view.settings.shown_filter.names_tasks else which
    headline = f"Little waiting: {a_second}, of {which} together"
    return "ok", "calm", headline, context_words(f), "Look elsewhere: locks, I/O, the network"


def _share(s: Sums) -> str:
    """How much of the time they wait, each."""
    share = int(s.tasks["run_delay_ns"].sum()) / len(s.tasks) / max(1, s.facts.frame.interval_ns)
    return f"wait{'s' if len(s.tasks) == 1 else ''} {percent(min(1.0, share))} of the time"


_RULES: tuple[Callable[[Sums], Answer | None], ...] = (
    _saturated,
    _stolen,
    _throttled,
    _pinned,
    _waiting,
    _pressed,
    _calm,
)
