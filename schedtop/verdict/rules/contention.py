"""Tasks queued behind others: one blocker, one waker, more work than CPUs, no single reason, or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedtop.base.units import format_ns, format_rate, rate
from schedtop.model.rows import rows_where
from schedtop.model.waits import Beginning, Explanation, WokenBy
from schedtop.verdict.advice import (
    LIST_RUNNERS,
    UNLOAD_SCHED_EXT,
    fewer_processes,
    let_biggest_wait,
    let_wait,
    renice_named,
    renice_words,
    typed,
)
from schedtop.verdict.biggest import biggest_of
from schedtop.verdict.facts import Facts
from schedtop.verdict.limits import MAIN_SHARE, NOTABLE_SHARE, STORM_VICTIMS
from schedtop.verdict.parts import Part, blockers_of, main_blocker, on_worst_cpu, victims_of, waiters, wakers_of
from schedtop.verdict.phrases import counted, percent, verb
from schedtop.verdict.rule import Finding
from schedtop.verdict.words import (
    blocker_words,
    context_words,
    hidden_words,
    late_beside,
    late_of,
    p99_words,
    share_words,
    shares_words,
    slices_words,
    slow_words,
    task_names,
    up_to_words,
)

TWIN = 0.5
"""A task of the same name is another one of its kind if it runs for this part of the time."""


def one_blocker(f: Facts) -> Finding | None:
    """One task had the CPU for most of it."""
    if not f.mostly_seen or not f.slow.main_is(Explanation.QUEUEING):
        return None
    rows = f.slow.of(Explanation.QUEUEING)
    f.breathe()
    blockers = blockers_of(rows)
    if not blockers:
        return None
    top, whole = blockers[0], int(rows["wait_ns"].sum())
    # One that goes last among its own is no culprit: to let it wait more would hit what it does it for.
    if top.ns < MAIN_SHARE * whole or top.treatment.nice > 0 or (_is_saturated(f) and _has_twins(f, top)):
        return None
    kept_waiting = rows[((rows["blocker_tid"] == top.tid) & (rows["blocker_ns"] > 0)).any(axis=1)]
    tasks, cpus = len(set(kept_waiting["tid"].tolist())), list(set(kept_waiting["cpu"].tolist()))
    where = f"CPU {cpus[0]}" if len(cpus) == 1 else counted(len(cpus), "CPU")
    share = percent(top.ns / whole)
    victims = victims_of(kept_waiting)
    names = task_names(victims) if tasks == 1 or f.chosen else counted(tasks, "task")
    waits = f"the slow waits of {names} on {where}, {up_to_words(rows)}"
    headline = f"{top.words} had the CPU for {share} of {waits}"
    most = () if tasks == 1 else (f"most of it: {victims[0].words}",)
    hidden = hidden_words(f, victims, crowd=False)
    known = (*slices_words(kept_waiting, top), *slow_words(f, rows), *p99_words(f), *context_words(f))
    return Finding(headline, (*most, *known), *let_wait(f, kept_waiting, top), alternatives=hidden)


def _has_twins(f: Facts, top: Part) -> bool:
    """Whether another task of that name runs as much: where all CPUs are busy it is the next one's turn each second."""
    tasks = rows_where(f.frame.tasks, f.frame.tasks["comm"] == top.comm)
    ran_ns = tasks["run_ns"][tasks["tid"] == top.tid].sum()
    return bool((tasks["run_ns"][tasks["tid"] != top.tid] >= TWIN * max(1, ran_ns)).any())


def one_waker(f: Facts) -> Finding | None:
    """One task wakes many at a time."""
    if not f.mostly_seen or not f.slow.main_is(Explanation.QUEUEING):
        return None
    rows = f.slow.of(Explanation.QUEUEING)
    f.breathe()
    wakers = wakers_of(rows)
    if not wakers:
        return None
    top, whole = wakers[0], int(rows["wait_ns"].sum())
    by_tasks = (rows["kind"] != Beginning.FORK) & (rows["woken_by"] == WokenBy.TASK)
    victims = len(set(rows["tid"][by_tasks & (rows["waker_tid"] == top.tid)].tolist()))
    if top.ns < MAIN_SHARE * whole or victims < STORM_VICTIMS:
        return None
    share = percent(top.ns / whole)
    headline = (
        f"{top.words} wakes {victims} tasks that then wait for a CPU: {share} of the slow waits, {up_to_words(rows)}"
    )
    evidence = (*slow_words(f, rows), *blocker_words(rows), *p99_words(f), *context_words(f))
    return Finding(headline, evidence, *typed("See what it wakes, and let it be fewer", f"schedtop task {top.tid}"))


