"""The verdict: one line on what keeps tasks waiting in the window shown, and what to do (docs/blame.md).

It never guesses: with missing or contradicting evidence it says so. Causes weigh by the time of their waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from schedtop.base.units import NS_PER_MS, NS_PER_S, format_ns, format_rate, format_round_ns, rate
from schedtop.history.history import View
from schedtop.model.containers import cgroup_label
from schedtop.model.rows import Rows, take_rows
from schedtop.model.waits import EVIDENCE
from schedtop.verdict.delay import judge_sums
from schedtop.verdict.facts import EXPLANATIONS, MAIN_FACTOR, MAIN_SHARE, MISSING_SHARE, Facts, gather
from schedtop.verdict.short_lived import FORK_SHARE, forks
from schedtop.verdict.wait import Part, all_blockers_of, explain, percent, task_words, victims_of, wakers_of
from schedtop.verdict.words import (
    IDLE,
    QUOTA_NOTICE,
    STEAL_ALARM,
    STEAL_NOTICE,
    among_share,
    biggest_words,
    blocker_words,
    calm_words,
    context_words,
    delay_words,
    delayed,
    idle_words,
    longest_runner,
    main_blocker,
    main_victims,
    on_worst_cpu,
    p99_words,
    quota_above,
    share_words,
    slow_words,
    task_names,
    waiters,
    widen_words,
)

SHORTEST_NS = 100 * NS_PER_MS  # the usual period of a quota: shares of less are chance
FEW_WAITS = 20  # of fewer, one alone decides the percentiles
STOLEN_SHARE = 0.25  # from here on more CPU time from the host shortens slow waits on busy CPUs
PRESSURE_NOTICE = 0.2  # wakeups alone make some; this is more
STARVED_NS = NS_PER_S  # longer than any slice or period, and when real-time tasks must let others run
STORM_VICTIMS = 8  # who wakes fewer is an ordinary waker
ROOM = 0.5  # a CPU that is idle so much takes half of what waits
QUIET_NS = 100_000  # waits up to here are the price of a switch: of longer ones the kernel side asks who was to blame
CLOCK_NS = 20 * NS_PER_MS  # two steps of /proc/stat: no contradiction yet


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong (`headline`), why we say so (most important first), and one sentence on what to do.

    `level`: `ok`, `notice`, `alarm`, or `unknown` (it cannot be told); `rule`: the id of the rule, see docs/blame.md.
    """

    level: str
    rule: str
    headline: str
    evidence: tuple[str, ...] = ()
    action: str = ""

    def sentences(self) -> str:
        """All of it as prose."""
        evidence = f"Evidence: {'; '.join(self.evidence)}" if self.evidence else ""
        return " ".join(f"{part}." for part in (self.headline, evidence, self.action) if part)


Rule = Callable[[Facts], Verdict | None]


def judge(view: View) -> Verdict:
    """The verdict on a View: that of the first of RULES that applies."""
    facts = gather(view)
    verdicts = (rule(facts) for rule in RULES)
    return next(
        (verdict for verdict in verdicts if verdict), Verdict("unknown", "undecided", "Why tasks wait is unknown")
    )


# --- What cannot be judged -------------------------------------------------------------------------------------------


def _too_short(f: Facts) -> Verdict | None:
    if f.frame.interval_ns >= SHORTEST_NS:
        return None
    span = format_ns(f.frame.interval_ns)
    return Verdict("unknown", "too-short", f"{span} are too short to judge", (), "Choose a longer window or interval")


def _unavailable(f: Facts) -> Verdict | None:
    for part, words in (("latency", "How long"), ("slow_waits", "Why"), ("switches", "How long")):
        if part in f.frame.unavailable:
            headline = f"{words} tasks wait is not known: {f.frame.unavailable[part]}"
            return Verdict("unknown", "unavailable", headline, context_words(f), "Use another source or kernel")
    return None


def _sums_only(f: Facts) -> Verdict | None:
    """Without single waits, but with the run delay of each task: that they wait can be told, not why."""
    if "latency" not in f.frame.unavailable or {"tasks", "run_delay"} & f.frame.unavailable.keys():
        return None
    nothing = _nothing_passes(f)
    return nothing or Verdict(*judge_sums(f))


