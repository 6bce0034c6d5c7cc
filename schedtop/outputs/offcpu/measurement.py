"""An off-CPU measurement as JSON (`schedtop.offcpu/1`, see docs/offcpu.md), text, folded stacks and flame graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from schedtop import __version__
from schedtop.base.stacks import ENDED, Stack, Waker
from schedtop.base.units import (
    exact_duration,
    format_count,
    format_ns,
    format_ratio,
    format_round_ns,
    iso_time,
    printable,
)
from schedtop.offcpu.measurement import LockHolder, OffCpu, OffCpuRow, Times, Wakers, folded, paths, selected
from schedtop.offcpu.places import is_in_file_lock
from schedtop.offcpu.threads import Measured, ThreadLine, alike, measured, top_rows, top_threads
from schedtop.outputs.plain import blocks_text, json_text
from schedtop.outputs.scheduler.table import table

SCHEMA = "schedtop.offcpu/1"
TOP = 10
"""How many threads and stacks a text shows, and how many threads are the top ones in JSON."""

MOST_STACKS = 1000
"""How many stacks JSON has, unless it is told: of all tasks, while processes come and go, there are 20 MB of them."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a user wants to see: a state (one of STATE_CHOICES), how many threads and stacks (`None`: as usual, 0: all),
    and whether also threads that only waited for work; where the measurement is of some threads alone, they always are.
    """

    state: str = "all"
    top: int | None = None
    idle: bool = False

    def count(self, usual: int) -> int | None:
        """How many, `None` for all."""
        return (usual if self.top is None else self.top) or None

    def lists_idle(self, offcpu: OffCpu) -> bool:
        """Whether idle threads are shown of this measurement."""
        return self.idle or bool(offcpu.host.scope)


ASKED = Asked()


def document(offcpu: OffCpu, asked: Asked = ASKED) -> dict[str, Any]:
    """The measurement as data, always of all threads; `asked.top` is how many stacks."""
    found, state = measured(offcpu), asked.state
    threads, stacks = top_threads(found, state), top_rows(found, state)
    most = asked.count(MOST_STACKS)
    left_out = stacks[most:] if most else ()
    blocked = [line for line in top_threads(found, "blocked") if line.thread.blocked.count]
    return {
        **_about(offcpu, state),
        "thread_count": len(threads),
        "idle_thread_count": sum(line.is_idle for line in threads),
        "stack_count": len(stacks),
        "top_blocking": [line.thread.tid for line in blocked[: asked.count(TOP)]],
        "threads": [_thread(line, offcpu) for line in threads],
        "stacks": [_row(row) for row in stacks[:most]],
        "stacks_left_out": {"count": len(left_out), "total_ns": sum(row.total_ns for row in left_out)},
    }


def _about(offcpu: OffCpu, state: str) -> dict[str, Any]:
    """What was measured, as data."""
    by_state = {name: sum(row.total_ns for row in offcpu.rows if row.state == name) for name in _states(offcpu)}
    return {
        "schema": SCHEMA,
        "tool_version": __version__,
        "host": offcpu.host.name,
        "kernel": offcpu.host.kernel,
        "source": offcpu.host.source,
        "start_time": iso_time(offcpu.start_time_ns),
        "duration_ns": offcpu.duration_ns,
        "scope": offcpu.host.scope,
        "state": state,
        "min_ns": offcpu.min_ns,
        "below_min": {"count": offcpu.below_count, "total_ns": offcpu.below_ns},
        "wakers": offcpu.wakers >= Wakers.NAMES,
        "waker_stacks": offcpu.wakers is Wakers.STACKS,
        "totals": {"blocked_ns": offcpu.blocked_ns, "runnable_ns": offcpu.runnable_ns, "by_state_ns": by_state},
        "loss": asdict(offcpu.loss),
        "notes": list(offcpu.notes),
    }


def to_json(offcpu: OffCpu, asked: Asked = ASKED) -> str:
    """The document as text."""
    return json_text(document(offcpu, asked))


def to_folded(offcpu: OffCpu, asked: Asked = ASKED) -> str:
    """A line for each path, in microseconds, as flamegraph.pl reads them: nothing else has a place there."""
    return "".join(f"{printable(line)}\n" for line in folded(offcpu, asked.state))


def to_svg(offcpu: OffCpu, asked: Asked = ASKED) -> str:
    """The flame graph, of all tasks without those that only waited for work."""
    # Late: it brings the templates, which the other formats need not wait for.
    from schedtop.outputs.flame import flame_svg

    chosen = selected(asked.state)
    found = measured(offcpu)
    drawn = {line.thread.thread for line in found.lines if asked.lists_idle(offcpu) or not line.is_idle}
    rows = (row for row in offcpu.rows if chosen(row) and row.thread in drawn)
    title = "Off-CPU time" + (f", {asked.state}" if asked.state != "all" else "")
    lines = ["  ".join(_origin(offcpu)), *_measured(offcpu)]
    lines += [_idle_words(len(found.lines) - len(drawn))] if len(drawn) < len(found.lines) else []
    lines += _trouble(offcpu)
    stacks = paths(rows, wakers=bool(offcpu.wakers))
    return flame_svg(stacks, title=title, subtitle=lines, unit="ns", about=_about(offcpu, asked.state))


def to_text(offcpu: OffCpu, asked: Asked = ASKED) -> str:
    """A report to read: what was measured, the top threads, the top stacks."""
    found = measured(offcpu)
    parts = ["\n".join(["  ".join(_origin(offcpu)), *_measured(offcpu)])]
    parts += [_threads(found, asked), _stacks(found, asked)]
    parts += ["\n".join(lines)] if (lines := _trouble(offcpu)) else []
    return blocks_text(parts)


def _idle_words(count: int) -> str:
    threads = "1 thread that only waited for work is" if count == 1 else f"{count} that only waited for work are"
    return f"{threads} not shown (--idle shows them), but in every sum above"


FORMATS: dict[str, Callable[[OffCpu, Asked], str]] = {
    "text": to_text,
    "json": to_json,
    "folded": to_folded,
    "svg": to_svg,
}


def _states(offcpu: OffCpu) -> list[str]:
    return sorted({row.state for row in offcpu.rows})


def _times(times: Times) -> dict[str, Any]:
    average = times.average_ns
    known = bool(times.count)
    return {
        "count": times.count,
        "under_way": times.under_way,
        "total_ns": times.total_ns,
        "average_ns": None if average is None else round(average),
        "min_ns": times.min_ns if known else None,
        "max_ns": times.max_ns if known else None,
    }


def _thread(line: ThreadLine, offcpu: OffCpu) -> dict[str, Any]:
    thread = line.thread
    names = ("blocked", "sleeping", "uninterruptible", "runnable")
    holders = offcpu.lock_holders.get(thread.tid)
    return {
        "tid": thread.tid,
        "tgid": thread.tgid,
        "comm": thread.comm,
        "process": thread.process,
        "blocked_share_ratio": thread.share,
        "held_up_ns": line.held_ns,
        "idle": line.is_idle,
        "mostly_in": line.place or None,
        "lock_holders": None if holders is None else [_holder(holder) for holder in holders],
        **{name: _times(getattr(thread, name)) for name in names},
    }


def _holder(holder: LockHolder) -> dict[str, Any]:
    return {"pid": holder.pid or None, "comm": holder.comm or None}


def _row(row: OffCpuRow) -> dict[str, Any]:
    return {
        "tid": row.tid,
        "tgid": row.tgid,
        "comm": row.comm,
        "process": row.process,
        "state": row.state,
        **_times(row.times),
        "user": _stack(row.user),
        "kernel": _stack(row.kernel),
        "waker": _waker(row.waker) if row.waker else None,
    }


def _waker(waker: Waker) -> dict[str, Any]:
    tid = None if waker.tid == ENDED else waker.tid
    return {"tid": tid, "comm": waker.comm, "user": _stack(waker.user), "kernel": _stack(waker.kernel)}


def _stack(stack: Stack) -> dict[str, Any]:
    symbols = [
        {"name": symbol.name or None, "module": symbol.module or None, "offset": symbol.offset}
        for symbol in stack.symbols
    ]
    return {"symbols": symbols, "missing": stack.missing or None, "truncated": stack.truncated}


def _origin(offcpu: OffCpu) -> list[str]:
    host = offcpu.host
    parts = [f"schedtop {__version__}", f"host {host.name}", f"kernel {host.kernel}", f"source {host.source}"]
    parts += [iso_time(offcpu.start_time_ns), f"over {format_ns(offcpu.duration_ns)}"]
    return [*parts, printable(f"only {host.scope}") if host.scope else "all threads"]


def _measured(offcpu: OffCpu) -> list[str]:
    by_state = {name: sum(row.total_ns for row in offcpu.rows if row.state == name) for name in _states(offcpu)}
    threshold = "every wait counts (no minimum)"
    if offcpu.min_ns:
        shorter = f"{format_count(offcpu.below_count)} shorter ones, {format_ns(offcpu.below_ns)} in all, are left out"
        threshold = f"waits of {format_round_ns(offcpu.min_ns)} and longer (--min {exact_duration(offcpu.min_ns)}); "
        threshold += shorter
    idle = by_state.pop("idle", 0)
    blocked = ", ".join(f"{name} {format_ns(ns)}" for name, ns in by_state.items() if name != "runnable")
    whole = f"blocked {format_ns(offcpu.blocked_ns)} in all" + (f" ({blocked})" if blocked else "")
    whole += f", runnable without a CPU {format_ns(offcpu.runnable_ns)}"
    return [threshold, whole + (f", idle kernel threads {format_ns(idle)}" if idle else "")]


def _trouble(offcpu: OffCpu) -> list[str]:
    loss = offcpu.loss
    lost = [f"{name.replace('_', ' ')}: {count}" for name, count in loss.lost.items()]
    unnamed = [f"{loss.unknown_frames} frames"] if loss.unknown_frames else []
    unnamed += [f"{loss.waker_unknown_frames} frames of wakers"] if loss.waker_unknown_frames else []
    late = loss.late_processes
    unnamed += [f"the stacks of {late} processes that ended before they were looked at"] if late else []
    return [
        *(f"note: {note}" for note in offcpu.notes),
        *(["lost: " + ", ".join(lost)] if lost else []),
        *(["without names: " + ", ".join(unnamed)] if unnamed else []),
    ]


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
    title += [_idle_words(hidden)] if hidden else []
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
    waits = f"{format_count(row.times.count)} {'wait' if row.times.count == 1 else 'waits'}"
    waits += " (still under way)" if row.times.under_way else ""
    head = f"{format_ns(row.total_ns)} {row.state}  {waits}  average {average}, min {shortest}, max {longest}"
    who = f"  {printable(row.comm)} ({row.tid or 'ended'}) of {printable(row.process or str(row.tgid))}"
    lines = [head + who, *_frames(row.kernel), *_frames(row.user)]
    if row.times.under_way and is_in_file_lock(row):
        lines += [f"  the lock is held by {printable(holder.name)}" for holder in holders]
    if row.waker:
        lines.append(f"  woken by {printable(row.waker.name)}")
        lines += [*_frames(row.waker.kernel), *_frames(row.waker.user)]
    return "\n".join(lines)


def _frames(stack: Stack) -> Iterable[str]:
    """Leaf first, as stacks are read."""
    return (f"    {printable(label)}" for label in reversed(stack.labels))
