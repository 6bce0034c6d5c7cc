"""System calls of the task: how often, how long, how long blocked, what failed; and the slowest ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schedtop.base.units import format_clock_ms, format_count, format_ns, format_rate, rate
from schedtop.panes.pane import Pane
from schedtop.panes.task.scene import NOTHING_YET, Scene
from schedtop.task import OngoingCall, SlowCall, Syscall
from schedtop.widgets.columns import Column, explained, header_spans, place, row_lines
from schedtop.widgets.strips import Spans, clip, steady, whole_parts

WIDE = 96
"""From here on there is room for several errors of a call."""

SLOWEST_HEIGHT = 9
"""From here on the slowest calls have a part of the pane."""


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """The visible calls and the time that they are about."""

    rows: Sequence[Syscall]
    interval_ns: int


def errors_text(errors: Mapping[str, int], most: int) -> str:
    """Which errors how often, the most frequent first, at most so many; a dot for none."""
    found = sorted(errors.items(), key=lambda item: (-item[1], item[0]))
    words = [f"{name} {format_count(count)}" for name, count in found[:most]]
    more = [f"+{len(found) - most}"] if len(found) > most else []
    return steady(" ".join([*words, *more])) or "·"


MEANINGS = {
    "call": "the system call",
    "calls/s": "how many ended, a second",
    "time": "from entry to return, all of them together",
    "blocked": "the part of it in which the task slept",
    "longest": "the longest single one",
    "errors": "which errors it returned, and how often",
    "slowest": "the slowest single calls, one a line",
    "took": "from entry to return",
    "gave": "what it returned: an error, a number",
    "ended": "when it returned",
    "tid": "the thread that called",
}

_COLUMNS: tuple[Column[Calls], ...] = (
    Column("call", 15, lambda calls: [steady(call.name) for call in calls.rows], right=False, grow=8, style="strong"),
    Column("calls/s", 7, lambda calls: [format_rate(rate(call.count, calls.interval_ns)) for call in calls.rows]),
    Column("time", 7, lambda calls: [format_ns(call.total_ns) for call in calls.rows]),
    Column("blocked", 7, lambda calls: [format_ns(call.blocked_ns) for call in calls.rows], rank=1),
    Column("longest", 7, lambda calls: [format_ns(call.max_ns) if call.count else "·" for call in calls.rows]),
)


def _errors(width: int, most: int) -> Column[Calls]:
    def cells(calls: Calls) -> list[str]:
        return [errors_text(call.errors, most) for call in calls.rows]

    return Column("errors", width, cells, right=False, rank=2, style="preemption")


COLUMNS = explained((*_COLUMNS, _errors(15, 1)), MEANINGS)
WIDE_COLUMNS = explained((*_COLUMNS, _errors(44, 3)), MEANINGS)


def _result(call: SlowCall) -> str:
    """What it returned: an error, a number, or what is none."""
    return steady(call.error) or ("an address" if call.result is None else str(call.result))


SLOW_COLUMNS: tuple[Column[Sequence[SlowCall]], ...] = explained(
    (
        Column("slowest", 15, lambda calls: [steady(call.name) for call in calls], right=False, grow=8, style="strong"),
        Column("took", 8, lambda calls: [format_ns(call.duration_ns) for call in calls]),
        Column("blocked", 8, lambda calls: [format_ns(call.blocked_ns) for call in calls]),
        Column("gave", 9, lambda calls: [_result(call) for call in calls], grow=4, rank=2),
        Column("ended", 12, lambda calls: [format_clock_ms(call.time_ns) for call in calls], rank=3, style="dim"),
        Column("tid", 7, lambda calls: [str(call.tid) for call in calls], rank=4, style="dim"),
    ),
    MEANINGS,
)


def ongoing_text(call: OngoingCall) -> str:
    """The call that a thread is in, and for how long, if that can be told."""
    least = "at least " if call.at_least else ""
    # 0: it has begun within the reading.
    lasted = f" for {least}{format_ns(call.duration_ns)}" if call.duration_ns else ""
    return f"in {steady(call.name)}{lasted}"


class SyscallsPane(Pane[Scene]):
    """The calls, most time first, and below them the slowest single ones."""

    WAITING = NOTHING_YET
    NUMBER = 2
    TITLE = "System calls"
    SHORT = "Syscalls"
    PARTS = ("syscalls",)
    READING = (
        "Calls that ended, most time first. time is from entering to leaving the kernel, blocked the part of it in "
        "which the task was not ready to run (a call that is still under way counts there, too): time without "
        "blocked is work in the kernel, or waiting for a CPU. errors: what it returned, how often. Below, the slowest "
        "single calls with what they gave back. Counted by the kernel at each call, none is sampled. Much blocked in "
        "futex: a lock, see 4 for what wakes it; in poll or epoll_wait: it only waits for work; in read, write, fsync: "
        "see 5. Many short calls: batch them. Key o of the dashboard shows the stacks of what blocks."
    )
    COLUMN_HELP = (("Columns", COLUMNS), ("Columns, of single calls", SLOW_COLUMNS))

    @property
    def page_rows(self) -> int:
        return max(1, self.inner.height - 1 - self._below())

    def _below(self) -> int:
        """Lines for the slowest calls, with their header and a blank line."""
        slow = len(self.view.counts.slow_calls) if self.view and self.view.counts else 0
        if self.inner.height < SLOWEST_HEIGHT or not slow:
            return 0
        calls = len(self.view.counts.syscalls) if self.view and self.view.counts else 0
        spare = self.inner.height - 1 - calls - 2
        return 2 + min(slow, max(spare, self.inner.height // 3))

    def view_lines(self, scene: Scene) -> Sequence[Spans]:
        counts = scene.counts
        assert counts is not None
        width = self.inner.width
        self.total_rows = len(counts.syscalls)
        self.clamp_top()
        now = [[(f"now {ongoing_text(call)}", "text")] for call in counts.ongoing[:1]]
        self.set_title(scene.span_words, self.position_text())
        if not counts.syscalls and not counts.slow_calls:
            idle = "no system call has ended yet"
            return [*now, *self.sentence(idle)] if now else self.sentence(idle)
        visible = counts.syscalls[self.top : self.top + self.page_rows]
        placed = place(WIDE_COLUMNS if width >= WIDE else COLUMNS, width, 2)
        lines: list[Spans] = [header_spans(placed, None)]
        lines.extend(row_lines(placed, Calls(visible, counts.interval_ns), len(visible)))
        below = self._below()
        if below:
            lines.extend([] for _ in range(self.inner.height - below + 1 - len(lines)))
            slow = counts.slow_calls[: below - 2]
            at = place(SLOW_COLUMNS, width, 2)
            lines.append(header_spans(at, None))
            lines.extend(row_lines(at, slow, len(slow)))
        elif now and len(lines) < self.inner.height:
            lines.append(whole_parts([[(clip(now[0][0][0], width), "dim")]], width, ("", "text")))
        return lines
