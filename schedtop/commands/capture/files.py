"""From the live kernel to trace files, for the command and for the dashboard's key."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from schedtop.base.units import NS_PER_S, format_bytes, format_ns, plural
from schedtop.capture.events import Capture
from schedtop.commands.capture.writer import write_capture_elsewhere
from schedtop.outputs.capture.files import ENDINGS, default_name
from schedtop.outputs.names import FreeName
from schedtop.sources.capture.source import DEFAULT_BUFFER_BYTES, CaptureSource
from schedtop.sources.path.interrupts import InterruptsBeside

KEY_NS = 2 * NS_PER_S
"""How long the dashboard's key captures."""

ONE = {"switches": "switch", "wakeups": "wakeup", "new_tasks": "new task", "migrations": "migration"}
"""What one of each kind of `Capture.counts` is called."""


def take_capture(
    source: str,
    buffer_bytes: int,
    duration_ns: int,
    stop: threading.Event,
    path_ns: int | None = None,
    interrupts: bool = False,
) -> Capture:
    """Captures the live kernel, until `stop` is set at most; `path_ns` as of CaptureSource. Raises SourceError.

    `interrupts`: each of them is noted as well.
    """
    with CaptureSource(source, buffer_bytes, path_ns=path_ns) as opened, ExitStack() as stack:
        beside = stack.enter_context(InterruptsBeside()) if interrupts else None
        taken = opened.take(duration_ns, stop)
        return beside.noted(taken) if beside else taken


def capture_at_key(source: str, directory: Path, stop: threading.Event) -> list[str]:
    """What the dashboard's key does: captures into a directory, and gives the lines to show.

    It takes its time, and raises SourceError and OutputError.
    """
    taken = take_capture(source, DEFAULT_BUFFER_BYTES, KEY_NS, stop)
    if stop.is_set():
        return []
    start_ns = taken.start_ns - taken.clocks.monotonic_ns + taken.clocks.realtime_ns
    endings = {kind: of_kind[0] for kind, of_kind in ENDINGS.items()}
    with FreeName(directory, default_name(taken.host.name, start_ns), [*endings.values()]) as name:
        paths = {kind: name.path(ending) for kind, ending in endings.items()}
        return list(describe(taken, write_capture_elsewhere(taken, paths)))


def describe(capture: Capture, paths: list[Path]) -> Iterator[str]:
    """What a capture holds and where it is, in lines for the user; losses last."""
    counts = capture.counts()
    events = ", ".join(
        f"{count:,} {ONE[words] if count == 1 else words.replace('_', ' ')}" for words, count in counts.items()
    )
    cpus = len(capture.cpus)
    yield f"{format_ns(capture.end_ns - capture.start_ns)} of {cpus} {plural(cpus, 'CPU')}: {events}"
    yield from (f"{path} ({format_bytes(path.stat().st_size)})" for path in paths)
    if capture.ended_early:
        yield f"the capture ended early: {capture.ended_early}"
    if capture.missing:
        yield f"this kernel has no tracepoint {', '.join(capture.missing)}: the trace is without its events"
    if lost := capture.lost_total:
        share = lost / (lost + sum(counts.values()))
        what = plural(lost, "event was", "events were")
        yield f"{lost:,} {what} lost ({share:.1%}): the buffer was full; try a larger --buffer"
    if more := capture.lost_in_interrupts:
        yield f"{more:,} more came by an interrupt while an event was being written, and are not in the trace"