def _nothing_passes(f: Facts) -> Verdict | None:
    """What is notable of the host alone is no verdict on tasks that are not there."""
    if not f.view.settings.shown_filter.names_tasks or len(f.view.tasks) or len(f.waits):
        return None
    headline, action = "Nothing passes the filter: no task to judge", "Check the filter, or choose a longer window"
    if "tasks" in f.frame.unavailable:
        headline = f"Nothing slow passes the filter, and tasks are not known: {f.frame.unavailable['tasks']}"
    return Verdict("unknown", "few", headline, context_words(f), action)


def _contradiction(f: Facts) -> Verdict | None:
    # Only waits that lie within the window can be compared with its totals.
    rows = f.of(f.main) if f.main else f.waits[:0]
    rows = rows[rows["time_ns"] - rows["wait_ns"] >= f.frame.start_time_ns]
    evidence = []
    if f.main == "stolen" and f.steal is not None and len(rows):
        longest, total = int(rows["stolen_ns"].max()), f.frame.total("steal_ns")
        if longest > total + CLOCK_NS:
            evidence.append(f"{format_ns(longest)} of one wait were stolen, but {format_ns(total)} in all")
    if f.main in ("pinned", "not balanced", "idle-cpu"):
        for cpu, ratio in f.idle.items():
            longest = int(rows["idle_cpu_ns"][rows["idle_cpu"] == cpu].max(initial=0))
            total = int(ratio * f.frame.interval_ns)
            if longest > total + CLOCK_NS:
                evidence.append(
                    f"CPU {cpu} was idle for {format_ns(longest)} of one wait, but {format_ns(total)} in all"
                )
    if not evidence:
        return None
    headline = "The evidence contradicts itself: why tasks wait is not known"
    return Verdict("unknown", "contradiction", headline, (*evidence, *context_words(f)), "Look at a longer window")


def _incomplete(f: Facts) -> Verdict | None:
    if _seen(f):
        return None
    headline = f"Why tasks wait is not known: {percent(f.missing)} of the slow waits were not seen"
    evidence = (*slow_words(f, f.waits), *p99_words(f), *context_words(f))
    return Verdict("unknown", "incomplete", headline, evidence, "Raise the threshold, or look at who blocks whom")


def _mixed(f: Facts) -> Verdict | None:
    if f.main or not f.enough:
        return None
    names = sorted(f.weights, key=lambda name: -f.weights[name])[:3]
    shares = ", ".join(f"{EXPLANATIONS[name]} {percent(f.share(name))}" for name in names)
    evidence = (*slow_words(f, f.waits), *p99_words(f), *context_words(f))
    return Verdict(
        f.level, "mixed", f"Mixed causes: {shares} of the slow waits", evidence, "Begin with the first of them"
    )


# --- Slow waits with one main cause ----------------------------------------------------------------------------------


def _main_is(f: Facts, *names: str) -> bool:
    return f.enough and f.main in names


def _seen(f: Facts) -> bool:
    return f.missing <= MISSING_SHARE


def _starving(f: Facts) -> Verdict | None:
    """Someone waits on and on: no wait of his has ended, so that no slow wait tells of him."""
    waiting = f.view.tasks["waiting_ns"]
    starved = f.view.tasks[waiting >= max(STARVED_NS, f.frame.threshold_ns)]
    within = int(np.minimum(starved["waiting_ns"], f.frame.interval_ns).sum())
    if not len(starved) or within <= MAIN_FACTOR * sum(f.weights.values()) or "tasks" in f.frame.unavailable:
        return None
    row = starved[int(np.argmax(starved["waiting_ns"]))]
    who, cpu = task_words(int(row["tid"]), row["comm"]), int(row["last_cpu"])
    rivals = f.frame.tasks[(f.frame.tasks["last_cpu"] == cpu) & (f.frame.tasks["tid"] != row["tid"])]
    evidence = (
        *([f"tasks that wait like it: {len(starved) - 1} more"] if len(starved) > 1 else []),
        *(f"its group {cgroup_label(path)} is throttled" for path, _ in quota_above(f, int(row["cgroup_id"]))),
        *(
            f"{each.words} ran {format_ns(each.ns)} and was last seen on CPU {cpu}, too"
            for each in longest_runner(rivals)
        ),
        *context_words(f),
    )
    waited = format_ns(int(row["waiting_ns"]))
    if f.idle.get(cpu, 0.0) >= IDLE or f.frame.loss.tasks_untracked:
        headline = f"{who} seems to have waited for {waited}, but its CPU was idle or not every task was seen"
        return Verdict("unknown", "starving", headline, evidence, "Compare with /proc/<tid>/schedstat")
    headline = f"{who} has been waiting for {waited} and still does not run"
    return Verdict("alarm", "starving", headline, evidence, "Lower the priority of who runs there, or move one of them")


