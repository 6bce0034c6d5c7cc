"""All checks of the host, in the order in which they are told; none of them can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from schedtop.base.finding import Finding
from schedtop.checks import compiler, host, own, rights, tracefs, tracepoints
from schedtop.checks.btf import read_btf
from schedtop.checks.groups import groups
from schedtop.checks.interrupts import interrupts
from schedtop.model.source import SourceError
from schedtop.sources.kernel.btf import Btf
from schedtop.sources.kernel.cache_directory import DIRECTORY_VARIABLE, cache_directory
from schedtop.sources.kernel.early_compiler import bcc_command
from schedtop.sources.kernel.findings import binding, kernel, privileges
from schedtop.sources.kernel.findings.rights import perf_events, seccomp_now
from schedtop.sources.kernel.program_text import source_directory

GROUPS = {
    "kernel": "Kernel",
    "rights": "Rights",
    "tracepoints": "Tracepoints of the dashboard",
    "more_tracepoints": "Tracepoints of capture, off-CPU and task view alone",
    "compiler": "Compiler",
    "host": "Host",
    "schedtop": "schedtop",
    "self_test": "Self-test, beside the kernel's own numbers",
    "self_test_proc": "Self-test of --source proc, which needs no privileges",
    "self_test_tracepoint": "Self-test of --source tracepoint",
}
"""The groups of findings, with their titles."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A finding, and its group."""

    group: str
    finding: Finding


def safely(name: str, check: Callable[[], Finding]) -> Finding:
    """What a check finds; one that fails by itself is a finding, too: the doctor is asked when things are strange."""
    try:
        return check()
    except Exception as error:
        why = " ".join(str(error).split()) or "no reason told"
        return Finding(name, "degraded", f"could not be looked at: {type(error).__name__}: {why}", "knowledge of it")


def examine() -> list[Checked]:
    """Everything but the self-test, and what belongs to the screen."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(lambda: safely("bcc", lambda: compiler.bcc(bcc_command("about"))))
        btf: list[Btf | None] = [None]

        def types() -> Finding:
            finding, btf[0] = read_btf()
            return finding

        found = [Checked("kernel", finding) for finding in _kernel(types)]
        found += [Checked("rights", finding) for finding in _rights()]
        found += list(_tracepoints(btf[0]))
        found += [Checked("compiler", finding) for finding in (asked.result(), *_compiler())]
    found += [Checked("host", finding) for finding in _host(btf[0])]
    checks = [("schedtop", own.own_version), ("python", own.python)]
    found += [Checked("schedtop", safely(name, check)) for name, check in checks]
    found += [Checked("schedtop", safely(name, lambda name=name: own.library(name))) for name in own.LIBRARIES]  # type: ignore[misc]
    return found


def _kernel(types: Callable[[], Finding]) -> Iterator[Finding]:
    yield safely("kernel", kernel.kernel)
    yield safely("bpf", lambda: kernel.bpf_call()[0])
    yield safely("btf", types)
    yield safely("lockdown", kernel.lockdown)
    yield safely("memlock", kernel.memlock)


def _rights() -> Iterator[Finding]:
    yield safely("capabilities", privileges.programs)
    yield safely("user_namespace", rights.user_namespace)
    yield safely("seccomp", seccomp_now)
    yield safely("unprivileged_bpf", rights.unprivileged_bpf)
    yield safely("perf_event_paranoid", perf_events)


def _tracepoints(btf: Btf | None) -> Iterator[Checked]:
    place: list[Path | None] = [None]

    def mounted() -> Finding:
        finding, place[0] = tracefs.tracefs(needed=btf is None)
        return finding

    yield Checked("tracepoints", safely("tracefs", mounted))
    try:
        loads = tracepoints.used_loads()
    except (OSError, SourceError):
        loads = frozenset()  # the line of the sources says it
    for use in tracepoints.uses():
        group = "tracepoints" if use.by_collector else "more_tracepoints"
        yield Checked(group, safely(use.event, lambda use=use: tracepoints.tracepoint(use, place[0], btf, loads)))  # type: ignore[misc]


def _compiler() -> Iterable[Finding]:
    def sources() -> Finding:
        try:
            return binding.sources(source_directory(), Path())
        except SourceError:
            return binding.sources(None, Path(__file__).resolve().parents[2] / "bpf")

    yield safely("sources", sources)
    yield safely("cache", lambda: compiler.cache(cache_directory(), DIRECTORY_VARIABLE))


def _host(btf: Btf | None) -> Iterator[Finding]:
    machine = safely("virtual_machine", host.virtualisation)
    guest = machine.details.get("guest")
    yield safely("cgroup", host.cgroups)
    yield safely("groups", groups)
    yield safely("container", host.container)
    yield machine
    yield safely("pid_namespace", lambda: host.pid_namespace(btf))
    yield safely("psi", host.pressure)
    yield safely("clock", host.clock)
    yield safely("steal", lambda: host.steal(btf, guest))
    yield safely("sched_ext", host.sched_ext)
    yield safely("proxy_execution", lambda: host.proxy_execution(btf))
    yield safely("sched_schedstats", host.schedstats)
    yield safely("interrupts", lambda: interrupts(btf))


def works(found: Iterable[Checked]) -> list[Checked]:
    """The findings when the source has opened all the same: what looked missing is only not as it should be."""
    return [
        replace(one, finding=replace(one.finding, state="degraded")) if one.finding.state == "missing" else one
        for one in found
    ]
