"""What was measured, in lines for every form that people read."""

from __future__ import annotations

from schedtop import __version__
from schedtop.base.units import exact_duration, format_counted, format_ns, format_round_ns, iso_time, plural, printable
from schedtop.offcpu.measurement import OffCpu, Times
from schedtop.outputs.offcpu.document import states


def origin(offcpu: OffCpu) -> list[str]:
    host = offcpu.host
    parts = [f"schedtop {__version__}", f"host {host.name}", f"kernel {host.kernel}", f"source {host.source}"]
    parts += [iso_time(offcpu.start_time_ns), f"over {format_ns(offcpu.duration_ns)}"]
    return [*parts, printable(f"only {host.scope}") if host.scope else "all threads"]


def measured_lines(offcpu: OffCpu) -> list[str]:
    by_state = {name: offcpu.times(name).total_ns for name in states(offcpu)}
    threshold = "every wait counts (no minimum)"
    if offcpu.min_ns:
        shorter = f"{format_counted(offcpu.below_count, 'shorter one')}, {format_ns(offcpu.below_ns)} in all, "
        shorter += f"{plural(offcpu.below_count, 'is', 'are')} left out"
        threshold = f"waits of {format_round_ns(offcpu.min_ns)} and longer (--min {exact_duration(offcpu.min_ns)}); "
        threshold += shorter
    idle = by_state.pop("idle", 0)
    blocked = ", ".join(f"{name} {format_ns(ns)}" for name, ns in by_state.items() if name != "runnable")
    whole = f"blocked {format_ns(offcpu.blocked_ns)} in all" + (f" ({blocked})" if blocked else "")
    whole += f", runnable without a CPU {format_ns(offcpu.runnable_ns)}"
    whole += f", idle kernel threads {format_ns(idle)}" if idle else ""
    every = {"blocked": offcpu.times("blocked"), "runnable": offcpu.times("runnable")}
    lengths = [lengths_words(name, times) for name, times in every.items() if times.count]
    return [threshold, whole, *(["; ".join(lengths)] if lengths else [])]


def lengths_words(name: str, times: Times) -> str:
    """How many waits there were, and how long they were."""
    average = format_ns(times.average_ns or 0)
    lengths = f"average {average}, min {format_ns(times.min_ns)}, max {format_ns(times.max_ns)}"
    return f"{name} {format_counted(times.count, 'time')}: {lengths}"


def trouble(offcpu: OffCpu) -> list[str]:
    loss = offcpu.loss
    lost = [f"{name.replace('_', ' ')}: {count}" for name, count in loss.lost.items()]
    unnamed = [f"{loss.unknown_frames} {plural(loss.unknown_frames, 'frame')}"] if loss.unknown_frames else []
    unnamed += (
        [f"{loss.waker_unknown_frames} {plural(loss.waker_unknown_frames, 'frame')} of wakers"]
        if loss.waker_unknown_frames
        else []
    )
    late = loss.late_processes
    if late:
        unnamed.append(
            f"the stacks of {late} {plural(late, 'process', 'processes')} that ended before they were looked at"
        )
    return [
        *(f"note: {note}" for note in offcpu.notes),
        *(["lost: " + ", ".join(lost)] if lost else []),
        *(["without names: " + ", ".join(unnamed)] if unnamed else []),
    ]


def idle_words(count: int) -> str:
    threads = "1 thread that only waited for work is" if count == 1 else f"{count} that only waited for work are"
    return f"{threads} not shown (--idle shows them), but in every sum above"
