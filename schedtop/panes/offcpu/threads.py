"""The threads that were without a CPU, and where they spent that time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from schedtop.base.units import format_count, format_ns, format_ratio
from schedtop.model.rows import Rows
from schedtop.offcpu.measurement import STATES, Times
from schedtop.offcpu.threads import ThreadLine
from schedtop.panes.offcpu.lines import ORDERS, waits_of
from schedtop.panes.pane import Pane
from schedtop.widgets.columns import Column, explained
from schedtop.widgets.keyed_table import KeyedTable
from schedtop.widgets.strips import Spans, steady

BAR_CELLS = 6
LETTERS = dict(zip(STATES, "RSDITXP", strict=True))
"""States as ps writes them, but X for traced: small letters say how little it is."""

_ROW = np.dtype([("tid", np.int64), ("index", np.int64)])

Lines = Sequence[ThreadLine]


@dataclass(frozen=True, slots=True)
class ThreadRows:
    """The visible lines."""

    lines: Lines

    def cells(self, text: Callable[[ThreadLine], str]) -> list[str]:
        """One text a line."""
        return [text(line) for line in self.lines]


def state_bar(line: ThreadLine, cells: int = BAR_CELLS) -> str:
    """How a thread's time is split, a letter for each equal part; a small one for a state with less than half of it."""
    parts = {state: line.states[state] for state in STATES if line.states.get(state)}
    total = sum(parts.values())
    if not total:
        return ""
    counts = {state: max(1, round(part * cells / total)) for state, part in parts.items()}
    # Too many or too few by rounding: the largest gives or takes.
    counts[max(counts, key=lambda state: parts[state])] += cells - sum(counts.values())
    letters = {state: _letter(state, small=parts[state] * cells * 2 < total) for state in parts}
    return "".join(letters[state] * count for state, count in counts.items())[:cells]


def _letter(state: str, *, small: bool) -> str:
    return LETTERS[state].lower() if small else LETTERS[state]


def _duration(ns: float | None) -> str:
    return format_ns(ns) if ns else "·"


def _of(value: Callable[[ThreadLine], float | None]) -> Callable[[ThreadRows], list[str]]:
    return lambda rows: rows.cells(lambda line: _duration(value(line)))


def _total(name: str) -> Callable[[ThreadRows], list[str]]:
    def total(line: ThreadLine) -> float:
        times: Times = getattr(line.thread, name)
        return times.total_ns

    return _of(total)


def _words(text: Callable[[ThreadLine], str]) -> Callable[[ThreadRows], list[str]]:
    return lambda rows: rows.cells(lambda line: steady(text(line)))


def _key(line: ThreadLine) -> int:
    """The tid; those that have ended have none, and are told apart by their name."""
    return line.thread.tid or -1 - crc32(line.thread.comm.encode())


def _process(line: ThreadLine) -> str:
    return f"{line.thread.tgid} {line.thread.process}"


MEANINGS = {
    "thread": "its name",
    "tid": "its number",
    "process": "the number and name of its process",
    "held up": "time without a CPU, but for that in which it only waited for work to do",
    "blocked": "time in which it slept, of all kinds",
    "run delay": "time in which it was ready to run but had no CPU",
    "sleeping": "blocked so that a signal can wake it: sockets, pipes, locks, timers",
    "unintr.": "blocked so that no signal can wake it: disks, kernel locks",
    "states": "a letter for each sixth of the time: R runnable, S sleeping, D uninterruptible, I idle, T stopped",
    "waits": "how often it was blocked",
    "average": "one such wait on average",
    "longest": "the longest such wait",
    "share": "its part of the blocked time of all threads",
    "mostly in": "the place in the kernel where it was held up longest",
    "woken by": "the task that woke it most often: what it waited for comes from there",
}

