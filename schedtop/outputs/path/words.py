"""Where paths are from and what is missing in them, in every form that people read."""

from __future__ import annotations

from schedtop import __version__
from schedtop.base.units import exact_duration, format_ns, format_round_ns, iso_time, printable
from schedtop.path.paths import Paths


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
    if capture.lost_interrupts:
        found.append(
            f"lost: {capture.lost_interrupts:,} interrupts, too many to note: their time is in that of what they took "
            "it from"
        )
    if capture.refused_places:
        found.append(f"refused: {capture.refused_places:,} stacks that the kernel does not give")
    for what, many in (
        ("episodes were not walked, for lack of time", paths.not_walked),
        ("spans of which nothing or too little is known: a switch was lost or not seen", paths.unclear),
    ):
        if many.count:
            found.append(f"left out: {many.count} {what} ({format_ns(many.time_ns)} in all)")
    return found
