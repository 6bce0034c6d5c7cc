"""The verdict: one line on what keeps tasks waiting in the window shown, and what to do (docs/blame.md).

It never guesses: with missing or contradicting evidence it says so. Causes weigh by the time of their waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from schedtop.blame import Part, all_blockers_of, explain, percent, task_words, victims_of, wakers_of
from schedtop.containers import cgroup_label
from schedtop.histogram import LOW_NS
from schedtop.history import View
from schedtop.model import Frame
from schedtop.rows import CAUSES, EVIDENCE, Integers, Rows, take_rows
from schedtop.units import NS_PER_MS, NS_PER_S, format_ns, format_rate, format_round_ns, rate

SHORTEST_NS = 100 * NS_PER_MS  # the usual period of a quota: shares of less are chance
FEW_WAITS = 20  # of fewer, one alone decides the percentiles
FEW_SLOW = 5  # fewer slow waits show no common cause,
LITTLE_LOAD = 0.1  # unless they are long: so many tasks were waiting on average
ALARM_LOAD = 0.5  # half a task that always waits: a CPU's worth of work is late half of the time
MAIN_SHARE, MAIN_FACTOR = 0.6, 2.0  # the main one has most of the time, or twice that of the next: else it is mixed
MISSING_SHARE = 0.5  # with more unseen than seen, what is seen need not be typical
COVERED_SHARE = 0.5  # the same for who had the CPU
STEAL_NOTICE, STEAL_ALARM = 0.05, 0.10  # as the header marks it (panes/levels.py)
STOLEN_SHARE = 0.25  # from here on more CPU time from the host shortens slow waits on busy CPUs
BUSY = 0.9  # no room left, given the 10 ms steps of /proc/stat
IDLE = 0.1  # could have taken work
QUOTA_NOTICE = 0.1  # who runs out in fewer of its periods seldom notices
PRESSURE_NOTICE = 0.2  # wakeups alone make some; this is more
PRESSURE_SPAN_NS = 10 * NS_PER_S  # the kernel brings it up to date every 2 s: shorter spans jump
STARVED_NS = NS_PER_S  # longer than any slice or period, and when real-time tasks must let others run
STORM_VICTIMS = 8  # who wakes fewer is an ordinary waker
QUIET_NS = 100_000  # waits up to here are the price of a switch: of longer ones the kernel side asks who was to blame
CLOCK_NS = 20 * NS_PER_MS  # two steps of /proc/stat: no contradiction yet

EXPLANATIONS = {
    "queueing": "others on the CPU",
    "yield": "sched_yield",
    "throttled": "quotas",
    "stolen": "the hypervisor",
    "pinned": "affinity beside an idle CPU",
    "not balanced": "an idle CPU that was not used",
    "idle-cpu": "an idle CPU, affinity unknown",
    "unknown": "a cause that this version does not know",
}
"""What slow waits are weighed by, with words. `queueing` is what just began with a wakeup or a preemption."""

_NAMES = tuple(EXPLANATIONS)


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


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What the rules ask about, of one View. Ratios are 0..1, by CPU those of the CPUs shown; `None`: unknown.

    `waits`: slow waits shown, `kinds` their places in EXPLANATIONS, `weights` their nanoseconds by that; `main`: the
    explanation that dominates, if one does; `load`: tasks in slow waits on average; `missing`: the share of slow waits
    that was not seen; `quotas`: paths and shares of throttled periods, the largest first.
    """

    view: View
    waits: Rows
    kinds: Integers
    weights: Mapping[str, int]
    main: str
    load: float
    missing: float
    p99_ns: int | None
    busy: Mapping[int, float]
    idle: Mapping[int, float]
    steal: float | None
    pressure: float | None
    quotas: tuple[tuple[str, float], ...]

    @property
    def frame(self) -> Frame:
        """The Frame of the window."""
        return self.view.frame

    @property
    def enough(self) -> bool:
        """Whether there are slow waits enough to speak of a cause."""
        return len(self.waits) >= FEW_SLOW or self.load >= LITTLE_LOAD

    @property
    def level(self) -> str:
        """How bad the slow waits are."""
        return "alarm" if self.load >= ALARM_LOAD else "notice"

    @property
    def full(self) -> bool:
        """Whether every CPU shown is busy."""
        return bool(self.busy) and set(self.busy) == set(self.view.cpu_ids) and min(self.busy.values()) >= BUSY

    def of(self, name: str) -> Rows:
        """The slow waits of one explanation."""
        return take_rows(self.waits, np.flatnonzero(self.kinds == _NAMES.index(name)))

    def share(self, name: str) -> float:
        """Its share of the time of all slow waits."""
        return self.weights.get(name, 0) / max(1, sum(self.weights.values()))


