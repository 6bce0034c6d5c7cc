"""What this process may do in the kernel, and what it takes to load our programs there."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from schedtop.base.finding import Finding
from schedtop.sources.kernel.findings.repairs import schedtop_as_root

# Numbers of include/uapi/linux/capability.h.
CAPABILITIES = {
    "cap_dac_read_search": 2,
    "cap_sys_ptrace": 19,
    "cap_sys_admin": 21,
    "cap_sys_resource": 24,
    "cap_syslog": 34,
    "cap_perfmon": 38,
    "cap_bpf": 39,
}

_WHOLE_MAP = (0, 0, 2**32 - 1)
"""What /proc/PID/uid_map says in the first user namespace: all users are themselves."""

_STATUS = Path("/proc/self/status")

LOST = "everything but what /proc tells (--source proc)"
ADVICE = "or give the process the capabilities cap_bpf and cap_perfmon (and readable tracefs for --source tracepoint)"
ROOT_ADVICE = (
    "root lacks the capabilities cap_bpf and cap_perfmon here: start the container with --cap-add=BPF "
    "--cap-add=PERFMON (docker, podman)"
)
OUTSIDE = "run it outside of the user namespace (docker: no userns-remap; not with rootless podman)"


def status_field(name: str, status: Path = _STATUS) -> str | None:
    """A line of /proc/PID/status by its name, `None` where it is not there."""
    try:
        lines = status.read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:")), None)


def capabilities(status: Path = _STATUS) -> frozenset[str]:
    """Those of CAPABILITIES that are in effect for this process; none where that cannot be read."""
    try:
        mask = int(status_field("CapEff", status) or "", 16)
    except ValueError:
        return frozenset()
    return frozenset(name for name, number in CAPABILITIES.items() if mask >> number & 1)


def in_first_user_namespace(uid_map: Path = Path("/proc/self/uid_map")) -> bool:
    """Whether capabilities are worth something to the kernel: those of another user namespace are not."""
    try:
        return tuple(map(int, uid_map.read_text().split())) == _WHOLE_MAP
    except FileNotFoundError:
        return True  # a kernel without user namespaces
    except (OSError, ValueError):
        return False


def are_enough(held: Collection[str]) -> bool:
    """Whether these capabilities load programs: CAP_BPF and CAP_PERFMON (5.8 and later), or CAP_SYS_ADMIN."""
    return "cap_sys_admin" in held or {"cap_bpf", "cap_perfmon"} <= set(held)


def _words(held: frozenset[str]) -> str:
    needed: list[str] = [name for name in ("cap_bpf", "cap_perfmon") if name in held] or ["cap_sys_admin"]
    others = len(held) - len(needed)
    return ", ".join(needed) + (f" and {others} more that help" if others else "")


def programs(held: frozenset[str] | None = None, first: bool | None = None) -> Finding:
    """Whether the kernel lets this process load programs; the default is what it has."""
    held = capabilities() if held is None else held
    first = in_first_user_namespace() if first is None else first
    lacking = sorted({"cap_bpf", "cap_perfmon"} - held)
    details = {"held": sorted(held), "missing": [] if are_enough(held) else lacking, "first_user_namespace": first}
    if are_enough(held) and first:
        return Finding("capabilities", "ok", _words(held), details=details)
    if are_enough(held):
        found = "the capabilities are those of a user namespace, and the kernel does not count them"
        return Finding("capabilities", "missing", found, LOST, advice=OUTSIDE, details=details)
    found = "the kernel programs need privileges" + (f" (lacking: {', '.join(lacking)})" if len(lacking) == 1 else "")
    if os.geteuid() == 0:
        return Finding("capabilities", "missing", found, LOST, advice=ROOT_ADVICE, details=details)
    return Finding("capabilities", "missing", found, LOST, schedtop_as_root(), ADVICE, details)
