"""What to do: a sentence, and the command in it that can be typed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from schedtop.base.cpu_lists import cpus_text
from schedtop.base.pgrep import pgrep_words
from schedtop.base.units import NS_PER_US, exact_duration
from schedtop.model.rows import Rows, rows_where, text
from schedtop.model.sched_class import Level, SchedClass
from schedtop.model.waits import Explanation
from schedtop.model.weights import nice_of_weight
from schedtop.verdict.biggest import BiggestProcess, with_most
from schedtop.verdict.facts import Facts
from schedtop.verdict.limits import LOOKED_BACK, WAITS_SHARE
from schedtop.verdict.parts import Part, waiters
from schedtop.verdict.verdict import THRESHOLD_COMMAND

UNLOAD_SCHED_EXT = "echo S > /proc/sysrq-trigger"
"""Gives all tasks back to the kernel's own scheduler (sysrq_sched_ext_reset_op in kernel/sched/ext.c)."""

LIST_RUNNERS = "ps -eLo pcpu,tid,comm --sort -pcpu | head"

FEW_PROCESSES = 4
"""So many are named by their numbers in a command."""

MOST_STARTERS = 5
"""So many of one name are in a command by number: with more it would not fit a line."""

STARTER_SHARE = 0.1
"""What starts a smaller part of a storm is no starter."""

LOOK = "ps "
"""How the command about a storm begins when all others go first as it is."""

LEAST_THRESHOLD_NS = 10 * NS_PER_US

FEWER = "Start fewer processes (keep workers), or lower their priority"

NICE_MAY_NOT_HELP = "Nice acts only inside a session; if it does not help: echo 19 > /proc/PID/autogroup"

LOW_NICE, LEAST_NICE = 10, 19
"""What a task is reniced to that others wait for: a tenth of the weight of nice 0, and next to none."""


def widen_words(f: Facts, moved: Part, but: int = -1) -> tuple[str, str]:
    """What to do about the affinity of a task, and the command in it: for all of its process where all are alike.

    `but`: a CPU that it is better kept from, if there is another one.
    """
    ids = list(f.frame.cpus.ids)
    cpus, tgid = cpus_text([cpu for cpu in ids if cpu != but] or ids), _pinned_alike(f, moved)
    if tgid:
        return typed(f"Let all threads of {moved.name} run elsewhere, too", f"taskset -acp {cpus} {tgid}")
    return typed(f"Let {moved.name} run elsewhere, too", f"taskset -cp {cpus} {moved.tid}")


def _pinned_alike(f: Facts, moved: Part) -> int:
    """The process of the task, if several of its threads wait and all that are seen may run on this CPU alone; else 0.

    Threads on CPUs of their own are there on purpose.
    """
    tasks = f.frame.tasks
    tgids = tasks["tgid"][tasks["tid"] == moved.tid]
    if not len(tgids) or not tgids[0]:
        return 0
    own = rows_where(tasks, (tasks["tgid"] == tgids[0]) & (tasks["ended"] == 0))
    waiting = own["tid"][own["run_delay_ns"] >= WAITS_SHARE * f.frame.interval_ns]
    alike = (own["allowed_cpus"] <= 1).all() and len(np.unique(own["last_cpu"])) == 1
    return int(tgids[0]) if alike and len(np.unique(waiting)) > 1 else 0


def typed(reason: str, command: str) -> tuple[str, str]:
    """An action with the command that does it, and the command alone; without one only the reason."""
    return (f"{reason}: {command}", command) if command else (reason, "")


def move_words(f: Facts, tid: int, cpu: int) -> str:
    """The command that moves a task away from a CPU; empty if there is no other."""
    others = [each for each in f.frame.cpus.ids if each != cpu]
    return f"taskset -cp {cpus_text(others)} {tid}" if others else ""


def irq_words(f: Facts, number: str, cpu: int) -> str:
    """The command that has a device interrupt handled elsewhere than on a CPU; empty if there is no other."""
    others = [each for each in f.frame.cpus.ids if each != cpu]
    return f"echo {cpus_text(others)} > /proc/irq/{number}/smp_affinity_list" if others and number.isdigit() else ""