Rule = Callable[[Facts], Verdict | None]


def judge(view: View) -> Verdict:
    """The verdict on a View: that of the first of RULES that applies."""
    facts = gather(view)
    verdicts = (rule(facts) for rule in RULES)
    return next(
        (verdict for verdict in verdicts if verdict), Verdict("unknown", "undecided", "Why tasks wait is unknown")
    )


def gather(view: View) -> Facts:
    """The Facts of a View."""
    frame = view.frame
    waits = take_rows(view.slow_waits, np.flatnonzero(view.slow_waits["wait_ns"] >= max(1, frame.threshold_ns)))
    kinds = _kinds(waits)
    totals = np.bincount(kinds, waits["wait_ns"], len(_NAMES)).astype(np.int64).tolist()
    weights = {name: ns for name, ns in zip(_NAMES, totals, strict=True) if ns > 0}
    idle_ns = {} if "switches" in frame.unavailable else dict(enumerate(frame.cpus.column("idle_ns").tolist()))
    busy = {cpu: frame.ratio("busy_ns", cpu) for cpu in view.cpu_ids}
    return Facts(
        view=view,
        waits=waits,
        kinds=kinds,
        weights=weights,
        main=_main(weights),
        load=sum(weights.values()) / max(1, frame.interval_ns),
        missing=_missing(frame),
        p99_ns=None if _asks_for_tasks(view) else view.latency().percentile_ns(0.99),
        busy={cpu: ratio for cpu, ratio in busy.items() if ratio is not None},
        idle={cpu: min(1.0, idle_ns[cpu] / max(1, frame.interval_ns)) for cpu in view.cpu_ids if cpu in idle_ns},
        steal=frame.ratio("steal_ns"),
        pressure=_pressure(view.series),
        quotas=_quotas(frame),
    )


def _kinds(waits: Rows) -> Integers:
    """The place in EXPLANATIONS of each wait."""
    table = np.full((len(CAUSES) + 1, len(EVIDENCE) + 1), _NAMES.index("unknown"))
    for place, name in enumerate(CAUSES):
        table[place] = _NAMES.index(name if name in EXPLANATIONS else "queueing")
    for name in ("pinned", "not balanced"):
        table[CAUSES.index("idle-cpu"), EVIDENCE.index(name)] = _NAMES.index(name)
    # What a later version may write is the last row and column.
    cause = np.where((waits["cause"] >= 0) & (waits["cause"] < len(CAUSES)), waits["cause"], len(CAUSES))
    evidence = np.where((waits["evidence"] >= 0) & (waits["evidence"] < len(EVIDENCE)), waits["evidence"], -1)
    kinds: Integers = table[cause, evidence]
    return kinds


def _main(weights: Mapping[str, int]) -> str:
    ordered = sorted(weights.items(), key=lambda item: -item[1])
    if not ordered:
        return ""
    name, most = ordered[0]
    second = ordered[1][1] if len(ordered) > 1 else 0
    return name if most >= MAIN_SHARE * sum(weights.values()) or most >= MAIN_FACTOR * second else ""


