"""One slow wait in full: why, which tasks held the CPU and for how long, which others had a part in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from schedtop.base.units import format_clock_ms, format_counted, format_ns, format_round_ns
from schedtop.model.groups import group_name
from schedtop.model.rows import Rows, text
from schedtop.model.sched_class import Treatment, treatment
from schedtop.model.waits import WAKERS, Beginning, WokenBy, reason
from schedtop.panes.scheduler.slow_waits.rows import blockers_of, task_text
from schedtop.verdict.phrases import interrupt_words
from schedtop.verdict.wait import explain
from schedtop.widgets.bars import thin_bar
from schedtop.widgets.prose import entry, paragraph
from schedtop.widgets.strips import Spans, fit, steady

INDENT = 14
NAME_CELLS = 26
BAR_CELLS = 12


def wait_title(row: np.void) -> str:
    """The victim, and how long it waited."""
    return f"{steady(text(row['comm']))} ({int(row['tid'])}) waited {format_ns(int(row['wait_ns']))}"


def wait_lines(row: np.void, cgroups: Mapping[int, str], cpus: int, width: int, *, kernel: str = "") -> Iterable[Spans]:
    """All that is known of a row of SLOW_WAIT_DTYPE, in lines of `width` cells; `cpus`: how many the machine has.

    `kernel`: its release, empty if it is not known.
    """
    yield from paragraph(steady(explain(row, cpus, kernel)), width)
    yield []
    # A throttled task was on no run queue: no task kept a CPU from it.
    if reason(row).began is not Beginning.THROTTLED:
        yield [("What had the CPU meanwhile", "key")]
        yield from _blocker_lines(row, width)
        yield []
    for term, meaning in _facts(row, cgroups):
        yield from entry(term, meaning, INDENT, width)


def _blocker_lines(row: np.void, width: int) -> Iterable[Spans]:
    lines = [(name, ns, "text") for name, ns in blockers_of(row)]
    wait = int(row["wait_ns"])
    lines.append(("other interrupts", int(row["interrupted_ns"]) - int(row["interrupt_ns"].sum()), "dim"))
    lines.append(("others, each less", int(row["others_ns"]), "dim"))
    lines.append(("no task: it was idle", int(row["cpu_idle_ns"]), "dim"))
    lines.append(("not known", wait - int(row["covered_ns"]), "dim"))
    for name, ns, style in lines:
        if ns > 0 and wait:
            share = ns / wait
            cells = fit(name, min(NAME_CELLS, width - 18)) + f"{format_ns(ns):>9} {share * 100:>5.1f} % "
            yield [(cells, style), (thin_bar(share, BAR_CELLS), "preemption" if style == "text" else "dim")]


def _facts(row: np.void, cgroups: Mapping[int, str]) -> Iterable[tuple[str, str]]:
    one: Rows = np.array([row], row.dtype)
    yield "ended", format_clock_ms(int(row["time_ns"]))
    yield "CPU", _cpu_text(row)
    waker = "started by" if reason(row).began is Beginning.FORK else "woken by"
    for field, term in (("preemptor", "preempted by"), ("waker", waker), ("previous", "before it ran")):
        name = task_text(int(row[f"{field}_tid"]), row[f"{field}_comm"])
        words = steady(interrupt_words(row["waker_interrupt"], row["waker_raiser"])) if field == "waker" else ""
        if words and name != "·":  # ksoftirqd
            name = f"{name} in {words}"
        elif field == "waker" and name == "·" and row["woken_by"]:
            which = words or "softirq" * (row["woken_by"] == WokenBy.SOFTIRQ)
            name = f"an {WAKERS[1]}{f' ({which})' if which else ''}"
        if name != "·":
            yield term, name
    if row["switches"]:
        yield "switches", f"{int(row['switches'])} on that CPU meanwhile"
    if row["queue_length"] >= 0:
        yield "queue", _queue_text(int(row["queue_length"]), int(row["fair_queue_length"]))
    if row["stolen_ns"] > 0:
        yield "steal", f"at least {format_ns(int(row['stolen_ns']))} of the wait"
    if row["throttled_ns"] > 0:
        yield "throttled", f"{format_ns(int(row['throttled_ns']))} of the wait, until its quota came back"
    if row["idle_cpu"] >= 0:
        distance = reason(row).distance
        which = f"CPU {int(row['idle_cpu'])}{f' ({distance.words})' if distance else ''}"
        yield "idle CPU", f"{which} was idle for {format_ns(int(row['idle_cpu_ns']))} of the wait"
    if row["allowed_cpus"]:
        count = int(row["allowed_cpus"])
        yield "may run on", format_counted(count, "CPU")
    told = treatment(row)
    if told.sched_class:
        yield "class", _class_text(told)
    if row["slice_ns"]:
        yield "time slice", format_round_ns(int(row["slice_ns"]))
    if row["dl_runtime_ns"]:
        runtime, period = (format_round_ns(int(row[f"dl_{name}_ns"])) for name in ("runtime", "period"))
        yield "granted", f"{runtime} in each {period}"
    if row["dl_missed_ns"]:
        yield "deadline", f"missed by {format_ns(int(row['dl_missed_ns']))}"
    if row["cgroup_id"]:
        yield "cgroup", steady(cgroups.get(int(row["cgroup_id"]), group_name(one, "cgroup", cgroups)[0]))


def _class_text(told: Treatment) -> str:
    """Class and policy, with priority or nice and the weight."""
    words = told.sched_class.label
    words += f", policy {told.policy.label}" if told.policy else ""
    if told.priority:
        return f"{words}, priority {told.priority}"
    return words if told.weight is None else f"{words}, nice {told.nice}, weight {told.weight}"


def _queue_text(length: int, fair: int) -> str:
    """How many still waited when the wait was over."""
    if not length:
        return "no other task waited on that CPU when it got to run"
    many = f"{length} other task{'s' * (length != 1)} still waited on that CPU when it got to run"
    return many if fair == length else f"{many}, {fair} of the fair class"


def _cpu_text(row: np.void) -> str:
    queued, ran = int(row["enqueue_cpu"]), int(row["cpu"])
    if queued == ran or queued < 0:
        return f"queued and ran on CPU {ran}"
    domain = reason(row).domain
    return f"queued on CPU {queued}, ran on CPU {ran}" + (f" (another {domain.label} domain)" if domain else "")