def saturated(f: Facts) -> Finding | None:
    """Every CPU is busy and tasks wait: counters alone tell, so that it does not matter how many waits were seen."""
    if not _is_saturated(f) or (f.slow.enough and f.slow.main is not Explanation.QUEUEING):
        return None
    rows = f.slow.of(Explanation.QUEUEING)
    return _saturated(f, up_to_words(rows) if len(rows) else "", (*slow_words(f, rows), *p99_words(f)))


def saturated_by_sums(f: Facts) -> Finding | None:
    """The same by run delays."""
    return _saturated(f, "", (), f.sums.lacks if f.sums else ()) if _is_saturated(f) else None


def _is_saturated(f: Facts) -> bool:
    """With tasks chosen by a filter or scope: and one of these waits, too."""
    return f.full and round(f.waiting) >= 1 and (not f.chosen or f.slow.enough or len(f.delayed.tasks) > 0)


def _saturated(f: Facts, longest: str, evidence: tuple[str, ...], last: tuple[str, ...] = ()) -> Finding:
    cpus = counted(len(f.busy), "CPU")
    busy = f"{cpus} {verb(len(f.busy), 'is', 'are')} {percent(sum(f.busy.values()) / len(f.busy))} busy"
    tasks = f"{counted(round(f.waiting), 'task')} {verb(round(f.waiting), 'waits', 'wait')}"
    average = f"on average{f', {longest}' if longest else f' over {format_ns(f.frame.interval_ns)}'}"
    most = _biggest(f)
    late = late_of(f, most.late if most.words and not f.chosen else ())
    if f.chosen:
        part = f"{percent(most.share)} of it with {most.words}" if most.words else "more work than CPUs"
        headline = f"{_chosen_words(f)}: {busy}, {part}{most.beside}"
    else:
        part = f", {percent(most.share)} of it is {most.words}" if most.words else ""
        if late.tid:
            headline = f"{most.words} {most.verb} {percent(most.share)} of {cpus}; {late.words}; "
        else:
            headline = f"More work than {cpus} can do{part}: "
        headline += f"{tasks} {average}{most.beside}"
    hidden = () if f.chosen or f.sums else hidden_words(f, victims_of(f.slow.of(Explanation.QUEUEING)))
    known = () if f.chosen else (busy,)
    told = (*most.evidence, *known, *evidence, *context_words(f, *most.said), *last)
    return Finding(headline, told, *most.action, alternatives=hidden, late=late)


@dataclass(frozen=True, slots=True)
class _Biggest:
    """What has most of the CPUs' busy time: `words` and `share`; `said`: of which context that speaks already.

    `beside`: a clause on short-lived tasks that have less, last, because a narrow screen drops the last clause;
    `late`: another task that waits much, or two.
    """

    words: str
    share: float
    evidence: tuple[str, ...]
    action: tuple[str, str]
    said: tuple[str, ...] = ()
    beside: str = ""
    late: Sequence[Part] = ()
    verb: str = "uses"


def _biggest(f: Facts) -> _Biggest:
    """A process with all its tasks, or what a script starts again and again."""
    if f.view.host.scope:
        return _biggest_blocker(f)
    biggest, found = biggest_of(f.tasks_there), f.short_lived
    share = biggest.run_ns / max(1.0, sum(f.busy.values()) * f.frame.interval_ns)
    late = () if f.chosen else late_beside(f, biggest.tasks["tid"])
    if found and found.starter and found.named_share > share:
        evidence = f"biggest: {found.words} took {percent(found.named_share)} of the CPU time"
        action = fewer_processes(f, found.starter.comm, found.starter.tgid)
        return _Biggest(found.words, found.named_share, (evidence,), action, ("short-lived",), late=late, verb="take")
    action = let_biggest_wait(f, biggest)
    beside = f"; {percent(found.named_share)} is {found.words}" if found and not f.chosen else ""
    said = ("short-lived",) if beside else ()
    return _Biggest(biggest.words, min(1.0, share), biggest.evidence, action, said, beside, late)


def _biggest_blocker(f: Facts) -> _Biggest:
    """With a scope only tasks in it are known, which are those that wait: what has the CPU is known by their waits."""
    rows = f.slow.of(Explanation.QUEUEING)
    victims = set(rows["tid"].tolist())
    others: dict[bytes, list[Part]] = {}
    for part in blockers_of(rows):
        if part.tid not in victims:
            others.setdefault(part.comm, []).append(part)
    if not others:
        return _Biggest("", 0.0, (), typed("See what runs", LIST_RUNNERS))
    most = max(others.values(), key=lambda parts: sum(part.ns for part in parts))
    whole = Part(most[0].tid, most[0].comm, sum(part.ns for part in most))
    words = most[0].words if len(most) == 1 else f"{whole.name}, {len(most)} tasks,"
    command = renice_words(most[0]) if len(most) == 1 else renice_named(whole.comm)
    beside = f"; {words} had them for {share_words(rows, whole)} of it"
    return _Biggest("", 0.0, (), typed("Let what has the CPU wait", command), beside=beside)