def _missing(frame: Frame) -> float:
    """By what the kernel side counted as lost, and by the histogram, which counts all but throttled waits."""
    seen = int((frame.slow_waits["wait_ns"] >= frame.threshold_ns).sum())
    counts = frame.latency.counts[:, :, np.searchsorted(LOW_NS, frame.threshold_ns) :]
    loss = frame.loss
    lost = loss.ring_dropped + loss.slow_waits_suppressed + loss.slow_waits_forgotten
    lost = max(lost, int(counts.sum(dtype=np.int64)) - seen)
    return lost / (lost + seen) if lost >= FEW_SLOW else 0.0


def _asks_for_tasks(view: View) -> bool:
    """Whether the filter is about more than CPUs: histograms are of all tasks."""
    return bool(replace(view.settings.filter, cpus=()))


def _pressure(series: Sequence[Frame]) -> float | None:
    span_ns = some_ns = 0
    for frame in reversed(series):
        if frame.pressure is None or "pressure" in frame.unavailable:
            return None
        span_ns, some_ns = span_ns + frame.interval_ns, some_ns + frame.pressure.some_ns
        if span_ns >= PRESSURE_SPAN_NS:
            return some_ns / span_ns
    return None


def _quotas(frame: Frame) -> tuple[tuple[str, float], ...]:
    rows = frame.throttling[(frame.throttling["periods"] > 0) & (frame.throttling["throttled_periods"] > 0)]
    shares = np.minimum(1, rows["throttled_periods"] / rows["periods"]).tolist()
    groups = zip((frame.cgroups.get(group, "") for group in rows["cgroup_id"].tolist()), shares, strict=True)
    return tuple(sorted(groups, key=lambda item: -item[1]))


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
            return Verdict("unknown", "unavailable", headline, _context(f), "Use another source or kernel")
    return None


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
    return Verdict("unknown", "contradiction", headline, (*evidence, *_context(f)), "Look at a longer window")


def _incomplete(f: Facts) -> Verdict | None:
    if _seen(f):
        return None
    headline = f"Why tasks wait is not known: {percent(f.missing)} of the slow waits were not seen"
    evidence = (*_slow_words(f, f.waits), *_p99(f), *_context(f))
    return Verdict("unknown", "incomplete", headline, evidence, "Raise the threshold, or look at who blocks whom")


def _mixed(f: Facts) -> Verdict | None:
    if f.main or not f.enough:
        return None
    names = sorted(f.weights, key=lambda name: -f.weights[name])[:3]
    shares = ", ".join(f"{EXPLANATIONS[name]} {percent(f.share(name))}" for name in names)
    evidence = (*_slow_words(f, f.waits), *_p99(f), *_context(f))
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
        *(f"its group {cgroup_label(path)} is throttled" for path, _ in _quota_of(f, int(row["cgroup_id"]))),
        *(f"{each.words} ran {format_ns(each.ns)} and was last seen on CPU {cpu}, too" for each in _runners(rivals)),
        *_context(f),
    )
    waited = format_ns(int(row["waiting_ns"]))
    if f.frame.loss.switches_unseen or f.frame.loss.tasks_untracked:
        headline = f"{who} seems to have waited for {waited}, but not every switch was seen"
        return Verdict("unknown", "starving", headline, evidence, "Compare with /proc/<tid>/schedstat")
    headline = f"{who} has been waiting for {waited} and still does not run"
    return Verdict("alarm", "starving", headline, evidence, "Lower the priority of who runs there, or move one of them")


def _throttled(f: Facts) -> Verdict | None:
    if not _main_is(f, "throttled"):
        return None
    rows = f.of("throttled")
    groups, places = np.unique(rows["cgroup_id"], return_inverse=True)
    group = int(groups[int(np.argmax(np.bincount(places, rows["wait_ns"])))])
    quota = next(iter(_quota_of(f, group)), None)
    path = quota[0] if quota else f.frame.cgroups.get(group, "")
    who = cgroup_label(path) if path else victims_of(rows)[0].words
    often = f" in {percent(quota[1])} of its periods" if quota else ""
    inferred = bool((rows["evidence"] == EVIDENCE.index("inferred")).any())
    fine = f.p99_ns is not None and f.p99_ns < f.frame.threshold_ns and not inferred
    evidence = (
        *(["inferred from cpu.stat"] if inferred else []),
        *([] if quota else ["how often is not known: no cpu.stat of its cgroup"]),
        *_slow_words(f, rows),
        *([f"other waits are fine: p99 {format_ns(f.p99_ns)}"] if fine else []),
        *_context(f, "quotas"),
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
        *_slow_words(f, f.waits),
        *_context(f, "steal"),
    )
    return Verdict(f.level, "stolen", headline, evidence, _ASK_HOST)


