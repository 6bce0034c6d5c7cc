"""What a trace says of itself, in both formats: where and when it was taken, of what, and what is missing."""

from __future__ import annotations

from typing import Any

from schedtop import __version__
from schedtop.base.units import iso_time
from schedtop.capture.events import KIND_WORDS, NAME, Capture
from schedtop.capture.slices import unseen_switches
from schedtop.model.filters import Filter
from schedtop.outputs.scheduler.snapshot import filter_fields


def facts(capture: Capture) -> dict[str, Any]:
    """Names as in a snapshot; integers in the unit that the name carries; `null`: not available."""
    return {
        "tool": "schedtop",
        "tool_version": __version__,
        "host": capture.host.name,
        "kernel": capture.host.kernel,
        "machine": capture.machine,
        "source": capture.host.source,
        "start_time": iso_time(capture.start_ns - capture.clocks.monotonic_ns + capture.clocks.realtime_ns),
        "start_monotonic_ns": capture.start_ns,
        "duration_ns": capture.end_ns - capture.start_ns,
        "ended_early": capture.ended_early or None,
        "filters": filter_fields(Filter(), scope=capture.host.scope),  # a capture has none
        "cpus": len(capture.cpus),
        "events": capture.counts(),
        "lost": {words: int(capture.lost[kind].sum()) for kind, words in KIND_WORDS.items()},
        "lost_total": capture.lost_total,
        "lost_by_cpu": {str(cpu): lost for cpu, lost in capture.lost_by_cpu().items() if lost},
        "lost_in_interrupts": capture.lost_in_interrupts,
        "lost_names": int(capture.lost[NAME].sum()),
        "unseen_switches": unseen_switches(capture),
        "missing_tracepoints": list(capture.missing),
        "unavailable": dict(capture.unavailable),
    }
