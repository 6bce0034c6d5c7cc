"""Tasks that wait beside an idle CPU: pinned away from it, or not moved to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from schedtop.base.units import format_ns
from schedtop.model.rows import Rows, kept_rows, rows_where
from schedtop.model.waits import Distance, Explanation
from schedtop.verdict.advice import move_words, typed, widen_words
from schedtop.verdict.facts import Facts
from schedtop.verdict.limits import FEW_VICTIMS, MAIN_SHARE, SLEEPER, WAITS_SHARE
from schedtop.verdict.neighbour import Competition, left_together, neighbour_of
from schedtop.verdict.parts import (
    Part,
    among_share,
    are_alike,
    main_victims,
    on_worst_cpu,
    rival_of,
    steadiest,
    victims_of,
)
from schedtop.verdict.phrases import of_one_name, verb
from schedtop.verdict.rule import Finding
from schedtop.verdict.words import (
    are_pinned,
    blocker_words,
    context_words,
    hidden_words,
    idle_words,
    moved_of,
    pinned_to,
    share_words,
    slow_words,
    task_names,
    up_to_words,
    waits_words,
)


def pinned(f: Facts) -> Finding | None:
    """The affinity mask keeps tasks from an idle CPU."""
    if not f.slow.main_is(Explanation.PINNED):
        return None
    rows, cpu = on_worst_cpu(f.slow.of(Explanation.PINNED))
    f.breathe()
    victims, waiting = main_victims(rows), victims_of(rows)
    rows = kept_rows(rows, np.isin(rows["tid"], [victim.tid for victim in victims]))
    f.breathe()
    rival = rival_of(rows, victims)
    f.breathe()
    if rival:
        return _behind(f, cpu, rows, victims, waiting, rival)
    to_one = bool((rows["allowed_cpus"] == 1).all())
    # One that waits as much in short turns is no victim of slow waits in this second, and was in the last one.
    moved = moved_of(f, victims, (to_one and pinned_to(f, cpu)) or waiting)
    late = _late_beside_hogs(f, victims, moved) if to_one else ""
    headline = f"CPU {cpu}: {late or _pinned_words(f, cpu, rows, victims, moved, to_one)}"
    f.breathe()
    hidden = hidden_words(f, victims, crowd=len(victims) > FEW_VICTIMS)
    evidence = (*slow_words(f, f.slow.of(Explanation.PINNED)), *blocker_words(rows), *context_words(f))
    action, command = widen_words(f, moved)
    headline += f"; {idle_words(f, rows)}"
    if there := neighbour_of(f, moved):
        them = Competition(cpu, victims, f"({up_to_words(rows)})")
        return left_together(them, there, moved, command, evidence, hidden)
    return Finding(headline, evidence, action, command, alternatives=hidden, victim=moved.tid)


def _late_beside_hogs(f: Facts, victims: Sequence[Part], moved: Part) -> str:
    """How much the one that is to be moved waits, if it sleeps now and then and the others are hogs; else empty.

    Most slow waits are those of the hogs for each other then.
    """
    hogs = [victim for victim in victims if victim.tid != moved.tid]
    if not hogs or not are_alike(hogs) or hogs[0].comm == moved.comm:
        return ""
    own = rows_where(f.frame.tasks, f.frame.tasks["tid"] == moved.tid)
    ran_ns, waited_ns = (int(own[name].sum()) for name in ("run_ns", "run_delay_ns"))
    if waited_ns < WAITS_SHARE * f.frame.interval_ns or ran_ns + waited_ns > SLEEPER * f.frame.interval_ns:
        return ""
    beside = hogs[0].words if len(hogs) == 1 else of_one_name(hogs[0].name, len(hogs))
    return f"{waits_words(f, replace(moved, ns=waited_ns))}, pinned to it with {beside}"


def _pinned_words(f: Facts, cpu: int, rows: Rows, victims: Sequence[Part], moved: Part, to_one: bool) -> str:
    """Who is pinned there, and how long the waits are."""
    words = f"{are_pinned(victims, moved)} to {'it' if to_one else 'some CPUs'}"
    if len(victims) > 1 and among_share(rows, victims) >= MAIN_SHARE:
        words += " and compete"
    p99 = f.frame.latency.histogram(None, cpu).percentile_ns(0.99) if cpu < f.frame.latency.cpus else None
    if f.names_tasks:  # the percentile would be that of other tasks
        return f"{words} ({up_to_words(rows)})"
    return words if p99 is None else f"{words} (p99 {format_ns(p99)})"


def _behind(f: Facts, cpu: int, rows: Rows, victims: Sequence[Part], waiting: Sequence[Part], rival: Part) -> Finding:
    """The same where they wait behind one task, which may run elsewhere or not."""
    moved = moved_of(f, victims, waiting)
    waits = f"{share_words(rows, rival)} of {verb(len(victims), 'its', 'their')} waits, {up_to_words(rows)}"
    headline = f"CPU {cpu}: {are_pinned(victims, moved)} behind {rival.words} for {waits}; {idle_words(f, rows)}"
    hidden = hidden_words(f, victims, crowd=False)
    evidence = (*slow_words(f, f.slow.of(Explanation.PINNED)), *context_words(f))
    return Finding(headline, evidence, *widen_words(f, moved), alternatives=hidden, victim=moved.tid)


def not_balanced(f: Facts) -> Finding | None:
    """The scheduler could have used the idle CPU, and did not."""
    if not f.slow.main_is(Explanation.NOT_BALANCED):
        return None
    rows, cpu = on_worst_cpu(f.slow.of(Explanation.NOT_BALANCED))
    victims = victims_of(rows)
    wait = verb(len(victims), "waits", "wait")
    waits = f"{wait} {up_to_words(rows)}, though allowed elsewhere"
    headline = f"CPU {cpu}: {task_names(victims)} {waits}; {idle_words(f, rows)}"
    distance = _main_distance(rows)
    headline += f" ({distance.words})" if distance else ""
    evidence = (*slow_words(f, f.slow.of(Explanation.NOT_BALANCED)), *blocker_words(rows), *context_words(f))
    reason = "Move it by hand" if len(victims) == 1 else "Move one by hand"
    if distance is Distance.OTHER_NODE:
        reason = f"Tasks stay near their memory; if waiting costs more, {reason[0].lower()}{reason[1:]}"
    return Finding(headline, evidence, *typed(reason, move_words(f, steadiest(victims).tid, cpu)))


def _main_distance(rows: Rows) -> Distance | None:
    """The distance of the idle CPUs in most of the waiting time."""
    known = (rows["idle_distance"] >= 0) & (rows["idle_distance"] < len(Distance))
    if not known.any():
        return None
    return Distance.known(int(np.argmax(np.bincount(rows["idle_distance"][known], rows["wait_ns"][known]))))


def idle_elsewhere(f: Facts) -> Finding | None:
    """A CPU was idle, and whether the task could have run there is not known."""
    if not f.slow.main_is(Explanation.IDLE_CPU):
        return None
    rows, cpu = on_worst_cpu(f.slow.of(Explanation.IDLE_CPU))
    victim = victims_of(rows)[0]
    waits = f"waits {up_to_words(rows)} while another is idle"
    headline = f"CPU {cpu}: {victim.words} {waits}; whether it may run there is not known"
    evidence = (idle_words(f, rows), *slow_words(f, f.slow.of(Explanation.IDLE_CPU)), *context_words(f))
    return Finding(headline, evidence, *typed("Check its affinity", f"taskset -cp {victim.tid}"))