_OVERSUBSCRIBED = "the host is oversubscribed or limits this VM"
_ASK_HOST = "Move the VM or ask for dedicated CPUs"


def _pinned(f: Facts) -> Verdict | None:
    if not _main_is(f, "pinned"):
        return None
    rows, cpu = _worst_cpu(f.of("pinned"))
    victims = victims_of(rows)
    one = "it" if (rows["allowed_cpus"] == 1).all() else "some CPUs"
    verb = "is" if len(victims) == 1 else "are"
    # They wait for each other only if nobody else has the CPU for long.
    among = sum(part.ns for part in all_blockers_of(rows) if part.tid in {victim.tid for victim in victims})
    turns = " and take turns" if len(victims) > 1 and among >= MAIN_SHARE * int(rows["wait_ns"].sum()) else ""
    p99 = f.frame.latency.histogram(None, cpu).percentile_ns(0.99) if cpu < f.frame.latency.counts.shape[1] else None
    how_long = f" (p99 {format_ns(p99)})" if p99 is not None else ""
    headline = f"CPU {cpu}: {_task_names(victims)} {verb} pinned to {one}{turns}{how_long}; {_idle_words(f, rows)}"
    evidence = (*_slow_words(f, f.of("pinned")), *_blocker_words(rows), *_context(f))
    return Verdict(f.level, "pinned", headline, evidence, "Widen the affinity")


def _unbalanced(f: Facts) -> Verdict | None:
    if not _main_is(f, "not balanced"):
        return None
    rows, cpu = _worst_cpu(f.of("not balanced"))
    victims = victims_of(rows)
    verb = "waits" if len(victims) == 1 else "wait"
    headline = f"CPU {cpu}: {_task_names(victims)} {verb}, though allowed elsewhere; {_idle_words(f, rows)}"
    evidence = (*_slow_words(f, f.of("not balanced")), *_blocker_words(rows), *_context(f))
    return Verdict(
        f.level, "not-balanced", headline, evidence, "Check isolcpus and cpuset partitions, or move tasks by hand"
    )


def _idle_elsewhere(f: Facts) -> Verdict | None:
    if not _main_is(f, "idle-cpu"):
        return None
    rows, cpu = _worst_cpu(f.of("idle-cpu"))
    victim = victims_of(rows)[0]
    headline = f"CPU {cpu}: {victim.words} waits while another is idle; if it may run there is not known"
    evidence = (_idle_words(f, rows), *_slow_words(f, rows), *_context(f))
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
        *_slow_words(f, rows),
        *_context(f),
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
    evidence = (f"most of it: {victims_of(kept_waiting)[0].words}", *_slow_words(f, rows), *_p99(f), *_context(f))
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
    evidence = (*_slow_words(f, rows), *_blocker_words(rows), *_p99(f), *_context(f))
    return Verdict(f.level, "wakeups", headline, evidence, "Wake fewer tasks at a time, or use fewer workers")


