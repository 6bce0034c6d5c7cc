"""The tracepoints that schedtop uses, each with the fields of its record as tracefs describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedtop.base.finding import Finding
from schedtop.sources.capture import front_end as capture_front_end
from schedtop.sources.kernel import front_end
from schedtop.sources.kernel.btf import Btf
from schedtop.sources.kernel.findings.tracing import no_tracepoint
from schedtop.sources.kernel.program_text import source_directory
from schedtop.sources.kernel.records import Load, loads_of
from schedtop.sources.kernel.tracefs import Field, TracefsError, read_fields
from schedtop.sources.offcpu import front_end as offcpu_front_end
from schedtop.sources.task.front_end import RECORDS, TRACEPOINTS

WAKEUP = "sched_wakeup"
"""Only the front end without BTF listens to it."""


@dataclass(frozen=True, slots=True)
class Use:
    """A tracepoint, what uses it (`collector`, `capture`, `offcpu`, `task`), and what is lost without it."""

    event: str
    category: str
    users: tuple[str, ...]
    lost: str

    @property
    def by_collector(self) -> bool:
        """Whether the dashboard's own programs use it."""
        return "collector" in self.users


def uses() -> list[Use]:
    """All of them, the collector's first."""
    by = {
        "collector": (*front_end.EVENTS, WAKEUP),
        "capture": tuple(capture_front_end.EVENTS),
        "offcpu": offcpu_front_end.EVENTS,
        "task": tuple(TRACEPOINTS),
    }
    found = []
    for event in dict.fromkeys(event for events in by.values() for event in events):
        users = tuple(user for user, events in by.items() if event in events)
        found.append(Use(event, RECORDS.get(event, "sched"), users, _lost(event, users)))
    return found


def _lost(event: str, users: tuple[str, ...]) -> str:
    parts = [front_end.LOST_WITHOUT[event]] if event in front_end.LOST_WITHOUT else []
    if "offcpu" in users:
        parts.append("off-CPU time")
    if "task" in users:
        parts.append(f"in the task view: {TRACEPOINTS[event]}")
    return ", ".join(parts) or "of --source tracepoint: tasks that are woken on their way out"


def tracepoint(use: Use, tracefs: Path | None, btf: Btf | None, used: frozenset[Load] = frozenset()) -> Finding:
    """Whether a tracepoint is there, by tracefs and by BTF. `used`: what is read, see `used_loads`."""
    typed = btf.has_typedef(f"btf_trace_{use.event}") if btf else None
    try:
        fields = read_fields(tracefs, f"{use.category}:{use.event}") if tracefs else None
        unread = "" if tracefs else "tracefs cannot be read"
    except TracefsError as error:
        fields, unread = None, str(error)
    loads = [load for load in used if load.event == use.event]
    names = frozenset(load.field for load in loads)
    details = {
        "category": use.category,
        "used_by": list(use.users),
        "in_btf": typed,
        "in_tracefs": None if unread else fields is not None,
        "fields": _listed(fields, names),
    }
    if fields is None and not typed and not (unread and btf is None):
        return no_tracepoint(use.event, use.lost, details)
    if fields is None:
        # Without tracefs and BTF nothing is known; the line of tracefs says what to do.
        found = f"in BTF; its fields: {unread}" if typed else f"not known: {unread}"
        if typed and not unread:
            found = "in BTF, but tracefs does not have it"
        return Finding(use.event, "ok" if typed else "degraded", found, details=details)
    if misfits := sorted({why for load in loads if (why := load.misfit(fields.get(load.field)))}):
        found = f"its record {', '.join(misfits)}: schedtop cannot read it"
        return Finding(use.event, "degraded", found, "--source tracepoint", details=details)
    own = [field for field in fields.values() if not field.name.startswith("common_")]
    size = max((field.offset + field.size for field in own), default=0)
    return Finding(use.event, "ok", f"{len(own)} fields, {size} bytes", details=details)


def _listed(fields: Mapping[str, Field] | None, used: frozenset[str]) -> list[dict[str, Any]]:
    return [
        {"name": field.name, "type": field.type, "offset": field.offset, "size": field.size, "used": name in used}
        for name, field in (fields or {}).items()
    ]


def used_loads() -> frozenset[Load]:
    """What the kernel side reads of records."""
    directory = source_directory()
    programs = [path.relative_to(directory).as_posix() for path in directory.glob("*/tracepoint.c")]
    return frozenset(load for program in programs for load in loads_of(program))