def _throttled(f: Facts) -> Verdict | None:
    if not _main_is(f, "throttled"):
        return None
    rows = f.of("throttled")
    groups, places = np.unique(rows["cgroup_id"], return_inverse=True)
    place = int(np.argmax(np.bincount(places, rows["wait_ns"])))
    group, most = int(groups[place]), victims_of(take_rows(rows, np.flatnonzero(places == place)))[0]
    quota = next(iter(quota_above(f, group)), None)
    path = quota[0] if quota else f.frame.cgroups.get(group, "")
    who = cgroup_label(path) if path else most.words
    often = f" in {percent(quota[1])} of its periods" if quota else ""
    inferred = bool((rows["evidence"] == EVIDENCE.index("inferred")).any())
    fine = f.p99_ns is not None and f.p99_ns < f.frame.threshold_ns and not inferred
    evidence = (
        *(["inferred from cpu.stat"] if inferred else []),
        *([] if quota else ["how often is not known yet"]),
        f"most: {most.words} waited {format_ns(most.ns)}",
        *slow_words(f, rows),
        *([f"other waits are fine: p99 {format_ns(f.p99_ns)}"] if fine else []),
        *context_words(f, "quotas"),
    )
    return Verdict(
        f.level, "throttled", f"{who} is throttled by its quota{often}", evidence, "Raise the quota or spread the work"
    )


def _stolen(f: Facts) -> Verdict | None:
    stolen_share = int(f.waits["stolen_ns"].sum()) / max(1, sum(f.weights.values()))
    both = _main_is(f, "queueing") and (f.steal or 0) >= STEAL_ALARM and stolen_share >= STOLEN_SHARE
    if not _main_is(f, "stolen") and not both:
        return None
    headline = f"The hypervisor had the CPU for at least {percent(stolen_share)} of the slow waits"
    if f.steal is not None and f.steal >= STEAL_NOTICE:
        headline = f"Steal is {percent(f.steal)}: {_OVERSUBSCRIBED}"
    evidence = (
        f"at least {percent(stolen_share)} of the slow waiting time was stolen",
        *([f"steal is {percent(f.steal)} of the time"] if f.steal is not None else ["steal is not available"]),
        *slow_words(f, f.waits),
        *context_words(f, "steal"),
    )
    return Verdict(f.level, "stolen", headline, evidence, _ASK_HOST)


_OVERSUBSCRIBED = "the host is oversubscribed or limits this VM"
_ASK_HOST = "Move the VM or ask for dedicated CPUs"


def _pinned(f: Facts) -> Verdict | None:
    if not _main_is(f, "pinned"):
        return None
    rows, cpu = on_worst_cpu(f.of("pinned"))
    victims = main_victims(rows)
    rows = take_rows(rows, np.flatnonzero(np.isin(rows["tid"], [victim.tid for victim in victims])))
    who, other = f"CPU {cpu}: {task_names(victims)} {'is' if len(victims) == 1 else 'are'}", idle_words(f, rows)
    slow, rival = slow_words(f, f.of("pinned")), _rival(rows, victims)
    if rival:
        waits = f"{share_words(rows, rival)} of {'its' if len(victims) == 1 else 'their'} waits"
        headline = f"{who} pinned behind {rival.words}, which had the CPU for {waits}; {other}"
        action = f"Widen the affinity, or lower the priority of {rival.words}"
        return Verdict(f.level, "pinned", headline, (*slow, *context_words(f)), action)
    one = "it" if (rows["allowed_cpus"] == 1).all() else "some CPUs"
    turns = " and take turns" if len(victims) > 1 and among_share(rows, victims) >= MAIN_SHARE else ""
    p99 = f.frame.latency.histogram(None, cpu).percentile_ns(0.99) if cpu < f.frame.latency.cpus else None
    how_long = f" (p99 {format_ns(p99)})" if p99 is not None else ""
    headline = f"{who} pinned to {one}{turns}{how_long}; {other}"
    evidence = (*slow, *blocker_words(rows), *context_words(f))
    return Verdict(f.level, "pinned", headline, evidence, widen_words(f, victims))