def _saturated(f: Facts) -> Verdict | None:
    waiting = f.frame.ended_wait_ns / max(1, f.frame.interval_ns)
    if not _main_is(f, "queueing") or not f.full or round(waiting) < 1:
        return None
    mean = sum(f.busy.values()) / len(f.busy)
    cpus = "1 CPU is" if len(f.busy) == 1 else f"{len(f.busy)} CPUs are"
    tasks = "1 task waits" if round(waiting) == 1 else f"{waiting:.0f} tasks wait"
    biggest = [f"biggest: {each.words} ran {format_ns(each.ns)}" for each in _runners(f.frame.tasks)]
    evidence = (*biggest, *_slow_words(f, f.of("queueing")), *_p99(f), *_context(f))
    headline = f"{cpus} {percent(mean)} busy and {tasks} on average: more work than CPUs"
    return Verdict(
        f.level, "saturated", headline, evidence, "Run less at a time, add CPUs, or lower the priority of what can wait"
    )


def _queueing(f: Facts) -> Verdict | None:
    if not _main_is(f, "queueing"):
        return None
    rows, cpu = _worst_cpu(f.of("queueing"))
    share = int(rows["wait_ns"].sum()) / max(1, f.weights["queueing"])
    busy = f", {percent(f.busy[cpu])} busy" if cpu in f.busy else ""
    headline = f"Tasks wait for each other, {percent(share)} of it on CPU {cpu}{busy}; no single cause stands out"
    evidence = (
        f"most: {victims_of(rows)[0].words}",
        *_blocker_words(rows),
        *_slow_words(f, f.waits),
        *_p99(f),
        *_context(f),
    )
    return Verdict(f.level, "queueing", headline, evidence, "Look at who blocks whom")


# --- Few slow waits, or none -----------------------------------------------------------------------------------------


def _quota(f: Facts) -> Verdict | None:
    if f.enough or not f.quotas or f.quotas[0][1] < QUOTA_NOTICE:
        return None
    path, share = f.quotas[0]
    who = cgroup_label(path) if path else "A cgroup"
    headline = f"{who} is throttled by its quota in {percent(share)} of its periods"
    evidence = (*_calm_words(f), *_context(f, "quotas"))
    return Verdict("notice", "quota", headline, evidence, "Raise the quota or spread the work")


def _steal(f: Facts) -> Verdict | None:
    if f.enough or f.steal is None or f.steal < STEAL_NOTICE:
        return None
    level = "alarm" if f.steal >= STEAL_ALARM else "notice"
    headline = f"Steal is {percent(f.steal)}: {_OVERSUBSCRIBED}"
    return Verdict(level, "steal", headline, (*_calm_words(f), *_context(f, "steal")), _ASK_HOST)


def _rare(f: Facts) -> Verdict | None:
    if f.enough or not len(f.waits):
        return None
    worst = f.waits[int(np.argmax(f.waits["wait_ns"]))]
    count = len(f.waits)
    longest = format_ns(int(worst["wait_ns"]))
    headline = f"{count} slow wait{'s' if count != 1 else ''}, the longest {longest}: too few for a common cause"
    return Verdict(
        "notice", "rare", headline, (explain(worst).rstrip("."), *_p99(f)), "Look at the slow waits one by one"
    )


def _pressed(f: Facts) -> Verdict | None:
    if f.enough or f.pressure is None or f.pressure < PRESSURE_NOTICE:
        return None
    headline = f"Some task waits {percent(f.pressure)} of the time (PSI), but no wait is slow"
    return Verdict("notice", "pressure", headline, _p99(f), "Lower the threshold to see these waits")


def _few(f: Facts) -> Verdict | None:
    count = len(f.view.tasks) if _asks_for_tasks(f.view) else f.view.latency().count
    needed = 1 if _asks_for_tasks(f.view) else FEW_WAITS
    if f.enough or count >= needed:
        return None
    what = "no task that the filter shows did anything" if needed == 1 else f"only {count} waits ended"
    headline = f"Nothing is slow, but {what}: too little to judge"
    return Verdict("unknown", "few", headline, _context(f), "Choose a longer window")


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
    return Verdict("ok", "calm", headline, _context(f), "Look elsewhere: locks, I/O, the network")


RULES: Sequence[Rule] = (
    _too_short,
    _unavailable,
    _starving,
    _contradiction,
    _dominated,
    _storm,
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
    _rare,
    _pressed,
    _few,
    _calm,
)
"""In order of importance: the first that applies is the verdict."""


