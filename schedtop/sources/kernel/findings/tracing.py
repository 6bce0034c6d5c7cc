"""What is said where tracefs, a file in it, or a tracepoint is not there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from schedtop.base.finding import MORE, Finding
from schedtop.sources.kernel.findings.kernel import NOTHING, lockdown
from schedtop.sources.kernel.findings.repairs import as_root, schedtop_as_root

_MOUNT = "mount -t tracefs tracefs /sys/kernel/tracing"
_LOST = "--source tracepoint"


def no_tracefs(denied: Path | None, *, needed: bool = True) -> Finding:
    """That there is none, or that it is `denied`. Unless it is `needed` (there is BTF), it is only worth mentioning."""
    state, lost = ("missing", NOTHING) if needed else ("degraded", _LOST)
    details = {"path": str(denied or ""), "readable": False}
    if denied:
        found = f"{denied} is not readable for this user"
        return Finding("tracefs", state, found, lost, schedtop_as_root(), "or use --source btf", details)
    return Finding("tracefs", state, "tracefs is not mounted", lost, as_root(_MOUNT), details=details)


def no_tracepoint(event: str, lost: str = "", details: Mapping[str, Any] = MappingProxyType({})) -> Finding:
    """That this kernel lacks a tracepoint; `lost`: what cannot be had without it."""
    found = f"this kernel has no tracepoint {event}"
    if event == "sched_switch":
        advice = "boot a kernel with CONFIG_TRACEPOINTS: nothing works without it"
        return Finding(event, "missing", found, "everything but --source proc", advice=advice, details=details)
    return Finding(event, "degraded", found, lost, details=details)


def unreadable(path: Path, error: OSError) -> str:
    """Why a file of tracefs cannot be read, in one line."""
    locked = lockdown()
    # Locked down most files of tracefs cannot be opened, and the system only says that it is not permitted.
    return locked.error if locked.state == "missing" else f"{path}: {error.strerror or error}; {MORE}"