COLUMNS: tuple[Column[ThreadRows], ...] = explained((
    Column("thread", 12, _words(lambda line: line.thread.comm), right=False, grow=8, style="strong"),
    Column("tid", 7, _words(lambda line: str(line.thread.tid)), style="dim"),
    Column("process", 14, _words(_process), right=False, rank=5, grow=10, style="dim"),
    Column("held up", 8, _of(lambda line: line.held_ns), sort="held"),
    Column("blocked", 8, _total("blocked"), rank=3, sort="blocked"),
    Column("run delay", 10, _total("runnable"), rank=2, sort="runnable"),
    Column("sleeping", 8, _total("sleeping"), rank=2),
    Column("unintr.", 8, _total("uninterruptible"), rank=2, sort="uninterruptible"),
    Column("states", BAR_CELLS, lambda rows: rows.cells(state_bar), right=False),
    Column("waits", 6, lambda rows: rows.cells(lambda line: format_count(waits_of(line).count)), sort="count"),
    Column("average", 7, _of(lambda line: waits_of(line).average_ns), rank=1),
    Column("longest", 8, _of(lambda line: waits_of(line).max_ns), sort="longest"),
    Column("share", 6, lambda rows: rows.cells(lambda line: format_ratio(line.thread.share))),
    Column("mostly in", 10, _words(lambda line: line.place), right=False, grow=12),
    Column("woken by", 16, _words(lambda line: line.waker), right=False, rank=4, grow=8, style="dim"),
), MEANINGS)  # fmt: skip


class ThreadsPane(Pane[Any], KeyedTable[ThreadRows]):
    """The threads, in the order that `s` chooses. `take` hands it the lines."""

    NUMBER = 1
    TITLE = "Threads"
    KEY = ("tid",)
    READING = (
        "A line is a thread and its time without a CPU since the screen was opened (or since x). Held up is all "
        "of it but the time that the thread spent as one waits for work to do: in epoll, poll, a timer, accept, a"
        " condition variable, a futex until its timeout, for a child. Run delay: ready to run, but it had no CPU."
        " Sleeping: blocked, a signal can wake it. Unintr.: blocked in a disk, a kernel lock; no signal can. "
        "States has a letter for each sixth of the time: R runnable, S sleeping, D uninterruptible, I idle, T "
        "stopped, small: hardly. Waits, average and longest are those of blocked waits; share is of the blocked "
        "time of all threads. Mostly in names the place in the kernel where it was held up longest. Threads that "
        "were hardly held up at all are idle: they are hidden and counted, and i shows them. Those that slept all"
        " the time come last: they may be stuck, but mostly nothing waits for them; but a lock of a file, or an "
        "uninterruptible wait, that lasts all the time is at its place: no thread waits for work there."
    )
    SIGNS = (
        ("futex, mutex on top", "it waits for a lock", "woken by names the task that held it; P follows it"),
        ("Unintr., a disk", "it waits for I/O", "a faster disk, fewer fsync"),
        ("a socket, a pipe", "it waits for another task or host", "P: its path across tasks"),
        ("much run delay", "it waits for a CPU", "Esc: the panes of the dashboard explain that"),
    )
    COLUMN_HELP = (("Columns", COLUMNS),)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._threads: Lines = ()
        self._words: str | None = None
        self.count_words = ""

    def table_columns(self) -> Sequence[Column[ThreadRows]]:
        return COLUMNS

    def context(self, rows: Rows) -> ThreadRows:
        return ThreadRows([self._threads[index] for index in rows["index"].tolist()])

    @property
    def selected_line(self) -> ThreadLine | None:
        """The line of the selected thread, `None` if there is none."""
        row = self.selected_row
        return None if row is None else self._threads[int(row["index"])]

    def take(self, lines: Lines, order: str, count_words: str) -> None:
        """Shows lines in this order; `count_words` say how many there are and are not."""
        self._threads, self._words, self.count_words = lines, None, count_words
        rows = np.zeros(len(lines), _ROW)
        rows["tid"] = [_key(line) for line in lines]
        rows["index"] = np.arange(len(lines))
        self.set_rows(rows, order)
        self.draw()

    def say(self, words: str) -> None:
        """Shows a sentence instead of lines."""
        self._words = words
        self.draw()

    def message_lines(self) -> list[Spans]:
        if self._words is not None:
            return self.sentence(self._words)
        return []

    def current_lines(self) -> Sequence[Spans]:
        if self.rows is None:
            return []
        order = ORDERS[self.sort][0] if self.sort else ""
        self.set_title(f"{self.count_words} · by {order}", self.position_text())
        lines: list[Spans] = list(self.table_lines())
        if not self._threads:
            lines.extend(self.sentence("no thread was held up so far: i shows those that only waited for work"))
        return lines