def _chosen_words(f: Facts) -> str:
    """Which of the chosen tasks wait, and how long."""
    if f.slow.enough:
        rows = f.slow.of(Explanation.QUEUEING)
        victims: Sequence[Part] = victims_of(rows)
        return f"{task_names(victims)} {verb(len(victims), 'waits', 'wait')} {up_to_words(rows)}"
    victims = waiters(f.delayed.tasks)
    return f"{task_names(victims)} {verb(len(victims), 'waits', 'wait')} {percent(f.delayed.share)} of the time"


def queueing(f: Facts) -> Finding | None:
    """Tasks wait for each other, and none of the simpler reasons holds."""
    if not f.slow.main_is(Explanation.QUEUEING):
        return None
    rows, cpu = on_worst_cpu(f.slow.of(Explanation.QUEUEING))
    share = int(rows["wait_ns"].sum()) / max(1, f.slow.weights[Explanation.QUEUEING])
    top = main_blocker(rows)
    headline = f"Tasks wait {up_to_words(rows)} for each other, {percent(share)} of it on CPU {cpu}"
    if top:
        headline += f", where {top.words} had the CPU for {share_words(rows, top)}"
    else:
        headline += f", {percent(f.busy[cpu])} busy" if cpu in f.busy else ""
        headline += "; no single cause stands out"
    victims = victims_of(rows)
    most = f"{victims[0].words} waits most"
    known = () if top else blocker_words(rows)
    evidence = (most, *known, *slow_words(f, f.slow.rows), *p99_words(f), *context_words(f))
    some = top or next(iter(blockers_of(rows)), None)
    # To renice one that had little of it, or that has ended meanwhile, helps nobody; one of many that wait harms them.
    if some and (top or some.comm != victims[0].comm) and some.ns >= NOTABLE_SHARE * int(rows["wait_ns"].sum()):
        action = typed("Let one wait for the others", renice_words(some))
    else:
        action = typed("See what has the CPU meanwhile", f"schedtop task {victims[0].tid}")
    return Finding(headline, evidence, *action)


def by_sched_ext(f: Facts) -> Finding | None:
    """A scheduler of the class sched_ext decides when tasks run, and on which CPU."""
    if not f.slow.main_is(Explanation.SCHED_EXT):
        return None
    rows = f.slow.of(Explanation.SCHED_EXT)
    victims = victims_of(rows)
    most = f"most of it: {victims[0].words}"
    ext = f.frame.sched_ext
    name = f"the sched_ext scheduler {ext.words}" if ext else "a sched_ext scheduler"
    tasks = victims[0].words if len(victims) == 1 else counted(len(victims), "task")
    headline = f"{tasks} waited {up_to_words(rows)} in {name}, which decides when and on which CPU they run"
    evidence = (most, *slow_words(f, rows), *p99_words(f), *context_words(f))
    action = typed("Compare without that scheduler", UNLOAD_SCHED_EXT)
    return Finding(headline, evidence, *action)


def yielding(f: Facts) -> Finding | None:
    """A task gives its CPU away itself, and waits to get it back."""
    if not f.slow.main_is(Explanation.YIELD):
        return None
    rows = f.slow.of(Explanation.YIELD)
    victim = victims_of(rows)[0]
    times = int((rows["tid"] == victim.tid).sum())
    tasks = f.frame.tasks[f.frame.tasks["tid"] == victim.tid]
    switches = rate(int(tasks["involuntary_switches"].sum()), f.frame.interval_ns) if len(tasks) else None
    headline = f"{victim.words} gives the CPU away with sched_yield and waits {format_ns(victim.ns)} to get it back"
    evidence = (
        f"{times} of its waits that began so were slow",
        *([f"{format_rate(switches)} involuntary switches a second, yields among them"] if switches else []),
        *slow_words(f, rows),
        *context_words(f),
    )
    action = typed("See where it yields, and let it block there", f"perf top -t {victim.tid}")
    return Finding(headline, evidence, *action)


def mixed(f: Facts) -> Finding | None:
    """Several causes, none of which is the main one."""
    if f.slow.main is not None or not f.slow.enough:
        return None
    largest = max(f.slow.weights, key=lambda each: f.slow.weights[each])
    most = next(iter(victims_of(f.slow.of(largest))), None)
    evidence = (*slow_words(f, f.slow.rows), *p99_words(f), *context_words(f))
    waited = (f"most by the first: {most.words} waited {format_ns(most.ns)}",) if most else ()
    headline = f"Mixed causes: {shares_words(f)} of the slow waits, {up_to_words(f.slow.rows)}"
    action = typed("Start with the largest", f"schedtop task {most.tid}" if most else "")
    return Finding(headline, (*waited, *evidence), *action)