def _rival(rows: Rows, victims: Sequence[Part]) -> Part | None:
    """The one behind which these are pinned, unless they mostly wait for each other."""
    top = main_blocker(rows)
    if top is None or among_share(rows, victims) >= MAIN_SHARE or top.tid in {victim.tid for victim in victims}:
        return None
    return top


def _unbalanced(f: Facts) -> Verdict | None:
    if not _main_is(f, "not balanced"):
        return None
    rows, cpu = on_worst_cpu(f.of("not balanced"))
    victims = victims_of(rows)
    verb = "waits" if len(victims) == 1 else "wait"
    headline = f"CPU {cpu}: {task_names(victims)} {verb}, though allowed elsewhere; {idle_words(f, rows)}"
    evidence = (*slow_words(f, f.of("not balanced")), *blocker_words(rows), *context_words(f))
    return Verdict(
        f.level, "not-balanced", headline, evidence, "Check isolcpus and cpuset partitions, or move tasks by hand"
    )


def _idle_elsewhere(f: Facts) -> Verdict | None:
    if not _main_is(f, "idle-cpu"):
        return None
    rows, cpu = on_worst_cpu(f.of("idle-cpu"))
    victim = victims_of(rows)[0]
    headline = f"CPU {cpu}: {victim.words} waits while another is idle; if it may run there is not known"
    evidence = (idle_words(f, rows), *slow_words(f, f.of("idle-cpu")), *context_words(f))
    return Verdict("unknown", "idle-cpu", headline, evidence, f"Check its affinity: taskset -p {victim.tid}")


def _yielding(f: Facts) -> Verdict | None:
    if not _main_is(f, "yield"):
        return None
    rows = f.of("yield")
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
    return Verdict(f.level, "yield", headline, evidence, "Let it block on a futex instead of yielding")


def _dominated(f: Facts) -> Verdict | None:
    rows = f.of("queueing")
    blockers = all_blockers_of(rows)
    whole = int(rows["wait_ns"].sum())
    if not _seen(f) or not _main_is(f, "queueing") or not blockers or blockers[0].ns < MAIN_SHARE * whole:
        return None
    top = blockers[0]
    kept_waiting = rows[((rows["blocker_tid"] == top.tid) & (rows["blocker_ns"] > 0)).any(axis=1)]
    tasks, cpus = len(np.unique(kept_waiting["tid"])), np.unique(kept_waiting["cpu"]).tolist()
    where = f"CPU {cpus[0]}" if len(cpus) == 1 else f"{len(cpus)} CPUs"
    headline = (
        f"{top.words} had the CPU for {percent(top.ns / whole)} of the slow waits of "
        f"{tasks} task{'s' if tasks != 1 else ''} on {where}"
    )
    evidence = (
        f"most of it: {victims_of(kept_waiting)[0].words}",
        *slow_words(f, rows),
        *p99_words(f),
        *context_words(f),
    )
    return Verdict(
        f.level, "blocker", headline, evidence, f"Lower the priority of {top.words}, or give it a CPU of its own"
    )


def _storm(f: Facts) -> Verdict | None:
    rows = f.of("queueing")
    whole = int(rows["wait_ns"].sum())
    wakers = wakers_of(rows)
    if not _seen(f) or not _main_is(f, "queueing") or not wakers or wakers[0].ns < MAIN_SHARE * whole:
        return None
    top = wakers[0]
    victims = len(np.unique(rows["tid"][rows["waker_tid"] == top.tid]))
    if victims < STORM_VICTIMS:
        return None
    headline = (
        f"{top.words} wakes {victims} tasks that then wait for a CPU: {percent(top.ns / whole)} of the slow waits"
    )
    evidence = (*slow_words(f, rows), *blocker_words(rows), *p99_words(f), *context_words(f))
    return Verdict(f.level, "wakeups", headline, evidence, "Wake fewer tasks at a time, or use fewer workers")


