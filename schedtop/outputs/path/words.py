"""What segments and paths are called, in every form that people read."""

from __future__ import annotations

from schedtop import __version__
from schedtop.base.units import exact_duration, format_ns, format_round_ns, iso_time, printable
from schedtop.path.paths import Paths
from schedtop.path.profile import ProfileRow
from schedtop.path.segments import BLOCKED, INTERRUPT, QUEUED, RUNNING, THROTTLED, UNKNOWN

DOES = {
    RUNNING: "running",
    QUEUED: "queued",
    THROTTLED: "throttled by its quota",
    BLOCKED: "blocked",
    INTERRUPT: "waiting for an interrupt",
    UNKNOWN: "unknown",
}


def does(state: str, behind: str | None, where: str, woken_by: str, reason: str, comm: str = "") -> str:
    """What a task does in a segment, in words. `comm`: its name, where `behind` may be another task of that name."""
    if state == QUEUED:
        name = f"another {behind}" if behind and behind == comm else behind
        return {None: "queued", "idle": "queued, its CPU idle"}.get(behind, f"queued behind {name}")
    if state == UNKNOWN:
        return f"unknown: {reason}" + (f" (blocked in {where})" if where else "")
    words = DOES[state]
    if state in (BLOCKED, INTERRUPT):
        words = f"blocked in {where}" if where else "blocked"
        # `nanosleep: timer` says already what ends it.
        words += f", until the {woken_by}" if woken_by and woken_by not in where else ""
    return words


def row_words(row: ProfileRow) -> str:
    """The same of a row of the profile."""
    behind = row.behind.comm if row.behind else None
    return does(row.state, behind, row.where, row.woken_by, row.reason, row.task.comm)


def origin(paths: Paths) -> list[str]:
    """What was looked at, and where, when and how."""

    capture = paths.capture
    started_ns = capture.start_ns - capture.clocks.monotonic_ns + capture.clocks.realtime_ns
    parts = [f"schedtop {__version__}", f"host {capture.host.name}", f"kernel {capture.host.kernel}"]
    parts += [f"source {capture.host.source}", iso_time(started_ns)]
    parts += [f"over {format_ns(capture.end_ns - capture.start_ns)}"]
    parts += [printable(f"only {paths.targets.words}") if paths.targets.words else "all tasks"]
    shortest = f"episodes of {format_round_ns(paths.min_ns)} and longer (--min {exact_duration(paths.min_ns)})"
    return [*parts, shortest if paths.min_ns else "every episode (no minimum)"]


def trouble(paths: Paths) -> list[str]:
    """What is missing, a line each."""
    capture = paths.capture
    lost = capture.lost_total
    found = [f"note: {why}" for why in capture.unavailable.values()]
    found += [f"note: the recording ended early: {capture.ended_early}"] if capture.ended_early else []
    if lost:
        found.append(f"lost: {lost:,} events, where paths are cut and say so; try a larger --buffer")
    if capture.lost_in_interrupts:
        found.append(f"lost: {capture.lost_in_interrupts:,} events that came while another one was being written")
    if capture.lost_places:
        found.append(f"lost: {capture.lost_places:,} stacks: there it is not known where tasks were blocked")
    for what, many in (
        ("episodes were not walked, for lack of time", paths.not_walked),
        ("spans of which nothing or too little is known: a switch was lost or not seen", paths.unclear),
    ):
        if many.count:
            found.append(f"left out: {many.count} {what} ({format_ns(many.time_ns)} in all)")
    return found
