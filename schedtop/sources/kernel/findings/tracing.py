"""Tracefs: whether it is mounted and readable, and what is said where it, or a tracepoint, is not there."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from schedtop.base.finding import MORE, Finding
from schedtop.sources.kernel.findings.kernel import NOTHING, lockdown
from schedtop.sources.kernel.findings.repairs import as_root, schedtop_as_root

MOUNT_POINTS = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))

_MOUNT = "mount -t tracefs tracefs /sys/kernel/tracing"
_LOST = "--source tracepoint"


def tracefs(candidates: Collection[Path] = MOUNT_POINTS, *, needed: bool = True) -> tuple[Finding, Path | None]:
    """Whether it can be used, and where it is. Unless it is `needed` (there is BTF), it is only worth mentioning."""
    state, lost = ("missing", NOTHING) if needed else ("degraded", _LOST)
    denied = None
    for path in candidates:
        try:
            if (path / "events").is_dir() and os.listdir(path / "events"):
                found = f"{path}, {_access(path)}"
                return Finding("tracefs", "ok", found, details={"path": str(path), "readable": True}), path
        except PermissionError:
            denied = denied or path
        except OSError:
            continue
    if denied:
        found = f"{denied} is not readable for this user"
        details = {"path": str(denied), "readable": False}
        return Finding("tracefs", state, found, lost, schedtop_as_root(), "or use --source btf", details), None
    details = {"path": "", "readable": False}
    return Finding("tracefs", state, "tracefs is not mounted", lost, as_root(_MOUNT), details=details), None


def _access(path: Path) -> str:
    """By whom it can be read."""
    status = path.stat()
    mode = stat.S_IMODE(status.st_mode)
    owner = _name(lambda: pwd.getpwuid(status.st_uid).pw_name, status.st_uid)
    if mode & 0o005 == 0o005:
        who = "all"
    elif mode & 0o050 == 0o050:
        who = f"{owner} and group {_name(lambda: grp.getgrgid(status.st_gid).gr_name, status.st_gid)}"
    else:
        who = f"{owner} only"
    return f"mode {mode:04o}: for {who}"


def _name(look_up: Callable[[], str], number: int) -> str:
    try:
        return look_up()
    except KeyError:
        return str(number)


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
