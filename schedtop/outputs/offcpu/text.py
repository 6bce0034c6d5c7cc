"""An off-CPU measurement as text: the top threads, the top stacks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from schedtop.base.stacks import Stack
from schedtop.base.units import format_count, format_counted, format_ns, format_ratio, printable
from schedtop.offcpu.measurement import LockHolder, OffCpu, OffCpuRow, Times
from schedtop.offcpu.places import is_in_file_lock
from schedtop.offcpu.threads import Measured, alike, measured, top_rows, top_threads
from schedtop.outputs.offcpu.asked import ASKED, TOP, Asked
from schedtop.outputs.offcpu.lines import idle_words, measured_lines, origin, trouble
from schedtop.outputs.plain import blocks_text
from schedtop.outputs.tables import table


def to_text(offcpu: OffCpu, asked: Asked = ASKED) -> str:
    """A report to read: what was measured, the top threads, the top stacks."""
    found = measured(offcpu)
    parts = ["\n".join(["  ".join(origin(offcpu)), *measured_lines(offcpu)])]
    parts += [_threads(found, asked), _stacks(found, asked)]
    parts += ["\n".join(lines)] if (lines := trouble(offcpu)) else []
    return blocks_text(parts)


def _threads(found: Measured, asked: Asked) -> str:
    listed = top_threads(found, asked.state, idle=asked.lists_idle(found.offcpu))
    hidden = len(top_threads(found, asked.state)) - len(listed)
    waits = ("held up", "blocked", "share", "waits", "average", "min", "max", "uninterruptible")
    header = ("tid", "comm", "process", *waits, "runnable", "delays", "longest", "mostly in")
    count = asked.count(TOP)
    rows = [
        (
            str(line.thread.tid or "ended"),
            printable(line.thread.comm),
            printable(line.thread.process or str(line.thread.tgid)),
            format_ns(line.held_ns),
            format_ns(line.thread.blocked.total_ns),
            format_ratio(line.thread.share),
            _count(line.thread.blocked),
            *_lengths(line.thread.blocked),
            format_ns(line.thread.uninterruptible.total_ns),
            format_ns(line.thread.runnable.total_ns),
            _count(line.thread.runnable),
            _lengths(line.thread.runnable)[-1],
            printable(line.place),
        )
        for line in listed[:count]
    ]
    by = "held up" if asked.state in ("all", "blocked") else f"{asked.state} time"
    title = [f"Top threads by {by}: {len(rows)} of {len(listed)} (+: one of the waits is still under way)"]
    asleep = sum(line.slept for line in listed)
    title += [f"{asleep} of them slept all the time, and come last"] if asleep and len(listed) > 1 else []
    title += [idle_words(hidden)] if hidden else []
    return "\n".join(title) + "\n" + table(header, rows, left=("comm", "process", "mostly in"))


def _count(times: Times) -> str:
    return format_count(times.count) + ("+" if times.under_way else " ")


def _lengths(times: Times) -> list[str]:
    if not times.count:
        return ["-"] * 3
    return [format_ns(ns) for ns in (times.average_ns, times.min_ns, times.max_ns)]


def _stacks(found: Measured, asked: Asked) -> str:
    # What a thread waits for is told apart from that it then waits for a CPU, unless that is asked for.
    state = "blocked" if asked.state == "all" else asked.state
    # Alike first: several that look the same may be more than one that is larger than each.
    seen = replace(found, offcpu=replace(found.offcpu, rows=tuple(alike(found.offcpu.rows))))
    every = top_rows(seen, state, idle=asked.lists_idle(found.offcpu))
    count = asked.count(TOP)
    title = f"Top stacks by {state} time, waits for work last: {len(every[:count])} of {len(every)}"
    holders = found.offcpu.lock_holders
    return "\n\n".join([title, *(_stack_lines(row, holders.get(row.tid, ())) for row in every[:count])])


def _stack_lines(row: OffCpuRow, holders: Iterable[LockHolder]) -> str:
    average, shortest, longest = _lengths(row.times)
    waits = format_counted(row.times.count, "wait")
    waits += " (still under way)" if row.times.under_way else ""
    head = f"{format_ns(row.total_ns)} {row.state}  {waits}  average {average}, min {shortest}, max {longest}"
    thread = f"  {printable(row.comm)} ({row.tid or 'ended'}) of {printable(row.process or str(row.tgid))}"
    lines = [head + thread, *_frames(row.kernel), *_frames(row.user)]
    if row.times.under_way and is_in_file_lock(row):
        lines += [f"  the lock is held by {printable(holder.name)}" for holder in holders]
    if row.waker:
        lines.append(f"  woken by {printable(row.waker.name)}")
        lines += [*_frames(row.waker.kernel), *_frames(row.waker.user)]
    return "\n".join(lines)


def _frames(stack: Stack) -> Iterable[str]:
    """Leaf first, as stacks are read."""
    return (f"    {printable(label)}" for label in reversed(stack.labels))
