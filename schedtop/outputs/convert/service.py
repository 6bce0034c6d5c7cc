"""A name of what a task belongs to that is the same on all hosts of a fleet, which ids of containers are not."""

from __future__ import annotations

from functools import lru_cache

from schedtop.base.units import printable
from schedtop.model.containers import HOST, container_label, unescape
from schedtop.outputs.diff.tasks import NUMBERED

_KEPT = 1 << 14


@lru_cache(_KEPT)
def service_name(cgroup: str, process: str) -> str:
    """The systemd service that a cgroup is in; elsewhere (containers, sessions, the kernel) the name of the process.

    Numbers at the end of a name of a process are left out: `kworker/*`.
    """
    if container_label(cgroup) == HOST:
        units = [name for name in cgroup.split("/") if name.endswith(".service")]
        if units:
            return unescape(units[-1])
    return NUMBERED.sub("/*", printable(process))
