"""Sentences that rules of several topics share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from schedtop.base.units import format_ns, format_round_ns, format_whole_s
from schedtop.model.containers import cgroup_label
from schedtop.model.rows import KTHREADD_TGID, Integers, Rows, kernel_tids, rows_where, text
from schedtop.model.sched_class import SchedClass
from schedtop.model.waits import Explanation
from schedtop.verdict.facts import Facts
from schedtop.verdict.limits import (
    BUSY,
    COVERED_SHARE,
    DELAYED_SHARE,
    FEW_VICTIMS,
    IDLE,
    KNOWN_RATIO,
    MISSING_SHARE,
    MOVED_SHARE,
    NOTABLE_SHARE,
    NOTABLE_SLICES,
    OVER_NS,
    QUOTA_NOTICE,
    SLEEPER,
    WAITS_SHARE,
)
from schedtop.verdict.parts import Part, blockers_of, steadiest, waiters
from schedtop.verdict.phrases import counted, listed, of_one_name, percent, verb
from schedtop.verdict.slow import OWN_COMM, asks_to_wait
from schedtop.verdict.verdict import NOT_LATE, Late

OVER = "No such wait"
"""How a headline begins that is about what is over."""

EXPLANATION_WORDS = {
    Explanation.QUEUEING: "others on the CPU",
    Explanation.YIELD: "sched_yield",
    Explanation.THROTTLED: "quotas",
    Explanation.STOLEN: "the hypervisor",
    Explanation.PINNED: "affinity beside an idle CPU",
    Explanation.NOT_BALANCED: "an idle CPU that was not used",
    Explanation.IDLE_CPU: "an idle CPU that may have been out of reach",
    Explanation.UNKNOWN: "a cause that this version does not know",
    Explanation.SCHED_EXT: "a sched_ext scheduler",
    Explanation.INTERRUPTS: "interrupts",
    Explanation.BEHIND_RT: "real-time tasks",
    Explanation.BEHIND_DEADLINE: "deadline tasks",
    Explanation.LOWER_WEIGHT: "tasks with more weight",
    Explanation.DEADLINE_RUNTIME: "the runtime of deadline tasks",
    Explanation.RT_RUNTIME: "the runtime of real-time tasks",
}

_HIDDEN_BEHIND = "A slow service that is not named may wait for one of these: schedtop path --comm NAME"

MOST_SHARES = 3
"""Of so many causes the shares are told."""

LATE_HELPER = 0.42
"""A thread that waits for so much of the time may hold what others of its process need, whatever it has asked for. One
of nice 10 beside two hogs waits for half of it, now a little more and now a little less."""

MOST_NAMES = 3
"""So many names of pinned tasks are in the headline."""

FEW_LATE, STEADY_LATE = 5, 2
"""Of so many it is asked which has waited longest of late; of one that waits so many times less than another, not."""

LATE_OF = 30
"""In so many intervals it is asked which has waited longest: of two that wait about as long, one stays the late one."""


def slices_words(rows: Rows, blocker: Part) -> tuple[str, ...]:
    """That a blocker and the tasks behind it have slices of another length; nothing if they are about the same."""
    of_blocker = rows["blocker_slice_ns"][rows["blocker_tid"] == blocker.tid]
    theirs = rows["slice_ns"][rows["slice_ns"] > 0]
    own = int(of_blocker.max(initial=0))
    if not own or not len(theirs):
        return ()
    middle = int(np.median(theirs))
    if max(own, middle) < NOTABLE_SLICES * min(own, middle):
        return ()
    return (f"its time slice is {format_round_ns(own)}, of those that wait {format_round_ns(middle)}",)


def context_words(f: Facts, *said: str) -> tuple[str, ...]:
    """What else is notable (`steal`, `quotas`, `short-lived`) and has not been said, and what was not seen."""
    parts = []
    if "steal" not in said and f.notable_steal:
        parts.append(f"steal is {percent(f.steal or 0.0)}")
    if "quotas" not in said and (quota := quota_context(f)):
        parts.append(quota)
    if "short-lived" not in said and (found := f.short_lived):
        parts.append(f"short-lived: {found.words} took {percent(found.named_share)} of the CPU time")
    parts += _behind_words(f)
    if f.slow.left_out:
        parts.append(f"not counted: the waits of {counted(f.slow.left_out, 'task')} of lower priority (nice)")
    if f.queues_unknown:
        parts.append(f.queues_unknown)
    if 0 < f.missing <= MISSING_SHARE:
        parts.append(f"{percent(f.missing)} of the slow waits were not seen")
    return tuple(parts)


def quota_context(f: Facts) -> str:
    """That a quota throttles a cgroup, beside whatever else there is; empty: none does notably."""
    if not f.quotas or f.quotas[0][1] < QUOTA_NOTICE:
        return ""
    name = cgroup_label(f.quotas[0][0]) if f.quotas[0][0] else "a cgroup"
    return f"{name} is throttled in {percent(f.quotas[0][1])} of its periods"


def _behind_words(f: Facts) -> Iterator[str]:
    """Which task of a higher class had the CPU for much of the slow waiting time, where that is not the main cause."""
    for each, higher in _HIGHER.items():
        if f.slow.main is not each and f.slow.share(each) >= NOTABLE_SHARE:
            top = blockers_of(f.slow.of(each), higher)[0]
            yield f"{percent(f.slow.share(each))} of the slow waiting time is behind {top.words}"


_HIGHER = {Explanation.BEHIND_RT: SchedClass.RT, Explanation.BEHIND_DEADLINE: SchedClass.DEADLINE}


def hidden_words(f: Facts, victims: Sequence[Part], *, crowd: bool = True) -> tuple[str, ...]:
    """What may wait for a lock that one of these holds, and is then no victim of the scheduler itself.

    The other threads of its process; of a `crowd` anything at all.
    """
    anything = (_HIDDEN_BEHIND,) if crowd and not f.chosen else ()
    tasks = f.frame.tasks
    waits = np.isin(tasks["tid"], [victim.tid for victim in victims])
    for victim in victims[: FEW_VICTIMS + 1]:
        own = rows_where(tasks, tasks["tid"] == victim.tid)
        tgid = int(own["tgid"][0]) if len(own) and own["process"][0] != OWN_COMM else 0
        others = int(np.count_nonzero((tasks["tgid"] == tgid) & ~waits)) if tgid else 0
        if others:
            threads = f"{counted(others, 'other thread')} of {text(own['process'][0]) or victim.name} ({tgid})"
            return (f"{threads} may wait for what {victim.name} holds: schedtop path --pid {tgid}", *anything)
    return anything


def slow_words(f: Facts, rows: Rows) -> tuple[str, ...]:
    """How many slow waits these are (of one cause, or all), the longest, and their share of the slow waiting time."""
    if not len(rows):
        return ()
    longest = format_ns(int(rows["wait_ns"].max()))
    share = int(rows["wait_ns"].sum()) / max(1, f.slow.total_ns)
    which = " of this cause" if len(rows) < len(f.slow.rows) else ""
    count = counted(len(rows), "slow wait")
    return (f"{count}{which}, the longest {longest}, {percent(share)} of the slow waiting time",)


def shares_words(f: Facts) -> str:
    """The largest shares of the slow waits, where none is the main one."""
    largest = sorted(f.slow.weights, key=lambda each: -f.slow.weights[each])[:MOST_SHARES]
    return ", ".join(f"{EXPLANATION_WORDS[each]} {percent(f.slow.share(each))}" for each in largest)


def up_to_words(rows: Rows) -> str:
    """How long these waits were."""
    return f"up to {format_ns(int(rows['wait_ns'].max()))}"


def calm_words(f: Facts) -> tuple[str, ...]:
    """How many slow waits there are, and the 99th percentile."""
    return (f"slow waits: {len(f.slow.rows) or 'none'}", *p99_words(f))


def delay_words(f: Facts) -> tuple[str, ...]:
    """How much waiting there is, where only sums are known."""
    return (f"{f.waiting:.1f} tasks wait on average, by their run delay",)


def missed_words(rows: Rows) -> tuple[str, ...]:
    """How many of these waits ended after the deadline of the task, if some did."""
    missed = rows["dl_missed_ns"][rows["dl_missed_ns"] > 0]
    if not len(missed):
        return ()
    return (f"deadlines were missed {counted(len(missed), 'time')}, by up to {format_ns(int(missed.max()))}",)


def p99_words(f: Facts) -> tuple[str, ...]:
    """The 99th percentile of all waits, if it is known, and of no others: some may be left out of the verdict."""
    return () if f.p99_ns is None or f.slow.left_out else (f"p99 is {format_ns(f.p99_ns)}",)


def late_helper_words(f: Facts, headline: str) -> str:
    """The late helper that waits most, if there is one and the headline does not name it."""
    if not f.slow.left_out or f.names_tasks:
        return ""
    late = rows_where(f.view.tasks, _late_helpers(f, f.view.tasks))
    if not len(late):
        return ""
    most = waiters(late[np.argsort(-late["run_delay_ns"], kind="stable")[:1]])[0]
    return "" if most.words in headline else waits_words(f, most)


def latest_of(f: Facts, tasks: Rows) -> Sequence[Part]:
    """The one of these that waits most, if it waits so much that somebody may miss it, and another that waits alike."""
    tasks = rows_where(tasks, (tasks["comm"] != OWN_COMM) & (tasks["parent_tgid"] != KTHREADD_TGID))
    tasks = rows_where(tasks, (tasks["ended"] == 0) & (tasks["run_delay_ns"] >= WAITS_SHARE * f.frame.interval_ns))
    tasks = rows_where(tasks, ~asks_to_wait(tasks))
    if not len(tasks):
        return ()
    # Of several that wait about as long the one that has waited longest of late: another one each second misleads.
    tasks = tasks[np.argsort(-tasks["run_delay_ns"], kind="stable")[:FEW_LATE]]
    alike = rows_where(tasks, STEADY_LATE * tasks["run_delay_ns"] >= tasks["run_delay_ns"].max())
    lately = dict.fromkeys(tasks["tid"].tolist(), 0)
    for frame in f.view.series[-LATE_OF:]:
        for tid in lately:
            lately[tid] += int(frame.tasks["run_delay_ns"][frame.tasks["tid"] == tid].sum())
    found = {part.tid: part for part in waiters(tasks)}
    most = found.pop(max(alike["tid"].tolist(), key=lambda tid: lately[tid]))
    others = [tid for tid, part in found.items() if part.comm != most.comm and _waits_much(f, part)]
    second = max(others, key=lambda tid: lately[tid], default=0)
    is_alike = second and STEADY_LATE * lately[second] >= lately[most.tid]
    return (most, found[second]) if is_alike else (most,)


def _waits_much(f: Facts, part: Part) -> bool:
    return part.ns >= DELAYED_SHARE * f.frame.interval_ns


def waits_words(f: Facts, part: Part) -> str:
    """For how much of the time a task waits."""
    return f"{part.words} waits {percent(part.ns / max(1, f.frame.interval_ns))} of the time"


def late_of(f: Facts, parts: Sequence[Part]) -> Late:
    """The same of one, or two, for a verdict."""
    if not parts:
        return NOT_LATE
    share = parts[0].ns / max(1, f.frame.interval_ns)
    if len(parts) == 1:
        return Late(parts[0].tid, waits_words(f, parts[0]), share)
    most = max(part.ns for part in parts) / max(1, f.frame.interval_ns)
    names = listed(sorted(part.name for part in parts))
    return Late(parts[0].tid, f"{names} wait up to {percent(most)} of the time", share)


def late_beside(f: Facts, tids: Integers) -> Sequence[Part]:
    """The task that is none of these, and sleeps now and then, and waits much, and another that waits alike."""
    tasks = f.tasks_there
    sleeps = tasks["run_ns"] + tasks["run_delay_ns"] <= SLEEPER * f.frame.interval_ns
    late = latest_of(f, rows_where(tasks, sleeps & ~np.isin(tasks["tid"], tids)))
    return late if late and _waits_much(f, late[0]) else ()


def _late_helpers(f: Facts, tasks: Rows) -> npt.NDArray[np.bool_]:
    """The threads that asked to wait and wait most of the time, while others of their process did not: these may need
    what they hold."""
    meant = asks_to_wait(tasks)
    late = meant & (tasks["run_delay_ns"] >= LATE_HELPER * f.frame.interval_ns)
    found: npt.NDArray[np.bool_] = late & (tasks["tgid"] != 0) & (tasks["parent_tgid"] != KTHREADD_TGID)
    return found & np.isin(tasks["tgid"], tasks["tgid"][~meant])


def over_words(f: Facts) -> str:
    """For how long there has been no slow wait of the main cause, if that is long."""
    if f.frame.interval_ns < OVER_NS or not f.slow.enough:
        return ""
    rows = f.slow.rows if f.slow.main is None else f.slow.of(f.slow.main)
    if not len(rows):
        return ""
    over_ns = f.view.end_time_ns - int(rows["time_ns"].max())
    return f"{OVER} for {format_whole_s(over_ns)}" if OVER_NS <= over_ns <= f.frame.interval_ns else ""


def blocker_words(rows: Rows) -> tuple[str, ...]:
    """Which task had the CPU most, if that is known of enough."""
    whole = int(rows["wait_ns"].sum())
    covered = min(1.0, int(rows["covered_ns"].sum()) / max(1, whole))
    if covered < COVERED_SHARE:
        return (f"the tasks that had the CPU are known for {percent(covered)} only",)
    by_name: dict[bytes | int, list[Part]] = {}
    for part in blockers_of(rows):
        by_name.setdefault(part.comm or part.tid, []).append(part)
    if not by_name:
        return ()
    # Of several of one name all: which of them had it most is another one each second.
    most = max(by_name.values(), key=_whole_ns)
    words = most[0].words if len(most) == 1 else of_one_name(most[0].name, len(most))
    return (f"{words} had the CPU for {percent(_whole_ns(most) / whole)} of these waits",)


def _whole_ns(parts: Sequence[Part]) -> int:
    return sum(part.ns for part in parts)


def share_words(rows: Rows, part: Part) -> str:
    """For how much of these waits it had the CPU: at least, where not all is known."""
    whole = max(1, int(rows["wait_ns"].sum()))
    bound = "at least " if int(rows["covered_ns"].sum()) < KNOWN_RATIO * whole else ""
    return f"{bound}{percent(part.ns / whole)}"


def idle_words(f: Facts, rows: Rows) -> str:
    """Which CPU was idle meanwhile, and how idle it is altogether."""
    known = rows["idle_cpu"] >= 0
    if known.any():
        cpu = int(np.argmax(np.bincount(rows["idle_cpu"][known], rows["wait_ns"][known])))
    elif others := {cpu: ratio for cpu, ratio in f.idle.items() if cpu not in rows["cpu"]}:
        cpu = max(others, key=lambda each: others[each])
    else:
        return "another CPU was idle meanwhile"
    if f.idle.get(cpu, 0.0) >= IDLE:
        return f"CPU {cpu} is {percent(f.idle[cpu])} idle"
    return f"CPU {cpu} was idle meanwhile"


def task_names(parts: Sequence[Part]) -> str:
    """One or two tasks by name, of more how many and the first.

    Of two names both: hogs wait longest, and would hide the task that they keep waiting. Two of one name that
    wait about as long do not change places each second.
    """
    if len(parts) <= FEW_VICTIMS:
        first = steadiest(parts)
        return " and ".join(part.words for part in (first, *(part for part in parts if part != first)))
    by_name: dict[bytes, list[Part]] = {}
    for part in parts:
        by_name.setdefault(part.comm, []).append(part)
    if len(by_name) == FEW_VICTIMS:
        names = sorted(by_name.values(), key=len, reverse=True)
        return " and ".join(own[0].words if len(own) == 1 else of_one_name(own[0].name, len(own)) for own in names)
    return f"{len(parts)} tasks (mainly {parts[0].words})"


def moved_of(f: Facts, victims: Sequence[Part], waiting: Sequence[Part]) -> Part:
    """Which of the tasks that are `waiting` should run elsewhere, too; the `victims` are those that wait most.

    One that runs little, or sleeps: it disturbs nobody where it goes, and is rather what is missed than a hog is.
    """
    ran = dict.fromkeys((part.tid for part in (*victims, *waiting)), 0)
    wanted = dict(ran)
    own = rows_where(f.frame.tasks, np.isin(f.frame.tasks["tid"], list(ran)))
    for tid, run_ns, delay_ns in zip(*(own[name].tolist() for name in ("tid", "run_ns", "run_delay_ns")), strict=True):
        ran[tid] += run_ns
        wanted[tid] += run_ns + delay_ns
    kernels = set(kernel_tids(own).tolist())
    most, whole = max(ran.values()), sum(part.ns for part in waiting)
    # Beside hogs one that sleeps may run as much as they get.
    sleeping = SLEEPER * f.frame.interval_ns if max(wanted.values()) >= BUSY * f.frame.interval_ns else 0
    light = [
        part
        for part in waiting
        if (2 * ran[part.tid] <= most or wanted[part.tid] <= sleeping)
        and part.tid not in kernels
        and part.ns >= MOVED_SHARE * whole
    ]
    return steadiest(light or [victim for victim in victims if victim.tid not in kernels] or victims)


def pinned_to(f: Facts, cpu: int) -> list[Part]:
    """The tasks that may run on this CPU alone and wait for it, by run delay; of those that asked to late helpers."""
    tasks = f.view.tasks if f.names_tasks else f.tasks_there
    tasks = rows_where(tasks, ~asks_to_wait(tasks) | _late_helpers(f, tasks))
    tasks = rows_where(tasks, (tasks["last_cpu"] == cpu) & (tasks["allowed_cpus"] == 1) & (tasks["run_delay_ns"] > 0))
    return sorted(waiters(tasks), key=lambda part: -part.ns)


def are_pinned(victims: Sequence[Part], moved: Part) -> str:
    """`… are pinned`: the victims, and the one that the command is about, which comes first of several names."""
    named = victims if any(part.tid == moved.tid for part in victims) else [*victims, moved]
    by_name = Counter(part.comm for part in named)
    if len(named) <= FEW_VICTIMS or len(by_name) <= FEW_VICTIMS:
        names = task_names(named)
    elif len(by_name) <= MOST_NAMES:
        like_it = by_name.pop(moved.comm)
        first = moved.words if like_it == 1 else of_one_name(moved.name, like_it)
        names = listed([first, *(of_one_name(text(comm), count) for comm, count in sorted(by_name.items()))])
    else:
        names = f"{moved.words} and {counted(len(named) - 1, 'other')}"
    return f"{names} {verb(len(named), 'is', 'are')} pinned"


def quota_words(path: str, share: float) -> str:
    """That a group has a quota that is too small, and how often."""
    return f"{cgroup_label(path) if path else 'A cgroup'} is throttled by its quota in {percent(share)} of its periods"
