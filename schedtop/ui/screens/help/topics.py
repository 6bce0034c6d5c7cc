"""The topics of the help: keys, every pane with its columns, and the words that all of them use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from schedtop.panes.pane import Pane
from schedtop.panes.verdict_band import VERDICT_LEVELS
from schedtop.ui.keys.bindings import KeyRow
from schedtop.ui.layout.presets import PRESETS
from schedtop.verdict.wait import CAUSE_MEANINGS
from schedtop.widgets.prose import entry, paragraph
from schedtop.widgets.strips import Spans, fit, steady, wrapped

SIGN_TITLES, SIGN_STYLES = ("You see", "It means", "Do"), ("strong", "text", "text")
SIGN_SHARES, SIGN_GAP = (28, 34, 38), 2
"""How the three columns share the width, and the cells between them."""

INDENT = 16
"""Cells for a term; a longer one has a line of its own."""

WORDS = (
    ("wakeup wait", "from the moment a sleeping task is woken until it gets a CPU"),
    ("preemption wait", "from the moment a running task is preempted until it gets a CPU again"),
    ("involuntary switch", "the task wanted to go on: the scheduler took the CPU from it (or it called sched_yield)"),
    ("voluntary switch", "the task blocked: it waits for I/O, a lock, a timer, a message"),
    ("run delay", "the sum of all waits for a CPU of a task"),
    ("steal", "time in which the hypervisor ran other guests although this CPU had work"),
    ("preemptor", "the task that took the CPU away, at the moment the victim had to leave"),
    ("blocker", "the task that held the CPU while the victim waited for it"),
    ("throttled", "the cgroup had used up its CPU quota: its tasks must wait for the next period, whatever is idle"),
    ("previous", "the task that ran last before the victim got the CPU; not necessarily the one that kept it waiting"),
    ("waker", "the task that woke it"),
    ("window", "the time that all numbers are about; rates are per second, averaged over it"),
)

FILTERS = (
    ("nginx", "tasks whose name contains it; pid:4711 covers all threads of a process"),
    ("4711", "the task or the process with this number"),
    ("comm:", "by the name alone; commas separate alternatives: comm:nginx,java"),
    ("tid: tgid:", "by the number of the thread, of the process"),
    ("cpu:", "by CPU: cpu:0,1 or cpu:0-7"),
    ("cgroup:", "part of a cgroup's path, or of a container's or unit's name"),
    ("pidns:", "the number of a pid namespace"),
    ("class:", "a scheduling class or policy: rt, fifo, rr, deadline, fair, batch, idle, ext, stop"),
)

LEVELS = {
    "ok": "nothing to do: waits are short, or too rare to matter",
    "notice": "worth a look: tasks wait, and the line says for which task or why",
    "alarm": "act: waits are long, or CPU time is taken away; the line ends with what to do",
    "unknown": "not enough is known to judge: too early, or the source lacks what it needs",
    "measuring": "schedtop has just started: a second of data makes the first verdict",
}

FILES = (
    ("export", "what is shown as JSON, and the screen as SVG, into --export-dir"),
    ("record", "every interval into one file, until pressed again; `schedtop replay` shows it, without root"),
    ("capture", "each switch and wakeup of 2 s, for ui.perfetto.dev and Chrome"),
    ("report, diff", "`schedtop report` tells in text or HTML what a recording holds, `schedtop diff` what changed"),
    ("does it work here", "`schedtop doctor` tells what this host has and lacks, and the command that fixes it"),
    ("without a screen", "`schedtop snapshot` gives JSON, CSV or text; `schedtop watch` waits for a condition"),
)

STATE = (
    ("● LIVE", "what is seen is now; FROZEN: it is held, and the clock on the right tells the moment"),
    ("window", "the time that all numbers are about (key w)"),
    ("slow >", "longer waits are looked at one by one: cause, preemptor, blocker (keys + and -)"),
    ("self", "what schedtop takes: CPU, memory, time added to each context switch, its own priority"),
    ("delayed others", "the longest wait for a CPU that schedtop has caused: at most (≤), in a crowd at least (≥)"),
    ("unseen", "switches and waits that the kernel did not report: the counts have them, the histogram does not"),
    ("lost", "what was not seen or not kept, by kind; all else is complete"),
)

MOUSE = (
    ("click on a row", "selects it"),
    ("double click", "opens it, as Enter does; a slow wait or a short-lived command: all about it"),
    ("click on a header", "sorts by that column, where it can be sorted by"),
    ("click on a pane", "gives it the focus; on a cell of the strip: shows that pane"),
    ("click on the verdict", "the verdict in full"),
    ("click on a key below", "does what the key does"),
    ("wheel", "scrolls what is under it"),
    ("Shift and drag", "in most terminals: marks text, as without schedtop"),
)


@dataclass(frozen=True, slots=True)
class Topic:
    """A name for the list, and the lines of a text at a width."""

    name: str
    lines: Callable[[int], Iterable[Spans]]


def topics_of(
    panes: Sequence[Pane[Any]],
    keys: Sequence[KeyRow],
    rows_of_pane: Callable[[Pane[Any]], Sequence[KeyRow]],
    notes: Sequence[str],
) -> list[Topic]:
    """All topics of a screen: `rows_of_pane` are the keys that a pane has for itself."""
    return [
        Topic("Keys", lambda width: _terms("Keys; Home and End go to the first and last row", _keys(keys), width)),
        *(_pane_topic(pane, rows_of_pane(pane)) for pane in panes),
        Topic("Filters", lambda width: _terms("Filters: only tasks (or CPUs) that pass are shown", FILTERS, width)),
        Topic("Presets", lambda width: _terms("Presets: panes for a job", _presets(), width)),
        Topic("Verdict", lambda width: _terms("Levels of the verdict, in the first line", _levels(), width)),
        Topic(
            "Line of state", lambda width: _terms("Below the verdict: what is shown and what it costs", STATE, width)
        ),
        Topic("Causes", lambda width: _terms("Causes of slow waits: the first that holds", _causes(), width)),
        Topic("Words", lambda width: _terms("Words", WORDS, width)),
        Topic("Files", lambda width: _terms("Files", FILES, width)),
        Topic("Mouse", lambda width: _terms("Mouse", MOUSE, width)),
        *([Topic("Notes", lambda width: _notes(notes, width))] if notes else []),
    ]


def _keys(rows: Sequence[KeyRow]) -> list[tuple[str, str]]:
    return [(row.keys, row.meaning or row.word) for row in rows]


def _presets() -> list[tuple[str, str]]:
    return [(f"{preset.number} {preset.word}", preset.meaning) for preset in PRESETS]


def _causes() -> list[tuple[str, str]]:
    return [*CAUSE_MEANINGS.items()]


def _levels() -> list[tuple[str, str]]:
    return [(f"{level.sign} {level.word}", LEVELS[name]) for name, level in VERDICT_LEVELS.items()]


def _terms(title: str, terms: Iterable[tuple[str, str]], width: int) -> Iterable[Spans]:
    yield from paragraph(title, width, "key")
    for term, meaning in terms:
        if len(term) >= INDENT:
            yield [(term, "strong")]
            term = ""
        yield from entry(term, meaning, INDENT, width)


def _pane_topic(pane: Pane[Any], keys: Sequence[KeyRow]) -> Topic:
    def lines(width: int) -> Iterable[Spans]:
        yield [(pane.TITLE, "key")]
        # What it is, what one sees in it, and only then each mark.
        what, stop, marks = pane.READING.partition(". ") if pane.SIGNS else (pane.READING, "", "")
        yield from paragraph(f"{what}{stop}".rstrip(), width)
        if pane.SIGNS:
            yield []
            yield from _signs(pane.SIGNS, width)
        if marks:
            yield []
            yield from paragraph(marks, width)
        if pane.ADVICE:
            yield []
            yield [("What to do about it", "key")]
            yield from paragraph(pane.ADVICE, width)
        for title, columns in pane.COLUMN_HELP:
            yield []
            named = [(column.header.strip() or "bar", column.meaning) for column in columns]
            yield from _terms(title, named, width)
        if keys:
            yield []
            yield from _terms("Keys of this pane", _keys(keys), width)

    return Topic(pane.SHORT or pane.TITLE, lines)


def _signs(signs: Sequence[tuple[str, str, str]], width: int) -> Iterable[Spans]:
    """Rows of what one sees, what it means, and what to do, in three columns."""
    shares = [width * share // sum(SIGN_SHARES) for share in SIGN_SHARES]
    yield [(fit(title, cells), "key") for title, cells in zip(SIGN_TITLES, shares, strict=True)]
    for sign in signs:
        cells = [wrapped(steady(text), cells - SIGN_GAP) for text, cells in zip(sign, shares, strict=True)]
        for line in zip_longest(*cells, fillvalue=""):
            texts = [fit(text, cells) for text, cells in zip(line, shares, strict=True)]
            yield [*zip(texts, SIGN_STYLES, strict=True)]


def _notes(notes: Sequence[str], width: int) -> Iterable[Spans]:
    yield [("Notes from the source", "key")]
    for note in notes:
        yield from paragraph(steady(note), width, "notice")
