"""Tasks that others go before by the scheduler's own rules: real-time and deadline classes, weights, and limits."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import numpy as np

from schedtop.base.units import format_ns, format_round_ns
from schedtop.model.kernels import has_fair_server, rt_keeper
from schedtop.model.rows import Rows, kernel_tids, rows_where
from schedtop.model.sched_class import Level, Policy, SchedClass, treatment
from schedtop.model.waits import Evidence, Explanation
from schedtop.model.weights import MOST_SHARES, cpu_weight_of_shares, nice_of_weight, nice_weight
from schedtop.verdict.advice import irq_words, typed, widen_words
from schedtop.verdict.facts import Facts
from schedtop.verdict.limits import RT_LIMIT_RATIO
from schedtop.verdict.parts import Part, are_alike, blockers_of, main_victims, on_worst_cpu, victims_of
from schedtop.verdict.phrases import counted, of_one_name, percent, verb
from schedtop.verdict.rule import Finding
from schedtop.verdict.slow import OWN_COMM, asks_to_wait
from schedtop.verdict.words import context_words, idle_words, missed_words, slow_words, task_names, up_to_words


def behind_rt(f: Facts) -> Finding | None:
    """Real-time tasks have the CPU: they run before all ordinary ones for as long as they want."""
    if not f.slow.main_is(Explanation.BEHIND_RT):
        return None
    rows, cpu = on_worst_cpu(f.slow.of(Explanation.BEHIND_RT))
    top = blockers_of(rows, SchedClass.RT)[0]
    left, why = _left_words(f, top)
    victims = _victims(f, rows)
    others = f"{victims[0].name} and {counted(len(victims) - 1, 'other')}"
    # Both names in front: the rest may be cut off.
    whom = of_one_name(victims[0].name, len(victims)) if are_alike(victims) else others
    # Of those that are named alone: a kworker may have waited longer.
    theirs = rows[np.isin(rows["tid"], [victim.tid for victim in victims])]
    waits = f"{_share_of_waits(theirs, top)} of {verb(len(victims), 'its', 'their')} waits, {up_to_words(theirs)}"
    share = _waiting_share(f, victims)
    for_how_long = f": it waits {percent(share)} of the time, {up_to_words(theirs)}" if share else f" for {waits}"
    headline = f"{top.words}, real-time, keeps {whom} off CPU {cpu}{for_how_long}{left}"
    action, command = _ordinary_words(f, top, cpu)
    named = f"{action[0].lower()}{action[1:]}".replace("make it", f"make {top.name}")
    moved = _pinned_victim(f, rows)
    also: tuple[str, ...] = ()
    if moved:
        # The kernel may leave it for long behind a real-time task that comes and goes, though another CPU is idle.
        elsewhere = widen_words(f, moved, cpu if _is_pinned(f, top) else -1)[1]
        also = (f"Or leave it, and let {moved.name} run elsewhere: {elsewhere}",)
        if not left and f.run_share(top.tid) is not None:
            # What has its CPU now and then is real-time on purpose: who is in its way goes.
            also = (f"Or {named}",)
            action, command = typed(f"Let {moved.name} run elsewhere", elsewhere)
    is_left = not left and not len(_of_processes(f, rows))
    if is_left:
        headline = f"Only kernel threads wait for {top.words}, real-time, on CPU {cpu}: {whom}, {up_to_words(theirs)}"
        also = (f"If they wait too long, {named}",)
        action, command = typed(
            f"Leave {top.name} there unless something else is late; to look closer", f"schedtop task {top.tid}"
        )
    had = (f"{top.name} had the CPU for {_share_of_waits(theirs, top)} of its waits",) if share and not is_left else ()
    evidence = (*why, *_behind_words(f, rows, Explanation.BEHIND_RT), *had, *context_words(f))
    level, victim = "notice" if is_left else "", (moved or victims[0]).tid
    return Finding(headline, evidence, action, command, level, also, may_stay=is_left, victim=victim)


def _waiting_share(f: Facts, victims: Sequence[Part]) -> float:
    """For how much of the time the only one of these waits; 0: there are several, or that is not known."""
    rows = rows_where(f.frame.tasks, f.frame.tasks["tid"] == victims[0].tid)
    waited_ns = int(rows["run_delay_ns"].sum()) if len(victims) == 1 else 0
    return waited_ns / max(1, f.frame.interval_ns)


def _pinned_victim(f: Facts, rows: Rows) -> Part | None:
    """Who waits most of those that only their affinity keeps from an idle CPU; threads of the kernel belong there."""
    victims = victims_of(_of_processes(f, rows[rows["evidence"] == Evidence.PINNED]))
    return victims[0] if victims else None


def _is_pinned(f: Facts, part: Part) -> bool:
    """Whether a task may use one CPU only."""
    tasks = f.frame.tasks
    return bool((tasks["allowed_cpus"][tasks["tid"] == part.tid] == 1).any())


def _victims(f: Facts, rows: Rows) -> Sequence[Part]:
    """Who waits most. A thread of the kernel beside tasks is not named: it waits in one second and not in the next."""
    own = _of_processes(f, rows)
    return main_victims(own if len(own) else rows)


def _of_processes(f: Facts, rows: Rows) -> Rows:
    """The waits that are not of threads of the kernel."""
    return rows[~np.isin(rows["tid"], kernel_tids(f.frame.tasks))]


def _had_words(rows: Rows, top: Part) -> str:
    """For how much of the waits of how many tasks it had the CPU, and how long they were."""
    victims = victims_of(rows)
    whose = victims[0].words if len(victims) == 1 else counted(len(victims), "task")
    return f"{_share_of_waits(rows, top)} of the waits of {whose}, {up_to_words(rows)}"


def _share_of_waits(rows: Rows, top: Part) -> str:
    return percent(blockers_of(rows).ns_of([top.tid]) / max(1, int(rows["wait_ns"].sum())))


def _left_words(f: Facts, top: Part) -> tuple[str, tuple[str, ...]]:
    """What is left for ordinary tasks, if it takes all that a real-time task may; and why that much."""
    ratio = f.view.host.rt_ratio
    ran = f.run_share(top.tid)
    if ratio is None or ran is None or ran < RT_LIMIT_RATIO * ratio:
        return "", ()
    kernel = f.view.host.kernel
    if ratio >= 1:
        off = "the fair server is off" if has_fair_server(kernel) else "sched_rt_runtime_us is -1"
        return "; others get nothing", (f"nothing is kept for ordinary tasks ({off})",)
    left = percent(1 - ratio)
    return f"; others get {left}", (f"ordinary tasks get the {left} that {rt_keeper(kernel)} keeps for them",)


def _behind_words(f: Facts, rows: Rows, why: Explanation) -> Iterator[str]:
    """Which tasks waited, how long, and whether they could have run elsewhere."""
    victims = _victims(f, rows)
    # Of those that are named: another one may be pinned. A thread of the kernel is where it belongs.
    own = _of_processes(f, rows[np.isin(rows["tid"], [victim.tid for victim in victims])])
    beside = own[np.isin(own["evidence"], (Evidence.PINNED, Evidence.NOT_BALANCED))]
    where = ""
    if len(beside):
        waits_ns = beside["wait_ns"]
        pinned = 2 * waits_ns[beside["evidence"] == Evidence.PINNED].sum() >= waits_ns.sum()
        where = f"{'pinned to it' if pinned else 'not moved elsewhere'}, while {idle_words(f, beside)}"
    if where and len(victims) == 1:
        yield f"{victims[0].words} is {where}"
    else:
        yield f"{verb(len(victims), 'it waited', 'they waited')}: {task_names(victims)}"
        yield from filter(None, (where,))
    yield from slow_words(f, f.slow.of(why))
    yield from missed_words(rows)


def _ordinary_words(f: Facts, top: Part, cpu: int) -> tuple[str, str]:
    """How to make a task an ordinary one, and the command for it."""
    if top.name.startswith("irq/"):
        return typed("Move its interrupt to another CPU", irq_words(f, top.name[4:].split("-")[0], cpu))
    if top.treatment.policy not in (Policy.FIFO, Policy.RR, Policy.DEADLINE, Policy.UNKNOWN):
        return typed("It holds a lock that a real-time task waits for", f"schedtop path --tid {top.tid}")
    return typed("Make it an ordinary task", f"chrt -o -p 0 {top.tid}")


def behind_deadline(f: Facts) -> Finding | None:
    """Deadline tasks have the CPU: they run before all others, for their runtime in each period."""
    if not f.slow.main_is(Explanation.BEHIND_DEADLINE):
        return None
    rows, cpu = on_worst_cpu(f.slow.of(Explanation.BEHIND_DEADLINE))
    top = blockers_of(rows, SchedClass.DEADLINE)[0]
    ran = f.run_share(top.tid)
    headline = f"{top.words} goes first: it had CPU {cpu} for {_had_words(rows, top)}"
    used = (f"{top.words} ran {percent(ran)} of the time",) if ran is not None else ()
    first = "deadline tasks run before all others"
    evidence = (first, *used, *_behind_words(f, rows, Explanation.BEHIND_DEADLINE), *context_words(f))
    return Finding(headline, evidence, *_ordinary_words(f, top, cpu))


def lower_weight(f: Facts) -> Finding | None:
    """Fair tasks get the CPU in proportion to their weights, and the others have more."""
    if not f.slow.main_is(Explanation.LOWER_WEIGHT):
        return None
    rows, cpu = on_worst_cpu(f.slow.of(Explanation.LOWER_WEIGHT))
    victim = victims_of(rows)[0]
    own = rows_where(rows, rows["tid"] == victim.tid)
    heavier = np.where(own["blocker_weight"] >= 2 * own["victim_weight"].astype(np.int64), own["blocker_ns"], 0)
    place, which = divmod(int(np.argmax(heavier)), heavier.shape[1])
    row = own[place]
    top = next(part for part in blockers_of(own) if part.tid == int(row["blocker_tid"][which]))
    levels, weights = _levels(f, row, which), _weights(row, which)
    ratio = weights[1] / max(1, weights[0])
    times = f"{ratio:.0f}" if ratio >= 9.5 else f"{ratio:.1f}".removesuffix(".0")
    share = percent(top.ns / max(1, int(own["wait_ns"].sum())))
    than = "its weight" if levels[0] is levels[1] else _ITS.get(levels[0], "its weight")
    asked = ", as it asks to" if asks_to_wait(own).all() and levels[0] is not Level.AUTOGROUP else ""
    weight = f"{_OF.get(levels[1], '')}{top.words} has {times} times {than}"
    headline = f"{victim.words} waits {up_to_words(own)}{asked}: {weight}"
    others = len(victims_of(rows)) - 1
    also = (f"{counted(others, 'other task')} {verb(others, 'waits', 'wait')} like it",) if others else ()
    had = f"weights {weights[0]} and {weights[1]}: {top.words} had CPU {cpu} for {share} of the waits"
    evidence = (had, *also, *_behind_words(f, rows, Explanation.LOWER_WEIGHT), *context_words(f))
    if f.frame.overhead.nice and top.comm == OWN_COMM:
        return Finding(
            headline, evidence, *typed("It is this schedtop; with the weight of others", "sudo schedtop --no-renice")
        )
    return Finding(headline, evidence, *_raise_words(f, row, which, levels[0]))


_OF = {Level.CGROUP: "the cgroup of ", Level.AUTOGROUP: "the session of "}
_ITS = {Level.CGROUP: "the weight of its cgroup", Level.AUTOGROUP: "the weight of its session"}


def _levels(f: Facts, row: np.void, which: int) -> tuple[Level, Level]:
    """What is compared of the victim, and of its blocker."""
    own, other = (Level.known(int(row[f"{role}_level"][which])) or Level.UNKNOWN for role in ("victim", "blocker"))
    # Recordings before 2026-11-24 have one for both, the higher one; in the root the victim has no cgroup.
    if own is Level.UNKNOWN and (other is not Level.CGROUP or f.frame.cgroups.get(int(row["cgroup_id"]), "") != "/"):
        own = other
    return own, other


def _weights(row: np.void, which: int) -> tuple[int, int]:
    return int(row["victim_weight"][which]), int(row["blocker_weight"][which])


def _raise_words(f: Facts, row: np.void, which: int, level: Level) -> tuple[str, str]:
    """What gives the victim the weight of its blocker, at the level where it is compared, and the command for it."""
    tid, weight = int(row["tid"]), int(row["blocker_weight"][which])
    nice = nice_of_weight(weight)
    if level is Level.AUTOGROUP:
        return typed("nice acts only inside of its session", f"echo {nice} > /proc/{int(row['tgid'])}/autogroup")
    if level is Level.CGROUP:
        path = _path_below(f, row, int(row["blocker_tid"][which]))
        file = f.view.host.weight_file
        if not path or not file:
            reason = "Raise the weight of its cgroup (cpu.weight, or cpu.shares); what it has"
            return typed(reason, f"schedtop task {tid}")
        amount = min(weight, MOST_SHARES) if file.endswith("shares") else cpu_weight_of_shares(weight)
        command = f"echo {amount} > {shlex.quote(file.replace('{}', path))}"
        return typed("Give its cgroup the same weight", command)
    if level is Level.UNKNOWN:
        return typed("See where it has less weight", f"schedtop task {tid}")
    if treatment(row).policy is Policy.IDLE:
        return typed("Its policy is for what may wait; make it an ordinary task", f"chrt -o -p 0 {tid}")
    reason = (
        "Give it the same weight" if nice_weight(nice) >= weight else "Give it the most weight that a task can have"
    )
    return typed(reason, f"renice -n {nice} -p {tid}")


def _path_below(f: Facts, row: np.void, rival: int) -> str:
    """The victim's cgroup right below the innermost one that is around both; empty if that is not known."""
    tasks = f.frame.tasks[f.frame.tasks["tid"] == rival]
    own = f.frame.cgroups.get(int(row["cgroup_id"]), "")
    if not len(tasks) or not own:
        return ""
    other = f.frame.cgroups.get(int(tasks["cgroup_id"][0]), "").split("/")
    names = own.rstrip("/").split("/")
    for depth, name in enumerate(names):
        if depth >= len(other) or other[depth] != name:
            return "/".join(names[: depth + 1])
    return ""


