"""Which check explains that the kernel did not take our programs: its sentence is the error."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator

from schedtop.base.finding import Finding
from schedtop.sources.kernel.findings import kernel, privileges, rights

CHECKS: tuple[Callable[[], Finding], ...] = (
    kernel.kernel,
    privileges.programs,
    rights.seccomp_now,
    kernel.lockdown,
    kernel.memlock,
)
"""What forbids programs as a whole, the commonest first."""


def why_refused(error: OSError, checks: tuple[Callable[[], Finding], ...] = CHECKS) -> Finding:
    """Why a bpf(2) or perf_event_open(2) failed, as far as a check knows."""
    return next(_explanations(error, checks), _unknown(error))


def is_known(finding: Finding) -> bool:
    """Whether a check knew why."""
    return finding.name != _UNKNOWN


def _explanations(error: OSError, checks: tuple[Callable[[], Finding], ...]) -> Iterator[Finding]:
    """The findings that may be why, most fundamental first."""
    refused = error.errno in (errno.EPERM, errno.EACCES)
    for check in checks if refused else checks[:1]:
        finding = check()
        if finding.state == "missing":
            yield finding
    if refused or error.errno == errno.ENOSYS:
        bpf, _ = kernel.bpf_call()
        if error.errno == errno.ENOSYS and bpf.state == "missing":
            yield bpf
        events = rights.perf_events()
        if events.state != "ok":
            yield events


_UNKNOWN = "refusal"


def _unknown(error: OSError) -> Finding:
    why = (error.strerror or str(error)).lower()
    if error.errno in (errno.EPERM, errno.EACCES):
        found = "the kernel refuses the programs although the capabilities are there"
        advice = "a security module (SELinux, AppArmor) may forbid bpf(2) or perf_event_open(2): see its log"
        return Finding(_UNKNOWN, "missing", found, kernel.NOTHING, advice=advice)
    return Finding(_UNKNOWN, "missing", f"the kernel programs cannot be loaded: {why}", kernel.NOTHING)