# --- Words -----------------------------------------------------------------------------------------------------------


def _context(f: Facts, *said: str) -> tuple[str, ...]:
    """What else is notable and has not been said."""
    parts = []
    if "steal" not in said and f.steal is not None and f.steal >= STEAL_NOTICE:
        parts.append(f"steal is {percent(f.steal)}")
    if "quotas" not in said and f.quotas and f.quotas[0][1] >= QUOTA_NOTICE:
        name = cgroup_label(f.quotas[0][0]) if f.quotas[0][0] else "a cgroup"
        parts.append(f"{name} is throttled in {percent(f.quotas[0][1])} of its periods")
    if 0 < f.missing <= MISSING_SHARE:
        parts.append(f"{percent(f.missing)} of the slow waits were not seen")
    return tuple(parts)


def _slow_words(f: Facts, rows: Rows) -> tuple[str, ...]:
    if not len(rows):
        return ()
    longest = format_ns(int(rows["wait_ns"].max()))
    share = int(rows["wait_ns"].sum()) / max(1, sum(f.weights.values()))
    count = f"{len(rows)} slow wait{'s' if len(rows) != 1 else ''}"
    return (f"{count}, the longest {longest}, {percent(share)} of the slow waiting time",)


def _calm_words(f: Facts) -> tuple[str, ...]:
    return (f"slow waits: {len(f.waits) or 'none'}", *_p99(f))


def _p99(f: Facts) -> tuple[str, ...]:
    return () if f.p99_ns is None else (f"p99 is {format_ns(f.p99_ns)}",)


def _blocker_words(rows: Rows) -> tuple[str, ...]:
    """Who had the CPU most, if that is known of enough."""
    whole = int(rows["wait_ns"].sum())
    covered = min(1.0, int(rows["covered_ns"].sum()) / max(1, whole))
    if covered < COVERED_SHARE:
        return (f"who had the CPU is known of {percent(covered)} only",)
    return tuple(f"{part.words} had the CPU for {percent(part.ns / whole)}" for part in all_blockers_of(rows)[:1])


def _idle_words(f: Facts, rows: Rows) -> str:
    """Which CPU was idle meanwhile, and how idle it is altogether."""
    chosen = rows[rows["idle_cpu"] >= 0]
    if not len(chosen):
        return "another CPU was idle meanwhile"
    cpu = int(np.argmax(np.bincount(chosen["idle_cpu"], chosen["wait_ns"])))
    if f.idle.get(cpu, 0.0) >= IDLE:
        return f"CPU {cpu} is {percent(f.idle[cpu])} idle"
    return f"CPU {cpu} was idle meanwhile"


def _task_names(parts: Sequence[Part]) -> str:
    if len(parts) > 2:
        return f"{len(parts)} tasks (most: {parts[0].words})"
    return " and ".join(part.words for part in parts)


def _runners(tasks: Rows) -> list[Part]:
    """The task that ran longest, if any did."""
    if not len(tasks) or int(tasks["run_ns"].max()) <= 0:
        return []
    row = tasks[int(np.argmax(tasks["run_ns"]))]
    return [Part(int(row["tid"]), task_words(int(row["tid"]), row["comm"]), int(row["run_ns"]))]


def _worst_cpu(rows: Rows) -> tuple[Rows, int]:
    """The CPU with most of the time of these waits, and those on it."""
    cpu = int(np.argmax(np.bincount(np.maximum(rows["cpu"], 0), rows["wait_ns"])))
    return take_rows(rows, np.flatnonzero(np.maximum(rows["cpu"], 0) == cpu)), cpu


def _quota_of(f: Facts, cgroup: int) -> list[tuple[str, float]]:
    """The group that throttles a cgroup most: itself or one that it is inside of."""
    path = f.frame.cgroups.get(cgroup, "")
    around = [quota for quota in f.quotas if quota[0] and (path + "/").startswith(quota[0].rstrip("/") + "/")]
    return around[:1] if path else []
