"""What may forbid kernel programs beside missing capabilities: filters of system calls, and sysctls."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

from schedtop.base.finding import Finding
from schedtop.sources.kernel.findings import privileges
from schedtop.sources.kernel.findings.kernel import NOTHING, bpf_call, probe_perf
from schedtop.sources.kernel.findings.repairs import as_root

PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")

_PERF_LOST = "run queue lengths (the pane Run queue), and --source tracepoint"

_ORDINARY = 2
"""The strictest value of the kernel's own documentation (admin-guide/sysctl/kernel.rst)."""


def seccomp(refused: int, enough: bool, status: Path = Path("/proc/self/status")) -> Finding:
    """Whether a filter of system calls is on, and forbids bpf(2).

    `refused`: the number of its error (0: it answered); `enough`: whether we have the capabilities for it.
    """
    mode = privileges.status_field("Seccomp", status)
    details = {"mode": int(mode) if mode and mode.isdecimal() else None}
    if mode in (None, "0"):
        return Finding("seccomp", "ok", "no filter" if mode else "not in this kernel", details=details)
    if not refused:
        return Finding("seccomp", "ok", "a filter is on, and lets bpf(2) through", details=details)
    if enough and refused in (errno.EPERM, errno.EACCES, errno.ENOSYS):
        found = "a filter of system calls (seccomp) forbids bpf(2)"
        advice = (
            "allow bpf and perf_event_open in its profile "
            "(docker: --security-opt seccomp=FILE or unconfined; systemd: SystemCallFilter=bpf perf_event_open)"
        )
        return Finding("seccomp", "missing", found, NOTHING, advice=advice, details=details)
    return Finding("seccomp", "ok", "a filter is on; other lines say why bpf(2) is refused", details=details)


def seccomp_now() -> Finding:
    """The same of this process: it makes the call."""
    enough = privileges.are_enough(privileges.capabilities()) and privileges.in_first_user_namespace()
    return seccomp(bpf_call()[1], enough)


def perf_events(
    probe: Callable[[], None] = probe_perf, path: Path = PARANOID, held: frozenset[str] | None = None
) -> Finding:
    """kernel.perf_event_paranoid, and whether perf_event_open(2) lets us have a clock of a CPU."""
    value = sysctl(path)
    details: dict[str, object] = {"value": value, "error": None}
    if value is None:
        details["error"] = "ENOENT"
        found = "this kernel has no perf events (CONFIG_PERF_EVENTS)"
        return Finding("perf_event_paranoid", "degraded", found, _PERF_LOST, advice="boot another", details=details)
    try:
        probe()
    except OSError as error:
        details["error"] = errno.errorcode.get(error.errno or 0, str(error.errno))
        found = f"kernel.perf_event_paranoid={value}, and perf_event_open(2) is refused"
        held = privileges.capabilities() if held is None else held
        repair, advice = "", (error.strerror or str(error)).lower()
        if error.errno == errno.ENOSYS:
            found = "perf_event_open(2) is hidden by a filter of system calls (seccomp)"
        elif not held & {"cap_perfmon", "cap_sys_admin"}:
            advice = "it takes cap_perfmon"
        elif value > _ORDINARY:
            # A setting of some distributions that not even CAP_PERFMON overrides.
            repair, advice = as_root(f"sysctl kernel.perf_event_paranoid={_ORDINARY}"), "or run it as root"
        return Finding("perf_event_paranoid", "degraded", found, _PERF_LOST, repair, advice, details)
    return Finding("perf_event_paranoid", "ok", f"{value}: perf_event_open(2) answers", details=details)


def sysctl(path: Path) -> int | None:
    """The number in a file of /proc/sys, `None` where there is none."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
