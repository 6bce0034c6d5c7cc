"""The help: every key, and how to read each pane."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from schedtop.blame import CAUSE_MEANINGS
from schedtop.panes.pane import Pane
from schedtop.ui.bindings import KeyRow
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.prose import entry
from schedtop.widgets.strips import Spans, steady, wrapped

TEXT_WIDTH_MOST = 100

WORDS = (
    ("wakeup wait", "from the moment a sleeping task is woken until it gets a CPU"),
    ("preemption wait", "from the moment a running task is put off its CPU until it gets one again"),
    ("involuntary switch", "the task wanted to go on: the scheduler took the CPU from it (or it called sched_yield)"),
    ("voluntary switch", "the task blocked: it waits for I/O, a lock, a timer, a message"),
    ("run delay", "the sum of all waits for a CPU of a task"),
    ("steal", "time in which the hypervisor ran somebody else although this CPU had work"),
    ("preemptor", "who took the CPU from the task, at the moment it had to leave"),
    ("blocker", "who had the CPU while the task waited for it"),
    ("throttled", "the cgroup had used up its CPU quota: its tasks must wait for the next period, whatever is idle"),
    ("previous", "who ran last before the task got the CPU; not necessarily who kept it waiting"),
    ("waker", "who woke the task"),
    ("window", "the time that all numbers are about; rates are per second, averaged over it"),
)


class HelpText(Canvas):
    """The text, scrolled with the usual keys."""

    DEFAULT_CSS = """
    HelpText {
        width: 90%; max-width: 106; height: 92%; background: $panel; border: heavy $primary; padding: 0 2;
        border-title-color: $primary; border-title-style: bold; border-subtitle-color: $faint;
    }
    """
    BORDER_TITLE = "Help"
    BORDER_SUBTITLE = "↑ ↓ PgUp PgDn scroll · Esc closes"

    def __init__(self, rows: Sequence[KeyRow], panes: Sequence[Pane], notes: Sequence[str]) -> None:
        super().__init__()
        self._rows = rows
        self._panes = panes
        self._notes = notes
        self._text: tuple[int, list[Spans]] = (-1, [])

    def draw(self) -> None:
        width, height = self.inner
        if not width:
            return
        if self._text[0] != width:
            self._text = (width, list(self._all_lines(width)))
        lines = self._text[1]
        self.total_rows = len(lines)
        self.clamp_top()
        self.put(lines[self.top : self.top + height])

    def _all_lines(self, width: int) -> Iterable[Spans]:
        yield [("Keys", "key")]
        for row in self._rows:
            yield from entry(row.keys, row.meaning or row.word, 22, width)
        yield []
        yield [("Filters", "key")]
        yield from entry("nginx", "tasks whose name contains it", 22, width)
        yield from entry("4711", "the task or the process with this number", 22, width)
        yield from entry("comm: tid: tgid: cpu:", "by one field; commas separate alternatives: cpu:0,1", 22, width)
        yield from entry("cgroup:", "part of a cgroup's path, or of a container's or unit's name", 22, width)
        yield from entry("pidns:", "the number of a pid namespace", 22, width)
        yield []
        yield [("Words", "key")]
        for word, meaning in WORDS:
            yield from entry(word, meaning, 22, width)
        yield []
        yield [("Causes of slow waits: the first that holds", "key")]
        for cause, meaning in CAUSE_MEANINGS.items():
            yield from entry(cause, meaning, 22, width)
        for pane in self._panes:
            yield []
            yield [(f"{pane.NUMBER or ''} {pane.TITLE}".strip(), "key")]
            for line in wrapped(pane.READING, width):
                yield [(line, "text")]
        if self._notes:
            yield []
            yield [("Notes from the source", "key")]
            for note in self._notes:
                for line in wrapped(steady(note), width):
                    yield [(line, "notice")]


class HelpScreen(ModalScreen[None]):
    """Over the dashboard, which goes on collecting."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f10,question_mark,f1", "close", "Close", id="close", tooltip="Closes the help"),
    ]

    def __init__(self, rows: Sequence[KeyRow], panes: Sequence[Pane], notes: Sequence[str]) -> None:
        super().__init__()
        self._content = HelpText(rows, panes, notes)

    def compose(self) -> ComposeResult:
        yield self._content

    def on_mount(self, _event: events.Mount) -> None:
        self._content.focus()

    def action_close(self) -> None:
        self.dismiss()
