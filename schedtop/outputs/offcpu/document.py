"""An off-CPU measurement as data and as JSON: `schedtop.offcpu/1`, see docs/offcpu.md."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from schedtop import __version__
from schedtop.base.stacks import ENDED, Stack, Waker
from schedtop.base.units import (
    iso_time,
)
from schedtop.offcpu.measurement import LockHolder, OffCpu, OffCpuRow, ThreadSummary, Times, Wakers
from schedtop.offcpu.threads import ThreadLine, measured, top_rows, top_threads
from schedtop.outputs.offcpu.asked import ASKED, TOP, Asked
from schedtop.outputs.plain import json_text

SCHEMA = "schedtop.offcpu/1"

MOST_STACKS = 1000
"""How many stacks JSON has, unless it is told: of all tasks, while processes come and go, there are 20 MB of them."""


def document(offcpu: OffCpu, asked: Asked = ASKED) -> dict[str, Any]:
    """The measurement as data, always of all threads; `asked.top` is how many stacks."""
    found, state = measured(offcpu), asked.state
    threads, stacks = top_threads(found, state), top_rows(found, state)
    most = asked.count(MOST_STACKS)
    left_out = stacks[most:] if most else ()
    blocked = [line for line in top_threads(found, "blocked") if line.thread.blocked.count]
    return {
        **about(offcpu, state),
        "thread_count": len(threads),
        "idle_thread_count": sum(line.is_idle for line in threads),
        "stack_count": len(stacks),
        "top_blocking": [_blocked(line.thread) for line in blocked[: asked.count(TOP)]],
        "threads": [_thread(line, offcpu) for line in threads],
        "stacks": [_row(row) for row in stacks[:most]],
        "stacks_left_out": {"count": len(left_out), "total_ns": sum(row.total_ns for row in left_out)},
    }


def about(offcpu: OffCpu, state: str) -> dict[str, Any]:
    """What was measured, as data."""
    by_state = {name: offcpu.times(name) for name in states(offcpu)}
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
        "totals": {
            "blocked_ns": offcpu.blocked_ns,
            "runnable_ns": offcpu.runnable_ns,
            "by_state_ns": {name: times.total_ns for name, times in by_state.items()},
            "blocked": _times(offcpu.times("blocked")),
            "by_state": {name: _times(times) for name, times in by_state.items()},
        },
        "loss": asdict(offcpu.loss),
        "notes": list(offcpu.notes),
    }


def to_json(offcpu: OffCpu, asked: Asked = ASKED) -> str:
    """The document as text."""
    return json_text(document(offcpu, asked))


def states(offcpu: OffCpu) -> list[str]:
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


def _blocked(thread: ThreadSummary) -> dict[str, Any]:
    return {"tid": thread.tid, "comm": thread.comm, "blocked_ns": thread.blocked.total_ns, "share": thread.share}


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
        {"name": symbol.name or None, "module": symbol.module or None, "offset": symbol.place}
        for symbol in stack.symbols
    ]
    return {"symbols": symbols, "missing": stack.missing or None, "truncated": stack.truncated}
