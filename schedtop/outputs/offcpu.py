"""An off-CPU measurement as JSON (`schedtop.offcpu/1`, see docs/offcpu.md), text, folded stacks and flame graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from schedtop import __version__
from schedtop.offcpu import (
    OffCpu,
    OffCpuRow,
    ThreadSummary,
    Times,
    folded,
    paths,
    selected,
    slept_throughout,
    top_blocking,
    top_rows,
)
from schedtop.outputs.table import table
from schedtop.stacks import Stack, Waker
from schedtop.units import (
    exact_duration,
    format_count,
    format_ns,
    format_ratio,
    format_round_ns,
    iso_time,
    printable,
)

SCHEMA = "schedtop.offcpu/1"
TOP = 10
"""How many threads and stacks a text shows, and how many threads are the top ones in JSON."""


def document(offcpu: OffCpu, state: str = "all", top: int | None = None) -> dict[str, Any]:
    """The measurement as data; `state` chooses stacks and threads, `top` how many of them (`None`: all)."""
    chosen = selected(state)
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
        "wakers": offcpu.wakers,
        "totals": {"blocked_ns": offcpu.blocked_ns, "runnable_ns": offcpu.runnable_ns, "by_state_ns": by_state},
        "thread_count": len(top_blocking(offcpu, None, state)),
        "stack_count": sum(1 for row in offcpu.rows if chosen(row)),
        "top_blocking": [thread.tid for thread in top_blocking(offcpu, TOP if top is None else top)],
        "threads": [_thread(thread) for thread in top_blocking(offcpu, top, state)],
        "stacks": [_row(row) for row in top_rows(offcpu, top, state)],
        "loss": asdict(offcpu.loss),
        "notes": list(offcpu.notes),
    }


def to_json(offcpu: OffCpu, state: str = "all", top: int | None = None) -> str:
    """The document as text."""
    return json.dumps(document(offcpu, state, top), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def to_folded(offcpu: OffCpu, state: str = "all", _top: int | None = None) -> str:
    """A line for each path, in microseconds, as flamegraph.pl reads them: nothing else has a place there."""
    return "".join(f"{printable(line)}\n" for line in folded(offcpu, state))


def to_svg(offcpu: OffCpu, state: str = "all", _top: int | None = None) -> str:
    """The flame graph."""
    from schedtop.outputs.flame import flame_svg

    chosen = selected(state)
    about = {key: value for key, value in document(offcpu, state, 0).items() if key not in ("threads", "stacks")}
    title = "Off-CPU time" + (f", {state}" if state != "all" else "")
    lines = ["  ".join(_origin(offcpu)), *_measured(offcpu), *_trouble(offcpu)]
    return flame_svg(
        paths(row for row in offcpu.rows if chosen(row)), title=title, subtitle=lines, unit="ns", about=about
    )


def to_text(offcpu: OffCpu, state: str = "all", top: int | None = None) -> str:
    """A report to read: what was measured, the top threads, the top stacks."""
    count = TOP if top is None else top
    # Shares are of blocked time: that is what is shown first, unless something else is asked for.
    order = "blocked" if state == "all" else state
    parts = ["\n".join(["  ".join(_origin(offcpu)), *_measured(offcpu)])]
    parts += [_threads(offcpu, count, order), _stacks(offcpu, count, state)]
    parts += ["\n".join(lines)] if (lines := _trouble(offcpu)) else []
    return "\n\n".join(parts) + "\n"


FORMATS: dict[str, Callable[[OffCpu, str, int | None], str]] = {
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


def _thread(thread: ThreadSummary) -> dict[str, Any]:
    names = ("blocked", "sleeping", "uninterruptible", "runnable")
    return {
        "tid": thread.tid,
        "tgid": thread.tgid,
        "comm": thread.comm,
        "process": thread.process,
        "blocked_share_ratio": thread.share,
        **{name: _times(getattr(thread, name)) for name in names},
    }


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
    return {"tid": waker.tid, "comm": waker.comm, "user": _stack(waker.user), "kernel": _stack(waker.kernel)}


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
    lost = [f"{name.replace('_', ' ')}: {count}" for name, count in asdict(offcpu.loss).items() if count]
    return [*(f"note: {note}" for note in offcpu.notes), *(["lost: " + ", ".join(lost)] if lost else [])]


def _threads(offcpu: OffCpu, count: int, order: str) -> str:
    every = top_blocking(offcpu, None, order)
    waits = ("blocked", "share", "waits", "average", "min", "max", "uninterruptible")
    header = ("tid", "comm", "process", *waits, "runnable", "delays", "longest")
    rows = [
        (
            str(thread.tid),
            printable(thread.comm),
            printable(thread.process or str(thread.tgid)),
            format_ns(thread.blocked.total_ns),
            format_ratio(thread.share),
            _count(thread.blocked),
            *_lengths(thread.blocked),
            format_ns(thread.uninterruptible.total_ns),
            format_ns(thread.runnable.total_ns),
            _count(thread.runnable),
            _lengths(thread.runnable)[-1],
        )
        for thread in every[:count]
    ]
    title = f"Top threads by {order} time: {len(rows)} of {len(every)} (+: one of the waits is still under way)"
    asleep = sum(slept_throughout(offcpu, thread) for thread in every)
    if asleep and len(every) > 1:
        title += f"\n{asleep} of them slept all the time, and come last"
    return f"{title}\n" + table(header, rows, left=("comm", "process"))


def _count(times: Times) -> str:
    return format_count(times.count) + ("+" if times.under_way else " ")


def _lengths(times: Times) -> list[str]:
    if not times.count:
        return ["-"] * 3
    return [format_ns(ns) for ns in (times.average_ns, times.min_ns, times.max_ns)]


def _stacks(offcpu: OffCpu, count: int, state: str) -> str:
    every = top_rows(offcpu, None, "blocked" if state == "all" else state)
    title = f"Top stacks by {'blocked' if state == 'all' else state} time: {min(count, len(every))} of {len(every)}"
    return "\n\n".join([title, *(_stack_lines(row) for row in every[:count])])


def _stack_lines(row: OffCpuRow) -> str:
    average, shortest, longest = _lengths(row.times)
    waits = f"{format_count(row.times.count)} {'wait' if row.times.count == 1 else 'waits'}"
    waits += " (still under way)" if row.times.under_way else ""
    head = f"{format_ns(row.total_ns)} {row.state}  {waits}  average {average}, min {shortest}, max {longest}"
    who = f"  {printable(row.comm)} ({row.tid}) of {printable(row.process or str(row.tgid))}"
    lines = [head + who, *_frames(row.kernel), *_frames(row.user)]
    if row.waker:
        lines.append(f"  woken by {printable(row.waker.name)}")
        lines += [*_frames(row.waker.kernel), *_frames(row.waker.user)]
    return "\n".join(lines)


def _frames(stack: Stack) -> Iterable[str]:
    """Leaf first, as stacks are read."""
    return (f"    {printable(label)}" for label in reversed(stack.labels))
