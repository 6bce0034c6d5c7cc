"""One slow wait in words: why it was slow, which tasks had the CPU meanwhile, and what that rests on.

The meaning of each cause is in docs/blame.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np

from schedtop.base.units import format_ns, format_round_ns, plural
from schedtop.model.kernels import has_fair_server, rt_keeper, short_slice_first
from schedtop.model.sched_class import Level, treatment
from schedtop.model.waits import Beginning, Cause, Distance, Domain, Evidence, Reason, WokenBy, reason
from schedtop.verdict.limits import KNOWN_RATIO, NOTABLE_SLICES
from schedtop.verdict.phrases import interrupt_words, listed, percent, task_words

CAUSE_MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "throttled": "its cgroup had used up its CPU quota and had to wait for the next period, whatever was idle; or "
        "a deadline or real-time task had used up the runtime of its class (dl, rt)",
        "stolen": "the hypervisor had the CPU for at least half of the wait",
        "interrupts": "interrupts had the CPU for at least half of the wait: what devices, timers and packets ask for",
        "behind-deadline": "deadline tasks had the CPU for most of it: they run before all others",
        "behind-rt": "real-time tasks of no lower priority had the CPU for most of it: they run before ordinary ones",
        "lower-weight": "tasks with twice its weight and more (nice, policy idle, cpu.weight of cgroups, autogroups) "
        "had the CPU for most of it",
        "idle-cpu": "another CPU was idle for at least half of the wait: forbidden by the affinity mask (pinned), or "
        "allowed and not used (not balanced: of the same cache, another cache or another node)",
        "yield": "the task gave the CPU away itself with sched_yield and waited to get it back",
        "preemption": "the task wanted to run on, but the scheduler gave its CPU to another one",
        "fork": "the task was new and had not run yet, while others had the CPU that it was queued on",
        "wakeup": "the task was woken while others had the CPU that it was queued on",
    }
)
"""Each Cause in one sentence, in the order in which they are tried: the first that holds is the cause."""

_DOMAIN_WORDS = {Domain.CACHE: ", which has another cache", Domain.NUMA: ", which is in another NUMA node"}
_DISTANCE_WORDS = {
    Distance.SAME_CORE: "the other thread of its core",
    Distance.SAME_CACHE: "same cache",
    Distance.OTHER_CACHE: "other cache",
    Distance.OTHER_NODE: "other node",
}
_IDLE_WORDS = {Evidence.PINNED: "idle CPU, pinned", Evidence.NOT_BALANCED: "idle CPU, allowed"}


_OUTRANKED = (Cause.BEHIND_RT, Cause.BEHIND_DEADLINE, Cause.LOWER_WEIGHT)
_RUNTIMES = {Evidence.DEADLINE_RUNTIME: "dl", Evidence.RT_RUNTIME: "rt"}


def cause_words(row: np.void, *, brief: bool = False) -> str:
    """The cause of a row of SLOW_WAIT_DTYPE in at most 18 columns, `brief` in fewer; `?` after what is inferred."""
    why = reason(row)
    if why.cause is Cause.IDLE_CPU:
        if why.evidence is Evidence.NOT_BALANCED and why.distance:
            return f"idle, {why.distance.words}"
        words = _IDLE_WORDS.get(why.evidence or Evidence.NONE, "idle CPU")
        return words.replace("idle CPU,", "idle,") if brief else words
    cause = "" if why.cause is None else why.cause.label
    if why.cause in _OUTRANKED:
        return cause.replace("-", " ")
    if why.evidence in _RUNTIMES and why.evidence is not None:
        return f"{cause}, {_RUNTIMES[why.evidence]}"
    if why.evidence is Evidence.SCHED_EXT:
        return f"{cause}, ext" if cause else "unknown"
    return f"{cause}?" if why.evidence is Evidence.INFERRED else cause or "unknown"


def explain(row: np.void, cpus: int = 0, kernel: str = "") -> str:
    """A row of SLOW_WAIT_DTYPE in one to five plain sentences; `cpus`: how many CPUs there are, 0 if unknown.

    `kernel`: its release, because some rules are not those of all; empty: not known.
    """
    why = reason(row)
    rule = _why(row, why, cpus) if why.evidence is not Evidence.RT_RUNTIME else _rt_runtime(kernel)
    parts = (_beginning(row, why), rule, _blockers_ran(row, why), slice_words(row, kernel), _where(row, why))
    return " ".join(part + "." for part in parts if part)


def _rt_runtime(kernel: str) -> str:
    """What took a real-time task off its CPU for fair ones."""
    if has_fair_server(kernel):
        return "It is a real-time task, and the fair server gave its CPU to ordinary ones, which get their share of it"
    return f"It is a real-time task, and these had used up what {rt_keeper(kernel)} lets them have"


def _blockers(row: np.void) -> Iterator[tuple[str, int]]:
    """The tasks and interrupts that had the CPU while this one waited, by name with nanoseconds, longest first."""
    blockers = zip(row["blocker_tid"].tolist(), row["blocker_comm"].tolist(), row["blocker_ns"].tolist(), strict=True)
    found = [
        (task_words(tid, comm, treatment(row, "blocker_", place).words), run_ns)
        for place, (tid, comm, run_ns) in enumerate(blockers)
        if tid
    ]
    interrupts = zip(*(row[name].tolist() for name in ("interrupt", "interrupt_raiser", "interrupt_ns")), strict=True)
    found += [(interrupt_words(name, raiser), ns) for name, raiser, ns in interrupts]
    yield from sorted(((name, ns) for name, ns in found if ns > 0), key=lambda blocker: -blocker[1])


def _beginning(row: np.void, why: Reason) -> str:
    """Which task waited how long, and how that began."""
    task = task_words(int(row["tid"]), row["comm"], treatment(row).words)
    wait = format_ns(int(row["wait_ns"]))
    ran, queued = int(row["cpu"]), int(row["enqueue_cpu"])
    first = queued if queued >= 0 else ran
    if why.began is Beginning.THROTTLED:
        return f"{task} was throttled on CPU {first} and waited {wait}"
    if why.began is Beginning.YIELD:
        return f"{task} gave CPU {first} away with sched_yield and waited {wait}"
    if why.began is Beginning.PREEMPTION:
        taken = _by(row, "preemptor", "to")
        return f"{task} lost CPU {first}{taken} and waited {wait}"
    if why.began is Beginning.FORK:
        return f"{task} was started{_by(row, 'waker', 'by')} and waited {wait} to run for the first time, on CPU {ran}"
    if why.began is Beginning.WAKEUP:
        return f"{task} was woken{_woken_by(row)} and waited {wait} for CPU {ran}"
    return f"{task} waited {wait} for CPU {ran}"


def _by(row: np.void, role: str, word: str) -> str:
    tid = int(row[f"{role}_tid"])
    return f" {word} {task_words(tid, row[f'{role}_comm'])}" if tid else ""


def _woken_by(row: np.void) -> str:
    source = WokenBy.known(row["woken_by"])
    if source in (None, WokenBy.TASK):
        return _by(row, "waker", "by")
    name = interrupt_words(row["waker_interrupt"], row["waker_raiser"])
    if name and row["waker_tid"]:  # ksoftirqd
        return f"{_by(row, 'waker', 'by')} in {name}"
    if name:
        return f" by an interrupt ({name})"
    return f" by an interrupt{' (softirq)' if source is WokenBy.SOFTIRQ else ''}"


def _why(row: np.void, why: Reason, cpus: int) -> str:
    """What the cause rests on; nothing where the beginning says it all."""
    wait = format_ns(int(row["wait_ns"]))
    missed = f", and missed its deadline by {format_ns(int(row['dl_missed_ns']))}" if row["dl_missed_ns"] > 0 else ""
    if why.evidence is Evidence.DEADLINE_RUNTIME:
        runtime, period = (format_round_ns(int(row[f"dl_{name}_ns"])) for name in ("runtime", "period"))
        granted = f" of {runtime} in each {period}" if row["dl_runtime_ns"] else ""
        return f"It is a deadline task and had used up its runtime{granted}{missed}"
    if why.cause in _OUTRANKED:
        beside = f". {_idle_cpu(row, why, cpus)}" if why.evidence in (Evidence.PINNED, Evidence.NOT_BALANCED) else ""
        return f"{_outranked(row, why)}{missed}{beside}"
    if missed:
        return f"It is a deadline task{missed.removeprefix(',')}"
    if why.cause is Cause.THROTTLED:
        inferred = " (inferred from cpu.stat)" if why.evidence is Evidence.INFERRED else ""
        until = f" for {format_ns(int(row['throttled_ns']))} of {wait}" if row["throttled_ns"] > 0 else ""
        return f"Its cgroup had used up its CPU quota{until}{inferred}"
    if why.cause is Cause.STOLEN:
        return f"The hypervisor had the CPU for at least {format_ns(int(row['stolen_ns']))} of {wait}"
    if why.cause is Cause.INTERRUPTS:
        return f"Interrupts had the CPU for {format_ns(int(row['interrupted_ns']))} of {wait}"
    if why.cause is Cause.IDLE_CPU:
        return _idle_cpu(row, why, cpus)
    return "Why is not known" if why.cause is None else ""


def _outranked(row: np.void, why: Reason) -> str:
    """Which tasks went before it, by which rule."""
    if why.cause is Cause.BEHIND_RT:
        return "Real-time tasks run before it"
    if why.cause is Cause.BEHIND_DEADLINE:
        return "Deadline tasks run before all others"
    which = int(np.argmax(np.where(row["blocker_weight"] > row["victim_weight"], row["blocker_ns"], -1)))
    levels = (Level.known(int(row[f"{role}_level"][which])) for role in ("victim", "blocker"))
    level = next((each for each in levels if each), Level.TASK)
    whose = {Level.CGROUP: "Its cgroup", Level.AUTOGROUP: "Its session"}.get(level, "It")
    weights = int(row["victim_weight"][which]), int(row["blocker_weight"][which])
    return f"{whose} has a weight of {weights[0]} against {weights[1]}"


def _idle_cpu(row: np.void, why: Reason, cpus: int) -> str:
    idle = int(row["idle_cpu"])
    which = f"CPU {idle}" if idle >= 0 else "Another CPU"
    which += f" ({_DISTANCE_WORDS[why.distance]})" if why.distance else ""
    known = f"{which} was idle for {format_ns(int(row['idle_cpu_ns']))} of it"
    mask = _mask_words(int(row["allowed_cpus"]), cpus)
    if why.evidence is Evidence.PINNED:
        return f"{known}, but the affinity mask{mask} forbids it"
    if why.evidence is Evidence.NOT_BALANCED:
        return f"{known} and the affinity mask{mask} allows it, but the task was not moved there"
    return f"{known}; whether the task could have run there is not known"


def _mask_words(allowed: int, cpus: int) -> str:
    """How many CPUs a mask allows, in brackets, if that is known."""
    if not allowed:
        return ""
    of_all = f"{allowed} of {cpus}" if cpus >= allowed else f"{allowed}"
    return f" ({of_all} {plural(max(allowed, cpus), 'CPU')})"


def _blockers_ran(row: np.void, why: Reason) -> str:
    """Which tasks had the CPU for which share of the wait, and how much of it is known."""
    wait, covered = int(row["wait_ns"]), int(row["covered_ns"])
    queued = wait - int(row["throttled_ns"])
    if why.began is Beginning.THROTTLED and not covered:
        return ""  # It was on no run queue: no task kept it waiting.
    if why.evidence is Evidence.SCHED_EXT:
        return "A sched_ext scheduler may have had it in a queue of its own, so no task is blamed"
    if covered <= 0 or wait <= 0:
        return "Which task had the CPU is not known"
    shares = [f"{name} for {percent(ns / wait)}" for name, ns in _blockers(row)]
    if row["others_ns"] > 0:
        shares.append(f"others for {percent(int(row['others_ns']) / wait)}")
    ran = f"ran {listed(shares)} of the wait" if shares else ""
    if ran and row["stolen_ns"] > 0:
        ran += " (stolen time included)"
    idle = f"was idle for {percent(int(row['cpu_idle_ns']) / wait)}" if row["cpu_idle_ns"] > 0 else ""
    had = f"Meanwhile its CPU {' and '.join(part for part in (ran, idle) if part)}" if ran or idle else ""
    unknown = f"only {percent(covered / wait)} of the wait is known" if covered < KNOWN_RATIO * queued else ""
    return "; ".join(part for part in (had, unknown) if part)


def slice_words(row: np.void, kernel: str) -> str:
    """That the fair class gives the task and its main blocker slices of another length; empty: about the same.

    How long a wait has to be does not follow from it, and which is first only of some kernels (docs/decisions.md).
    """
    main = int(np.argmax(row["blocker_ns"]))
    own, other = int(row["slice_ns"]), int(row["blocker_slice_ns"][main])
    if not own or not other or max(own, other) < NOTABLE_SLICES * min(own, other):
        return ""
    blocker = task_words(int(row["blocker_tid"][main]), row["blocker_comm"][main])
    words = f"Its time slice is {format_round_ns(own)}, that of {blocker} {format_round_ns(other)}"
    first = own > other and short_slice_first(kernel)
    return f"{words}: when woken, the task with the shorter one may take the CPU at once" if first else words


def _where(row: np.void, why: Reason) -> str:
    """Both CPUs and what lies between them, if the task moved."""
    queued, ran = int(row["enqueue_cpu"]), int(row["cpu"])
    if queued == ran or queued < 0:
        return ""
    crossed = _DOMAIN_WORDS.get(why.domain or Domain.NONE, "")
    return f"It began to wait on CPU {queued} and ran on CPU {ran}{crossed}"