def look_closer(f: Facts) -> str:
    """The command that shows why waits of a tenth of the threshold are so long."""
    return f"{THRESHOLD_COMMAND}{exact_duration(max(LEAST_THRESHOLD_NS, f.frame.threshold_ns // 10))}"


def renice_words(part: Part) -> str:
    """The command that gives a task less weight, or another class if weights do not count for it."""
    if part.treatment.sched_class in (SchedClass.RT, SchedClass.DEADLINE):
        return f"chrt -o -p 0 {part.tid}"
    return f"renice -n {_less(part.treatment.nice)} -p {part.tid}"


_FEWER_RUNNERS = typed("They already have the lowest priority; start fewer", LIST_RUNNERS)


def let_biggest_wait(f: Facts, biggest: BiggestProcess) -> tuple[str, str]:
    """What to do about the process that ran longest, or all tasks of its name; of ended ones, about their starter."""
    name, own = biggest
    if not name:
        return typed("See what runs", LIST_RUNNERS)
    gone = rows_where(own, (own["ended"] > 0) & (own["parent"] != b""))
    if len(own) > 1 and 2 * int(gone["run_ns"].sum()) > biggest.run_ns:
        starter, started = with_most(gone, gone["parent"])
        numbers = np.unique(started["parent_tgid"]).tolist()
        return fewer_processes(f, starter, numbers[0] if len(numbers) == 1 else 0)
    rows = f.slow.of(Explanation.QUEUEING)
    as_blockers = np.isin(rows["blocker_tid"], own["tid"])
    if meet_as_sessions(rows, as_blockers):
        return _let_sessions_wait(biggest, _nice_of_sessions(rows, as_blockers))
    if len(own) == 1:
        return typed("Let the biggest wait", renice_words(waiters(own)[0]))
    nice = int(own["nice"].min())
    return typed("Let the biggest wait", renice_named(name, nice)) if nice < LEAST_NICE else _FEWER_RUNNERS


def _let_sessions_wait(biggest: BiggestProcess, nice: int) -> tuple[str, str]:
    """What to do about tasks with sessions of this nice value: one of their own would do nothing."""
    if nice >= LEAST_NICE:
        return _FEWER_RUNNERS
    tgids = np.unique(biggest.tasks["tgid"]).tolist()
    reason = f"Lower the priority of {text(biggest.name)} (nice alone does nothing here)"
    which = " ".join(map(str, tgids)) if len(tgids) <= FEW_PROCESSES else pgrep_words(text(biggest.name))
    file = f"echo {_less(nice)} > /proc/{tgids[0] if len(tgids) == 1 else '$p'}/autogroup"
    return typed(reason, file if len(tgids) == 1 else f"for p in {which}; do {file}; done")


def meet_as_sessions(rows: Rows, blockers: npt.NDArray[np.bool_]) -> bool:
    """Whether these blockers (a mask of `blocker_tid`) and the victims are in autogroups of their own, mostly.

    Then a nice value does nothing between them: it acts only inside of one. Of tasks that have ended that is not known;
    those that started them tell.
    """
    times = np.where(blockers & (rows["blocker_level"] != Level.UNKNOWN), rows["blocker_ns"], 0)
    return 2 * int(times[rows["blocker_level"] == Level.AUTOGROUP].sum()) > int(times.sum())


def _nice_of_sessions(rows: Rows, blockers: npt.NDArray[np.bool_]) -> int:
    """The nice value of the heaviest session of these blockers, 0 if its weight is not known."""
    weight = int(rows["blocker_weight"][blockers & (rows["blocker_level"] == Level.AUTOGROUP)].max())
    return nice_of_weight(weight) if weight else 0


def let_wait(f: Facts, rows: Rows, part: Part) -> tuple[str, str]:
    """What to do about the one that had the CPU in these waits."""
    own, as_blocker = f.frame.tasks["tgid"][f.frame.tasks["tid"] == part.tid], rows["blocker_tid"] == part.tid
    if len(own) and meet_as_sessions(rows, as_blocker):
        nice = _less(_nice_of_sessions(rows, as_blocker))
        action = "Lower the priority of its session (nice alone does nothing here)"
        return typed(action, f"echo {nice} > /proc/{int(own[0])}/autogroup")
    return typed("Let it wait instead", renice_words(part))


