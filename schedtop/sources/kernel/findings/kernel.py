"""What kernel this is, and whether it takes our programs: release, bpf(2), lockdown; and that it has no BTF."""

from __future__ import annotations

import errno
import os
import platform
import re
import resource
from collections.abc import Callable
from pathlib import Path

from schedtop.base.finding import Finding
from schedtop.sources.kernel import bpf_syscall as calls
from schedtop.sources.kernel.findings import privileges
from schedtop.sources.kernel.findings.repairs import as_root

OLDEST = (5, 8)
"""The ring buffer came with it, and CAP_BPF."""

_COUNTS_MEMORY = (5, 11)
"""From here on maps no longer count against RLIMIT_MEMLOCK."""

_ENOUGH_LOCKED = 256 << 20

LOCKDOWN = Path("/sys/kernel/security/lockdown")

NO_BTF_LOST = "cgroups and yields are not told apart, and a switch costs about twice as much"
NOTHING = "the kernel programs: everything but --source proc"


def version(release: str) -> tuple[int, int]:
    """The first two numbers of a kernel release, zeros where it has none."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def kernel(release: str = "", machine: str = "") -> Finding:
    """Whether it is recent enough, and of an architecture that we know."""
    release, machine = release or platform.release(), machine or platform.machine()
    details = {"release": release, "machine": machine}
    if version(release) < OLDEST:
        found = f"kernel {release} is too old: schedtop needs {OLDEST[0]}.{OLDEST[1]} or later"
        return Finding("kernel", "missing", found, NOTHING, advice="boot a newer kernel", details=details)
    if machine not in calls.NUMBERS:
        found = f"{machine} is not an architecture that schedtop knows ({', '.join(calls.NUMBERS)})"
        return Finding("kernel", "missing", found, NOTHING, advice="tell its makers", details=details)
    return Finding("kernel", "ok", f"{release}, {machine}", details=details)


def probe_bpf() -> None:
    """Makes the smallest of maps and closes it. Raises OSError."""
    array = 2
    os.close(calls.create_map(array, 4, 8, 1, 0, "doctor"))


def probe_perf() -> None:
    """Opens a clock of the CPU, as the samples of run queues do. Raises OSError."""
    calls.probe_clock(min(os.sched_getaffinity(0)))


def bpf_call(probe: Callable[[], None] = probe_bpf) -> tuple[Finding, int]:
    """Whether bpf(2) answers, and the number of its error (0: none)."""
    try:
        probe()
    except OSError as error:
        return _bpf_refusal(error), error.errno or errno.EIO
    return Finding("bpf", "ok", "bpf(2) answers", details={"error": None}), 0


def _bpf_refusal(error: OSError) -> Finding:
    details = {"error": errno.errorcode.get(error.errno or 0, str(error.errno))}
    if error.errno == errno.ENOSYS:
        return no_bpf()
    found = f"bpf(2) is refused: {(error.strerror or str(error)).lower()}"
    return Finding("bpf", "missing", found, NOTHING, advice="the lines below say by what", details=details)


def no_bpf() -> Finding:
    """That there is no bpf(2) at all."""
    found = "this kernel has no bpf(2), or a sandbox (gVisor, seccomp) hides it"
    advice = "boot a kernel with CONFIG_BPF_SYSCALL, or run schedtop on the host itself"
    return Finding("bpf", "missing", found, NOTHING, advice=advice, details={"error": "ENOSYS"})


def no_btf(why: str) -> Finding:
    """That there is none, or that it lacks something."""
    advice = "use --source tracepoint (auto does), or boot a kernel with CONFIG_DEBUG_INFO_BTF"
    return Finding("btf", "degraded", why, NO_BTF_LOST, advice=advice, details={"types": 0})


def lockdown(path: Path = LOCKDOWN) -> Finding:
    """How far the kernel keeps root out (kernel_lockdown(7)): `confidentiality` forbids programs to read memory."""
    try:
        chosen = re.search(r"\[(\w+)\]", path.read_text("utf-8", "replace"))
    except FileNotFoundError:
        # A container, and a host without systemd, may have no securityfs: then it is not known.
        mounted = os.path.ismount(path.parent)
        found = "none: not in this kernel" if mounted else f"cannot be told: securityfs is not mounted at {path.parent}"
        return Finding("lockdown", "ok", found, details={"mode": None})
    except OSError as error:
        found = f"cannot be told: {path}: {(error.strerror or str(error)).lower()}"
        return Finding("lockdown", "ok", found, details={"mode": None})
    mode = chosen[1] if chosen else "none"
    details = {"mode": mode}
    if mode == "confidentiality":
        found = "the kernel is locked down (confidentiality): programs may not read its memory"
        advice = "boot with lockdown=integrity, or without Secure Boot's lockdown"
        return Finding("lockdown", "missing", found, NOTHING, advice=advice, details=details)
    words = {"integrity": "integrity: that does not forbid what schedtop does"}
    return Finding("lockdown", "ok", words.get(mode, mode), details=details)


def memlock(release: str = "", held: frozenset[str] | None = None, limit: int | None = None) -> Finding:
    """RLIMIT_MEMLOCK, which bounds the memory of maps before kernel 5.11."""
    held = privileges.capabilities() if held is None else held
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] if limit is None else limit
    unlimited = limit == resource.RLIM_INFINITY
    words = "unlimited" if unlimited else f"{limit >> 10:,} KiB"
    details = {"bytes": None if unlimited else limit}
    if version(release or platform.release()) >= _COUNTS_MEMORY:
        return Finding("memlock", "ok", f"{words}; maps do not count since 5.11", details=details)
    if unlimited or limit >= _ENOUGH_LOCKED or "cap_sys_resource" in held:
        return Finding("memlock", "ok", f"{words}, and schedtop may raise it", details=details)
    found = f"RLIMIT_MEMLOCK ({words}) is too small for maps before kernel 5.11"
    repair = as_root("prlimit --pid $$ --memlock=unlimited")
    return Finding("memlock", "missing", found, NOTHING, repair, details=details)