def _forks(f: Facts) -> Verdict | None:
    """Not where there are few slow waits and another reason for those that may come."""
    others = (f.steal or 0) >= STEAL_NOTICE or (bool(f.quotas) and f.quotas[0][1] >= QUOTA_NOTICE)
    found = forks(f) if _main_is(f, "queueing") or (not f.enough and not others) else None
    if found is None or found.share < FORK_SHARE:
        return None
    evidence = (*found.evidence, *slow_words(f, f.of("queueing")), *p99_words(f), *context_words(f, "forks"))
    headline = f"{found.words} take {percent(found.named_share)} of the busy CPU time"
    action = "Start fewer processes: do more in each, or keep workers (pane Short-lived)"
    level = f.level if f.enough else "notice"
    return Verdict(level, "forks", headline, evidence, action)


def _saturated(f: Facts) -> Verdict | None:
    waiting = f.waiting
    if not (_main_is(f, "queueing") or not f.enough) or not f.full or round(waiting) < 1:
        return None
    mean = sum(f.busy.values()) / len(f.busy)
    cpus = "1 CPU is" if len(f.busy) == 1 else f"{len(f.busy)} CPUs are"
    tasks = "1 task waits" if round(waiting) == 1 else f"{waiting:.0f} tasks wait"
    evidence = (*biggest_words(f.tasks_there), *slow_words(f, f.of("queueing")), *p99_words(f), *context_words(f))
    headline = f"{cpus} {percent(mean)} busy and {tasks} on average: more work than CPUs"
    return Verdict(
        f.level, "saturated", headline, evidence, "Run less at a time, add CPUs, or lower the priority of what can wait"
    )


def _queueing(f: Facts) -> Verdict | None:
    if not _main_is(f, "queueing"):
        return None
    rows, cpu = on_worst_cpu(f.of("queueing"))
    share = int(rows["wait_ns"].sum()) / max(1, f.weights["queueing"])
    busy = f", {percent(f.busy[cpu])} busy" if cpu in f.busy else ""
    top = main_blocker(rows)
    stands_out = f", where {top.words} had the CPU for {share_words(rows, top)}" if top else ""
    headline = f"Tasks wait for each other, {percent(share)} of it on CPU {cpu}"
    headline += stands_out or f"{busy}; no single cause stands out"
    evidence = (
        f"most: {victims_of(rows)[0].words}",
        *([] if top else blocker_words(rows)),
        *slow_words(f, f.waits),
        *p99_words(f),
        *context_words(f),
    )
    return Verdict(f.level, "queueing", headline, evidence, "Look at who blocks whom (pane Blame)")


# --- Few slow waits, or none -----------------------------------------------------------------------------------------


def _quota(f: Facts) -> Verdict | None:
    if f.enough or not f.quotas or f.quotas[0][1] < QUOTA_NOTICE:
        return None
    path, share = f.quotas[0]
    who = cgroup_label(path) if path else "A cgroup"
    headline = f"{who} is throttled by its quota in {percent(share)} of its periods"
    evidence = (*calm_words(f), *context_words(f, "quotas"))
    return Verdict("notice", "quota", headline, evidence, "Raise the quota or spread the work")


def _steal(f: Facts) -> Verdict | None:
    if f.enough or f.steal is None or f.steal < STEAL_NOTICE:
        return None
    level = "alarm" if f.steal >= STEAL_ALARM else "notice"
    headline = f"Steal is {percent(f.steal)}: {_OVERSUBSCRIBED}"
    return Verdict(level, "steal", headline, (*calm_words(f), *context_words(f, "steal")), _ASK_HOST)