def rt_runtime(f: Facts) -> Finding | None:
    """Real-time tasks have used up what they may run, and wait until there is more."""
    if not f.slow.main_is(Explanation.RT_RUNTIME):
        return None
    rows, cpu = on_worst_cpu(f.slow.of(Explanation.RT_RUNTIME))
    top, others = victims_of(rows)[0], blockers_of(rows)
    how = "taken off" if has_fair_server(f.view.host.kernel) else "throttled on"
    headline = f"{top.words} is {how} CPU {cpu} for {up_to_words(rows)}: {_limit_words(f)}"
    ran = (f"meanwhile {others[0].words} ran for {format_ns(others[0].ns)}",) if others else ()
    evidence = (*ran, *slow_words(f, f.slow.of(Explanation.RT_RUNTIME)), *context_words(f))
    return Finding(headline, evidence, *typed("Make it an ordinary task", f"chrt -o -p 0 {top.tid}"))


def _limit_words(f: Facts) -> str:
    """What keeps real-time tasks from running on, and how much they may have."""
    kernel, ratio = f.view.host.kernel, f.view.host.rt_ratio
    told = ratio if ratio is not None and ratio < 1 else None
    if has_fair_server(kernel):
        return f"the fair server gives others {'their share' if told is None else f'{percent(1 - told)} of it'}"
    return f"{rt_keeper(kernel)} allows {'no more' if told is None else f'{percent(told)} of it'}"


