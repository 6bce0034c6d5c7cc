"""What forbids nothing by itself, but is worth knowing: namespaces of users, and who else may load programs."""

from __future__ import annotations

from pathlib import Path

from schedtop.base.finding import Finding
from schedtop.sources.kernel.findings import privileges
from schedtop.sources.kernel.findings.kernel import NOTHING
from schedtop.sources.kernel.findings.rights import sysctl

UNPRIVILEGED_BPF = Path("/proc/sys/kernel/unprivileged_bpf_disabled")

_MEANING = {
    0: "every user may load some programs; schedtop's need capabilities all the same",
    1: "only with cap_bpf, until the next boot",
    2: "only with cap_bpf",
}


def user_namespace(uid_map: Path = Path("/proc/self/uid_map")) -> Finding:
    """Whether we are in the first one: in another, capabilities are worth nothing for programs."""
    if privileges.in_first_user_namespace(uid_map):
        return Finding("user_namespace", "ok", "the first one", details={"first": True})
    found = "another one than the host's: the kernel does not count capabilities held in it"
    return Finding("user_namespace", "missing", found, NOTHING, advice=privileges.OUTSIDE, details={"first": False})


def unprivileged_bpf(path: Path = UNPRIVILEGED_BPF) -> Finding:
    """kernel.unprivileged_bpf_disabled. Whatever it says, our programs need capabilities: it takes nothing from us."""
    value = sysctl(path)
    found = "not in this kernel" if value is None else f"{value}: {_MEANING.get(value, 'not known')}"
    return Finding("unprivileged_bpf", "ok", found, details={"value": value})
