"""CPU time that interrupts have."""

from __future__ import annotations

import re
import shlex
from collections import Counter

from schedtop.base.cpu_lists import cpus_text
from schedtop.model.rows import SLOW_WAIT_DTYPE, Rows, text
from schedtop.model.waits import Explanation
from schedtop.verdict.advice import irq_words, move_words, typed
from schedtop.verdict.facts import Facts
from schedtop.verdict.parts import on_worst_cpu, victims_of
from schedtop.verdict.phrases import percent
from schedtop.verdict.rule import Finding
from schedtop.verdict.words import context_words, slow_words, up_to_words

_ACTIONS = (
    ("softirq NET", "Spread the packets over CPUs (RSS, RPS, irqbalance), or move the tasks away"),
    ("softirq BLOCK", "Spread the disk's interrupts over CPUs, or move the tasks away"),
    ("irq ", "Move the device's interrupts to other CPUs (irqbalance does it, too)"),
)
_TASK = re.compile(r"^(?!irq ).*\((\d+)\)$")
"""What a raiser is that is a task; `irq ACPI:Ged (24)` is the line of a device whose name another line has as well."""

_LINE = re.compile(r"^(?:irq |.* \()(\d+)\)?$")
"""The name of a device that has the number of its line in it, as sources/interrupts/names.py makes it."""

_OWN = "No device asks for this, {} does: give it less to do, or move it away"
_ELSE = "Move the tasks off this CPU, or see which interrupts it has (key I)"


def interrupted(f: Facts) -> Finding | None:
    """Most of the slow waiting time is that of waits in which interrupts had the CPU most of the time."""
    if not f.slow.main_is(Explanation.INTERRUPTS):
        return None
    rows = f.slow.of(Explanation.INTERRUPTS)
    whole_ns = max(1, int(rows["wait_ns"].sum()))
    share = int(rows["interrupted_ns"].sum()) / whole_ns
    sources = _sums(rows, "interrupt")
    headline = f"Interrupts had the CPU for {percent(share)} of the slow waits, {up_to_words(rows)}"
    if sources:
        headline += f", mainly {sources[0][0]}"
    # Of a softirq, where that is known, and the same for most of it.
    raiser, raised_ns = next(iter(_sums(rows, "interrupt_raiser")), ("", 0))
    if 2 * raised_ns < share * whole_ns:
        raiser = ""
    if raiser:
        headline += f", raised by {raiser}"
    evidence = (
        *(f"{name} had the CPU for {percent(ns / whole_ns)} of these waits" for name, ns in sources[:2]),
        *([f"{raiser} raised softirqs for {percent(raised_ns / whole_ns)} of these waits"] if raiser else ()),
        *slow_words(f, rows),
        *context_words(f),
    )
    name = sources[0][0] if sources else ""
    _, cpu = on_worst_cpu(rows)
    action = next((words for prefix, words in _ACTIONS if name.startswith(prefix)), _ELSE)
    command = device_words(f, name, cpu) or move_words(f, victims_of(rows)[0].tid, cpu)
    if found := _TASK.search(raiser):
        action, command = _OWN.format(raiser), move_words(f, int(found[1]), cpu)
    return Finding(headline, evidence, *typed(action, command))


def _sums(rows: Rows, field: str) -> list[tuple[str, int]]:
    """What had the CPU, or raised what had it, by name, with its time in these waits, the longest first."""
    sums: Counter[str] = Counter()
    for names, times in zip(rows[field].tolist(), rows["interrupt_ns"].tolist(), strict=True):
        for name, ns in zip(names, times, strict=True):
            if ns and name:
                sums[text(name)] += ns
    return sums.most_common()


def device_words(f: Facts, name: str, cpu: int) -> str:
    """The command that has the interrupts of a device (`irq eth0`) handled elsewhere; empty: it is none, or not known.

    A line has a directory for each device that it is for (register_handler_proc() in kernel/irq/proc.c).
    """
    kind, _, device = name.partition("irq ")
    if kind or not device or device == "others":
        return ""
    if found := _LINE.match(device):
        return irq_words(f, found[1], cpu)
    others = [each for each in f.frame.cpus.ids if each != cpu]
    first, *more = device.split(", ")
    cut = "" if more or len(name.encode()) < SLOW_WAIT_DTYPE["interrupt"].base.itemsize else "*"
    return (
        f"echo {cpus_text(others)} | tee /proc/irq/*/{shlex.quote(first)}{cut}/../smp_affinity_list" if others else ""
    )