def _turns(f: Facts) -> Verdict | None:
    """No wait is slow, but there are so many that it comes to the same: tasks that share one CPU while others idle."""
    tasks, cpu = delayed(f)
    idle = {other: ratio for other, ratio in f.idle.items() if other != cpu and ratio >= ROOM}
    if not len(tasks) or f.full or not idle or len(f.frame.cpus.ids) < 2 or not (tasks["allowed_cpus"] == 1).all():
        return None
    most, victims = max(idle, key=lambda other: idle[other]), waiters(tasks)
    verb = "is" if len(tasks) == 1 else "are"
    turns = " and take turns" if len(tasks) > 1 else ""
    p99 = f.frame.latency.histogram(None, cpu).percentile_ns(0.99) or 0
    headline = (
        f"CPU {cpu}: {task_names(victims)} {verb} pinned to it{turns} (p99 {format_ns(p99)}); "
        f"CPU {most} is {percent(idle[most])} idle"
    )
    evidence = (*delay_words(f, tasks), *context_words(f))
    return Verdict("notice", "turns", headline, evidence, widen_words(f, victims))


def _waiting(f: Facts) -> Verdict | None:
    """The same without such a simple reason."""
    tasks, cpu = delayed(f)
    if not len(tasks):
        return None
    verb = "waits" if len(tasks) == 1 else "wait"
    share = int(tasks["run_delay_ns"].sum()) / len(tasks) / max(1, f.frame.interval_ns)
    headline = f"CPU {cpu}: {task_names(waiters(tasks))} {verb} {percent(share)} of the time, in short turns"
    evidence = (*delay_words(f, tasks), *p99_words(f), *context_words(f))
    action = "Look at who blocks whom (pane Blame), or lower the threshold to see why"
    return Verdict("notice", "waiting", headline, evidence, action)


def _rare(f: Facts) -> Verdict | None:
    if f.enough or not len(f.waits):
        return None
    worst = f.waits[int(np.argmax(f.waits["wait_ns"]))]
    count = len(f.waits)
    longest = format_ns(int(worst["wait_ns"]))
    headline = f"{count} slow wait{'s' if count != 1 else ''}, the longest {longest}: too few for a common cause"
    return Verdict(
        "notice", "rare", headline, (explain(worst).rstrip("."), *p99_words(f)), "Look at the slow waits one by one"
    )


def _pressed(f: Facts) -> Verdict | None:
    if f.enough or f.pressure is None or f.pressure < PRESSURE_NOTICE:
        return None
    headline = f"Some task waits {percent(f.pressure)} of the time (PSI), but no wait is slow"
    return Verdict("notice", "pressure", headline, p99_words(f), "Lower the threshold to see these waits")


def _few(f: Facts) -> Verdict | None:
    count = f.view.latency().count
    if f.enough or f.view.settings.shown_filter.names_tasks or count >= FEW_WAITS:
        return None
    headline = f"Nothing is slow, but only {count} waits ended: too little to judge"
    return Verdict("unknown", "few", headline, context_words(f), "Choose a longer window")


def _calm(f: Facts) -> Verdict | None:
    if f.enough or len(f.waits):
        return None
    if f.p99_ns is None:
        longest = format_ns(int(f.view.tasks["max_wait_ns"].max(initial=0)))
        headline = f"No slow wait of what the filter shows; its longest is {longest}"
    elif f.p99_ns <= QUIET_NS:
        headline = f"Nothing waits: p99 is {format_ns(f.p99_ns)}"
    else:
        headline = f"No wait is slow: p99 is {format_ns(f.p99_ns)}, slow is {format_round_ns(f.frame.threshold_ns)}"
    return Verdict("ok", "calm", headline, context_words(f), "Look elsewhere: locks, I/O, the network")


RULES: Sequence[Rule] = (
    _too_short,
    _sums_only,
    _unavailable,
    _nothing_passes,
    _starving,
    _contradiction,
    _dominated,
    _storm,
    _forks,
    _saturated,
    _incomplete,
    _mixed,
    _throttled,
    _stolen,
    _pinned,
    _unbalanced,
    _idle_elsewhere,
    _yielding,
    _queueing,
    _quota,
    _steal,
    _turns,
    _waiting,
    _rare,
    _pressed,
    _few,
    _calm,
)
"""In order of importance: the first that applies is the verdict."""