def deadline_runtime(f: Facts) -> Finding | None:
    """Deadline tasks have used up the runtime that they were granted, and wait for their next period."""
    if not f.slow.main_is(Explanation.DEADLINE_RUNTIME):
        return None
    rows = f.slow.of(Explanation.DEADLINE_RUNTIME)
    top = victims_of(rows)[0]
    own = rows_where(rows, rows["tid"] == top.tid)
    runtime, period = (int(own[f"dl_{name}_ns"].max()) for name in ("runtime", "period"))
    granted = f"{format_round_ns(runtime)} of each {format_round_ns(period)}" if runtime else "runtime"
    headline = f"{top.words} is throttled {up_to_words(own)}: used up its {granted}"
    often = f"throttled {counted(len(own), 'time')} until its next period: what it does takes longer"
    often += f"; {_periods_words(f, period)}by how much is not known" if runtime else ""
    evidence = (often, *missed_words(rows), *slow_words(f, rows), *context_words(f))
    more = min(2 * runtime, period)
    if more <= runtime:
        action = typed("It needs more than it was granted; see what it does", f"schedtop task {top.tid}")
        return Finding(headline, evidence, *action)
    command = f"chrt -d -T {more} -D {period} -P {period} -p 0 {top.tid}"
    return Finding(headline, evidence, *typed("Try twice the runtime; what it needs is not known", command))


def _periods_words(f: Facts, period_ns: int) -> str:
    """How many periods the window has."""
    return f"there were {counted(f.frame.interval_ns // period_ns, 'period')}; " if period_ns else ""
