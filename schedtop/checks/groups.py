"""Whether there is room for a histogram of each group of tasks that this host has (`--group`, key g)."""

from __future__ import annotations

from pathlib import Path

from schedtop.base.finding import Finding
from schedtop.sources.scheduler.programs import latency_groups

NAME = "groups"
_LOST = "waits in the latency of groups: of a group that made room for another one (`waits ungrouped`)"
_ADVICE = "where latency by group matters, select what it is about: --cgroup, --comm, --pid"


def groups(kept: int | None = None, proc: Path = Path("/proc")) -> Finding:
    """How many cgroups and processes there are, beside how many groups keep their latency at a time."""
    kept = latency_groups() if kept is None else kept
    cgroups, processes = _cgroups(proc / "cgroups"), sum(entry.name.isdecimal() for entry in proc.iterdir())
    details = {"kept": kept, "cgroups": cgroups, "processes": processes}
    here = [f"{cgroups:,} cgroups"] if cgroups is not None else []
    here.append(f"{processes:,} processes")
    found = f"{kept:,} groups keep their latency at a time; here are {' and '.join(here)}"
    if max(cgroups or 0, processes) > kept:
        return Finding(NAME, "degraded", found, _LOST, advice=_ADVICE, details=details)
    return Finding(NAME, "ok", found, details=details)


def _cgroups(path: Path) -> int | None:
    """How many the hierarchy of the cpu controller has (num_cgroups), `None` where that is not told."""
    try:
        lines = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return None
    return next((int(fields[2]) for fields in lines if len(fields) > 2 and fields[0] == "cpu"), None)
