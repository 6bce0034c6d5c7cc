"""CPU time that interrupts have."""

from __future__ import annotations

from collections import Counter

from schedtop.model.rows import Rows, text
from schedtop.model.waits import Explanation
from schedtop.verdict.facts import Facts
from schedtop.verdict.phrases import percent
from schedtop.verdict.rule import Finding
from schedtop.verdict.words import context_words, slow_words, up_to_words

_ACTIONS = (
    ("softirq NET", "Spread the packets over CPUs (RSS, RPS, irqbalance), or move the tasks off these CPUs"),
    ("softirq BLOCK", "Spread the disk's interrupts over CPUs, or move the tasks off these CPUs"),
    ("irq ", "Move the device's interrupts to other CPUs: /proc/irq/N/smp_affinity, irqbalance"),
)
_OWN = "No device asks for this, {} does: give it less to do, or move it to CPUs of its own"
_ELSE = "Press I for the pane of interrupts: which CPUs have them, and how many"


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
        headline += f", most: {sources[0][0]}"
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
    action = next((words for prefix, words in _ACTIONS if name.startswith(prefix)), _ELSE)
    if raiser.endswith(")"):
        action = _OWN.format(raiser)
    return Finding(headline, evidence, action)


def _sums(rows: Rows, field: str) -> list[tuple[str, int]]:
    """What had the CPU, or raised what had it, by name, with its time in these waits, the longest first."""
    sums: Counter[str] = Counter()
    for names, times in zip(rows[field].tolist(), rows["interrupt_ns"].tolist(), strict=True):
        for name, ns in zip(names, times, strict=True):
            if ns and name:
                sums[text(name)] += ns
    return sums.most_common()