def storm_names(f: Facts, starter: bytes) -> set[bytes]:
    """The names of what comes and goes, and of what starts it."""
    return {*f.frame.short_lived["comm"].tolist(), starter}


def fewer_processes(f: Facts, comm: bytes, tgid: int) -> tuple[str, str]:
    """What to do about what starts short-lived tasks, of name `comm` (`tgid` 0: several): they have its nice value.

    Where they meet the other tasks as sessions, the nice value of these counts; where that is not known, both get one.
    """
    storm = list(storm_names(f, comm))
    rows, blockers, is_known = _behind_storm(f, storm)
    starters = str(tgid) if tgid else _starters(f, comm, storm)
    as_sessions = meet_as_sessions(rows, blockers)
    session = _nice_of_starters(f, comm)
    if as_sessions:
        nice = _nice_of_sessions(rows, blockers)
    else:
        tasks = f.frame.tasks
        own = (tasks["tid"] == tgid) if tgid else (tasks["comm"] == comm) & (tasks["tid"] == tasks["tgid"])
        nice = int(tasks["nice"][own].min()) if own.any() else 0
    if session is not None and (as_sessions or not is_known):
        nice = max(nice, session)
    if nice >= LEAST_NICE:
        # All others go first as it is.
        return typed("See what they are for, and start fewer", f"{LOOK}-o pid,ppid,args {starters}")
    if as_sessions:
        file = f"echo {LEAST_NICE} > /proc/{tgid or '$p'}/autogroup"
        action = "Start fewer, or lower the priority of their session"
        return typed(action, file if tgid else f"for p in {starters}; do {file}; done")
    if not is_known and (session is not None or f.frame.overhead.session_nice):
        each = f"renice -n {_less(nice)} -p $p; echo {_less(nice)} > /proc/$p/autogroup"
        return typed(FEWER, f"for p in {starters}; do {each}; done")
    return typed(FEWER, f"renice -n {_less(nice)} -p {starters}")


def _starters(f: Facts, comm: bytes, storm: Sequence[bytes]) -> str:
    """The processes of that name that start a storm, if they are few; else all of that name, innocent ones, too.

    One that starts a small part of it is no starter: a shell in which somebody types is a bash like the script's.
    """
    tasks = f.frame.tasks
    own = (tasks["comm"] == comm) & (tasks["tid"] == tasks["tgid"]) & (tasks["ended"] == 0)
    children = np.isin(tasks["comm"], storm) & (tasks["ended"] != 0)
    parents, counts = np.unique(tasks["parent_tgid"][children], return_counts=True)
    found = np.intersect1d(tasks["tgid"][own], parents[counts >= STARTER_SHARE * counts.sum()]).tolist()
    return " ".join(map(str, found)) if 0 < len(found) <= MOST_STARTERS else pgrep_words(text(comm))


def _nice_of_starters(f: Facts, comm: bytes) -> int | None:
    """The nice value of the session of what starts short-lived tasks, the newest that is known."""
    for frame in (f.view.series[-1], f.frame):
        rows = frame.short_lived
        if weight := int(rows["session_weight"][rows["parent"] == comm].max(initial=0)):
            return nice_of_weight(weight)
    return None


def _behind_storm(f: Facts, names: Sequence[bytes]) -> tuple[Rows, npt.NDArray[np.bool_], bool]:
    """The slow waits of other tasks, which of their blockers have these names, and whether it is known where they meet.

    Of the last intervals the newest of which it is known: there need not be such a wait each second.
    """
    for every in (f.slow.rows, *(frame.slow_waits for frame in reversed(f.view.series[-LOOKED_BACK:]))):
        rows = rows_where(every, ~np.isin(every["comm"], names))
        blockers = np.isin(rows["blocker_comm"], names)
        is_known = bool((blockers & (rows["blocker_level"] != Level.UNKNOWN)).any())
        if is_known:
            break
    return rows, blockers, is_known


def renice_named(name: bytes, nice: int = 0) -> str:
    """The command that gives all tasks of that name, which is at most 15 characters long, less weight."""
    return f"renice -n {_less(nice)} -p {pgrep_words(text(name))}"


def _less(nice: int) -> int:
    return LOW_NICE if nice < LOW_NICE else LEAST_NICE
