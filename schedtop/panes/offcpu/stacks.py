"""The stacks in which a thread was without a CPU, most time first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from schedtop.base.stacks import Stack
from schedtop.base.units import format_count, format_counted, format_ns, format_ratio
from schedtop.offcpu.measurement import RUNNABLE, STATES, Times
from schedtop.offcpu.places import CPU
from schedtop.offcpu.threads import StackLine
from schedtop.panes.pane import Pane
from schedtop.widgets.bars import thin_bar
from schedtop.widgets.strips import Span, Spans, clip, fit, steady, whole_parts, width_of, wrapped

BAR_CELLS = 10
INDENT = 9
CALLER = " ← "
MOST_STACKS = 200
MOST_WAKERS = 20
LEAVES = frozenset(("__schedule", "schedule"))
ROOTS = frozenset(("do_syscall_64", "entry_SYSCALL_64_after_hwframe", "x64_sys_call", "el0t_64_sync", "invoke_syscall"))
SHORT_LINES = 3
"""Lines of one side of a stack, unless the pane is zoomed."""


class StacksPane(Pane[Any]):
    """Stacks, leaf first, each with its part of the time."""

    NUMBER = 2
    TITLE = "Stacks"
    READING = (
        "The stacks with which the selected thread left its CPU (of all threads that are listed if none is selected), "
        "most time first; the percentage is of the time without a CPU of what is shown. Each function is followed by "
        "the one that called it. A place without a name is its file and offset; what could not be read says so in "
        "brackets. Runnable time has the stack with which the thread had left its CPU before. Enter or z gives the "
        "pane the whole screen and the stacks their whole length: otherwise long ones are cut, and the functions that "
        "every stack begins or ends with (schedule, the entry of system calls) are left out."
    )

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.is_whole = False
        """Whether stacks have their whole length."""
        self._stacks: Sequence[StackLine] = ()
        self._whose = ""
        self._named = False
        self._made: tuple[object, ...] = ()
        self._made_lines: list[Spans] = []

    def take(self, stacks: Sequence[StackLine], whose: str, *, named: bool) -> None:
        """Shows stacks; `whose` they are, in words; `named`: each says of which thread it is."""
        self._stacks, self._whose, self._named = stacks, whose, named
        self.draw()

    def message_lines(self) -> list[Spans]:
        return []

    def current_lines(self) -> Sequence[Spans]:
        width, height = self.inner
        wanted = (self._stacks, width, self.is_whole, self._named)
        if self._made != wanted:
            self._made = wanted
            self._made_lines = list(self._all_lines(width))
        self.total_rows = len(self._made_lines)
        self.clamp_top()
        self.set_title(self._whose, self.position_text())
        return self._made_lines[self.top : self.top + height]

    def _all_lines(self, width: int) -> Iterable[Spans]:
        total_ns = sum(stack.total_ns for stack in self._stacks)
        for stack in self._stacks[:MOST_STACKS]:
            yield _head(stack, total_ns, width, self._named)
            yield from self._side("kernel", stack.kernel, width)
            yield from self._side("user", stack.user, width)
            if self.is_whole and stack.wakers:
                yield from _waker_lines(stack, width)
        more = self._stacks[MOST_STACKS:]
        if more:
            rest = format_ns(sum(stack.total_ns for stack in more))
            yield [
                (f"and {format_counted(len(more), 'stack')} more, {rest} in all: e writes all of them to files", "dim")
            ]

    def _side(self, name: str, stack: Stack, width: int) -> Iterable[Spans]:
        names = list(reversed(stack.labels))
        if not names:
            return
        names = [steady(label) for label in (names if self.is_whole else _telling(names))]
        lines = _filled(names, width - INDENT, None if self.is_whole else SHORT_LINES)
        for index, line in enumerate(lines):
            yield [(fit(f"  {name}" if index == 0 else "", INDENT), "dim"), (line, "text")]


def _telling(names: list[str]) -> list[str]:
    """Names from the leaf on without those that every stack has at its ends; all if there are no others."""
    first, last = 0, len(names)
    while first < last and names[first] in LEAVES:
        first += 1
    while last > first and names[last - 1] in ROOTS:
        last -= 1
    return names[first:last] or names


def _waker_lines(stack: StackLine, width: int) -> Iterable[Spans]:
    total_ns = sum(ns for _, ns in stack.wakers) or 1
    words = [f"{steady(name)} {format_ratio(ns / total_ns)}" for name, ns in stack.wakers[:MOST_WAKERS]]
    for index, line in enumerate(wrapped(", ".join(words), width - INDENT - 2)):
        yield [(fit("  woken by" if index == 0 else "", INDENT + 2), "dim"), (line, "text")]


def _head(stack: StackLine, total_ns: int, width: int, named: bool) -> Spans:
    ratio = stack.total_ns / total_ns if total_ns else 0.0
    blocked = [times for state, times in stack.states.items() if state != RUNNABLE]
    waits = sum(blocked, Times()) if blocked else stack.states.get(RUNNABLE, Times())
    bar = fit(thin_bar(ratio, BAR_CELLS), BAR_CELLS)
    head: list[Span] = [
        (bar, "busy"),
        (f" {format_ratio(ratio):>6}", "strong"),
        (f" {format_ns(stack.total_ns)}", "strong"),
    ]
    words: list[list[Span]] = [
        [(_state_words(stack), "preemption" if RUNNABLE in stack.states and not blocked else "wakeup")]
    ]
    if named:
        words.insert(0, [(f"{steady(stack.comm)} ({stack.tid})", "key")])
    words += [
        [(f"×{format_count(waits.count)}", "text")],
        [(f"longest {format_ns(waits.max_ns)}", "text")],
        [(f"average {format_ns(waits.average_ns)}", "text")],
        *_wakers(stack),
    ]
    if stack.holders:
        names = ", ".join(steady(holder.name) for holder in stack.holders)
        words.insert(1 + named, [("the lock is held by ", "dim"), (names, "notice")])
    if waits.under_way:
        words.insert(2, [(f"▶ {waits.under_way} under way", "notice")])
    return [*head, ("  ", "text"), *whole_parts(words, width - BAR_CELLS - 18, ("  ", "text"))]


def _state_words(stack: StackLine) -> str:
    """`sleeping in futex`, with the run delay that followed if there was any worth mentioning."""
    times = {state: stack.states[state].total_ns for state in STATES if state in stack.states}
    blocked = [state for state in times if state != RUNNABLE]
    if not blocked:
        return "runnable, had no CPU"
    place = "" if stack.place in (CPU, *blocked) else f" in {steady(stack.place)}"
    late = times.get(RUNNABLE, 0)
    then = f", then {format_ns(late)} runnable" if late * 100 > sum(times.values()) else ""
    return f"{' and '.join(blocked)}{place}{then}"


def _wakers(stack: StackLine) -> list[list[Span]]:
    if not stack.wakers:
        return []
    more = f" and {len(stack.wakers) - 1} more" if len(stack.wakers) > 1 else ""
    return [[("woken by ", "dim"), (f"{steady(stack.wakers[0][0])}{more}", "text")]]


def _filled(names: Sequence[str], width: int, most: int | None) -> list[str]:
    """Names from the leaf on with their callers, in lines; cut after `most` of them, saying how many are missing."""
    lines: list[str] = []
    line = ""
    for index, name in enumerate(names):
        word = name if not index else CALLER.lstrip() + name
        candidate = f"{line} {word}" if line else word
        if line and width_of(candidate) > width:
            if most is not None and len(lines) + 1 == most:
                left = f" … {len(names) - index} more"
                return [*lines, clip(line, width - len(left)) + left]
            lines.append(clip(line, width))
            candidate = word
        line = candidate
    return [*lines, clip(line, width)]
