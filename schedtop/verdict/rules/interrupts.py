"""CPU time that interrupts have."""

from __future__ import annotations

from collections import Counter

from schedtop.model.rows import Rows, text
from schedtop.model.waits import Explanation
from schedtop.verdict.facts import Facts
from schedtop.verdict.phrases import percent
from schedtop.verdict.rule import Finding
from schedtop.verdict.words import context_words, slow_words

_ACTIONS = (
    ("softirq NET", "Spread the packets over CPUs (RSS, RPS, irqbalance), or move the tasks off these CPUs"),
    ("softirq BLOCK", "Spread the disk's interrupts over CPUs, or move the tasks off these CPUs"),
    ("irq ", "Move the device's interrupts to other CPUs: /proc/irq/N/smp_affinity, irqbalance"),
)
_ELSE = "Press I for the pane of interrupts: which CPUs have them, and how many"


def interrupted(f: Facts) -> Finding | None:
    """Most of the slow waiting time is that of waits in which interrupts had the CPU most of the time."""
    if not f.slow.main_is(Explanation.INTERRUPTS):
        return None
    rows = f.slow.of(Explanation.INTERRUPTS)
    whole_ns = max(1, int(rows["wait_ns"].sum()))
    share = int(rows["interrupted_ns"].sum()) / whole_ns
    sources = _sources(rows)
    headline = f"Interrupts had the CPU for {percent(share)} of the slow waits"
    if sources:
        headline += f", most: {sources[0][0]}"
    evidence = (
        *(f"{name} had the CPU for {percent(ns / whole_ns)} of these waits" for name, ns in sources[:2]),
        *slow_words(f, rows),
        *context_words(f),
    )
    name = sources[0][0] if sources else ""
    action = next((words for prefix, words in _ACTIONS if name.startswith(prefix)), _ELSE)
    return Finding(headline, evidence, action)


def _sources(rows: Rows) -> list[tuple[str, int]]:
    """The sources that had the CPU, by name, with their time in these waits, the longest first."""
    sums: Counter[str] = Counter()
    for names, times in zip(rows["interrupt"].tolist(), rows["interrupt_ns"].tolist(), strict=True):
        for name, ns in zip(names, times, strict=True):
            if ns:
                sums[text(name)] += ns
    return sums.most_common()
