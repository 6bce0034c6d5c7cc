"""What kind of host this is, as far as it changes what schedtop can tell: groups, containers, guests, clocks, PSI."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from schedtop.base.finding import Finding
from schedtop.sources.host.cgroups import cpu_hierarchy, mount_fields, read_mounts
from schedtop.sources.host.pid_numbers import INITIAL_PID_NAMESPACE, UnknownNumbers
from schedtop.sources.host.proc import is_virtualised
from schedtop.sources.host.sched_ext import DIRECTORY, loaded_scheduler
from schedtop.sources.kernel.btf import Btf
from schedtop.sources.kernel.findings.repairs import as_root
from schedtop.sources.kernel.pid_numbers import TranslatedNumbers
from schedtop.sources.kernel.proxies import COMMAND_LINE, proxies

CLOCKS = Path("/sys/devices/system/clocksource/clocksource0")

_SLOW_CLOCKS = ("hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit")
"""What is read through the bus, or ticks coarsely: a microsecond or more a read, two reads a switch."""

_CONTAINER_WORDS = {
    "docker": "docker",
    "kubepods": "kubernetes",
    "libpod": "podman",
    "lxc": "lxc",
    "containerd": "containerd",
}
"""A part of a cgroup's path, and what makes such."""


def cgroups(mounts: str | None = None) -> Finding:
    """Which version, and where the cpu controller is: there are the groups' names and quotas."""
    try:
        mounts = read_mounts() if mounts is None else mounts
    except OSError as error:
        mounts = ""
        why = f"what is mounted cannot be read: {(error.strerror or str(error)).lower()}"
    else:
        why = "no cgroup hierarchy is mounted that has the cpu controller"
    kinds = {fields[2] for fields in mount_fields(mounts) if len(fields) > 3}
    root = cpu_hierarchy(mounts)
    if root is None:
        nothing = {"version": None, "cpu_controller": None}
        repair = as_root("mount -t cgroup2 none /sys/fs/cgroup")
        return Finding("cgroup", "degraded", why, "names of cgroups and containers, quotas", repair, details=nothing)
    version = "hybrid" if {"cgroup", "cgroup2"} <= kinds else "v1" if "cgroup" in kinds else "v2"
    found = f"{version}, cpu controller at {root}"
    details = {"version": version, "cpu_controller": str(root)}
    if version == "v2" and not _has_controller(root):
        lost = "quotas (nr_throttled, throttled_usec)"
        found = f"v2 at {root}, without the cpu controller"
        advice = "let this container's runtime delegate the cpu controller"
        return Finding("cgroup", "degraded", found, lost, advice=advice, details=details)
    return Finding("cgroup", "ok", found, details=details)


def _has_controller(root: Path) -> bool:
    try:
        return "cpu" in (root / "cgroup.controllers").read_text().split()
    except OSError:
        return True  # it cannot be told


def container(root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> Finding:
    """Whether we are in a container, and by what that was told."""
    kind, by = _container(root, environment)
    details = {"kind": kind or None, "told_by": by}
    if not kind:
        return Finding("container", "ok", "none that can be told", details=details)
    return Finding("container", "ok", f"{kind} (told by {by})", details=details)


def _container(root: Path, environment: Mapping[str, str]) -> tuple[str, str]:
    for name, kind in (("/.dockerenv", "docker"), ("/run/.containerenv", "podman")):
        if (root / name[1:]).exists():
            return kind, name
    if environment.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes", "KUBERNETES_SERVICE_HOST"
    if environment.get("container"):
        return environment["container"], "the variable container"
    for name in ("/run/systemd/container", "/proc/1/environ", "/proc/1/cgroup"):
        try:
            text = (root / name[1:]).read_text("utf-8", "replace")
        except OSError:
            continue
        if name.endswith("container") and text.strip():
            return text.strip(), name
        for variable in text.split("\0"):
            if name.endswith("environ") and variable.startswith("container="):
                return variable.partition("=")[2], name
        for word, kind in _CONTAINER_WORDS.items():
            if name.endswith("cgroup") and f"/{word}" in text:
                return kind, name
    return "", ""


_HYPERVISORS = ("qemu", "kvm", "vmware", "virtualbox", "xen", "microsoft", "amazon", "google", "parallels")
"""Parts of what DMI says of virtual machines; some are makers of real ones, too."""


def virtualisation(root: Path = Path("/")) -> Finding:
    """Whether this is a virtual machine, and by what that was told."""
    for name in ("sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name", "sys/hypervisor/type"):
        try:
            text = (root / name).read_text("utf-8", "replace").strip()
        except OSError:
            continue
        if any(word in text.lower() for word in _HYPERVISORS) and _is_guest(root) is not False:
            return Finding(
                "virtual_machine", "ok", f"{text} (told by {os.path.basename(name)})", details=_guest(True, f"/{name}")
            )
    guest = _is_guest(root)
    if guest is None:
        return Finding("virtual_machine", "ok", "cannot be told", details=_guest(None, ""))
    words = "yes (told by a flag in /proc/cpuinfo)" if guest else "none"
    return Finding("virtual_machine", "ok", words, details=_guest(guest, "/proc/cpuinfo"))


def _is_guest(root: Path) -> bool | None:
    return is_virtualised(root / "proc/cpuinfo", root / "sys/hypervisor/type")


def _guest(guest: bool | None, by: str) -> dict[str, object]:
    return {"guest": guest, "told_by": by}


def pid_namespace(btf: Btf | None, link: Path = Path("/proc/self/ns/pid")) -> Finding:
    """Whether the numbers of tasks are the host's here: kernel programs know these alone. BTF helps to translate."""
    try:
        namespace = os.readlink(link)
    except OSError as error:
        found = f"cannot be told: {(error.strerror or str(error)).lower()}"
        return Finding("pid_namespace", "ok", found, details={"namespace": None, "initial": None})
    details = {"namespace": namespace, "initial": namespace == INITIAL_PID_NAMESPACE}
    if details["initial"]:
        return Finding("pid_namespace", "ok", "the host's", details=details)
    if btf:
        return Finding("pid_namespace", "ok", TranslatedNumbers.note, details=details)
    advice = "run it in the host's (docker run --pid=host)"
    return Finding("pid_namespace", "degraded", "another one than the host's", UnknownNumbers.note, advice=advice,
                   details=details)  # fmt: skip


def pressure(path: Path = Path("/proc/pressure/cpu")) -> Finding:
    """Whether the kernel keeps CPU pressure (PSI)."""
    lost = "PSI in the panes and triggers; everything else is there"
    try:
        path.read_text()
    except FileNotFoundError:
        found, advice = "this kernel keeps no pressure (CONFIG_PSI)", "boot a kernel that has CONFIG_PSI"
    except OSError as error:
        found = f"{path}: {(error.strerror or str(error)).lower()}"
        advice = "look at the rights of /proc"
        if error.errno == errno.EOPNOTSUPP:
            found, advice = "pressure is switched off at boot", "add psi=1 to the kernel's command line"
    else:
        return Finding("psi", "ok", f"{path} is kept", details={"available": True})
    return Finding("psi", "degraded", found, lost, advice=advice, details={"available": False})


def clock(directory: Path = CLOCKS) -> Finding:
    """The kernel's clock source: our programs read it twice a switch."""
    try:
        name = (directory / "current_clocksource").read_text().strip()
        others = (directory / "available_clocksource").read_text().split()
    except OSError as error:
        found = f"cannot be told: {(error.strerror or str(error)).lower()}"
        return Finding("clock", "ok", found, details={"name": None, "available": []})
    details = {"name": name, "available": others}
    if name not in _SLOW_CLOCKS:
        return Finding("clock", "ok", f"{name}, which is quick to read", details=details)
    better = next((other for other in others if other not in _SLOW_CLOCKS), "")
    repair = f"echo {better} | {as_root('tee')} {directory}/current_clocksource" if better else ""
    found = f"{name}: a read takes a microsecond or more, and each switch needs two"
    advice = "" if better else "see `dmesg | grep -i clocksource` for why there is no better one"
    return Finding("clock", "degraded", found, "speed: several times the usual cost", repair, advice, details)


def steal(btf: Btf | None, guest: bool | None, stat: Path = Path("/proc/stat")) -> Finding:
    """Whether time that the hypervisor takes is told: in /proc/stat, and per run queue for the cause `stolen`."""
    try:
        first = stat.read_text("utf-8", "replace").split("\n", 1)[0].split()
        ticks = int(first[8]) if len(first) > 8 else 0
    except (OSError, ValueError):
        ticks = 0
    by_queue = btf.has_field("rq", "prev_steal_time_rq") if btf else None
    details = {"ticks": ticks, "by_run_queue": by_queue}
    if not guest and not ticks:
        return Finding("steal", "ok", "no steal: not virtualised, as far as can be told", details=details)
    if by_queue:
        words = (
            f"kept for each CPU, {ticks:,} ticks since boot" if ticks else "kept for each CPU, nothing was stolen yet"
        )
        return Finding("steal", "ok", words, details=details)
    found = "the kernel's types (BTF) do not tell where steal is kept" if btf is None else (
        "this kernel keeps no steal clock by CPU (CONFIG_PARAVIRT_TIME_ACCOUNTING)"
    )  # fmt: skip
    lost = "the cause `stolen` of slow waits; steal in /proc/stat is shown"
    return Finding("steal", "degraded", found, lost, advice="boot a kernel that has it", details=details)


_EXT = ("scheduler", "state", "takes_all")


def sched_ext(directory: Path = DIRECTORY) -> Finding:
    """Whether a sched_ext scheduler decides which task runs where."""
    if not directory.is_dir():
        return Finding("sched_ext", "ok", "not in this kernel", details=dict.fromkeys(_EXT))
    scheduler = loaded_scheduler(directory)
    if scheduler is None:
        details = dict.fromkeys(_EXT) | {"state": "disabled"}
        return Finding("sched_ext", "ok", "no such scheduler is loaded", details=details)
    whose = {True: ", for all ordinary tasks", False: ", for tasks of policy SCHED_EXT", None: ""}
    what = f"{scheduler.name or 'one without a name'} is {scheduler.state}{whose[scheduler.takes_all]}"
    found = f"{what}: it may keep tasks in queues that are no CPU's"
    lost = "of its tasks, which CPU they waited for and which tasks had it; the lengths of the run queues"
    advice = "nothing, if it is meant to be; else end the program that loaded it"
    details = dict(zip(_EXT, (scheduler.name, scheduler.state, scheduler.takes_all), strict=True))
    return Finding("sched_ext", "degraded", found, lost, advice=advice, details=details)


def proxy_execution(btf: Btf | None, command_line: Path = COMMAND_LINE) -> Finding:
    """Whether tasks that wait for a mutex stay queued."""
    on = proxies(btf, command_line) if btf else None
    details = {"active": on}
    if not on:
        words = "cannot be told without the kernel's types (BTF)" if on is None else "not active"
        return Finding("proxy_execution", "ok", words, details=details)
    lost = "the lengths of the run queues; some waits for a CPU right after one for a mutex"
    advice = "add sched_proxy_exec=0 to the kernel's command line"
    return Finding("proxy_execution", "degraded", "active: tasks that wait for a mutex stay queued", lost,
                   advice=advice, details=details)  # fmt: skip


def schedstats(path: Path = Path("/proc/sys/kernel/sched_schedstats")) -> Finding:
    """kernel.sched_schedstats, which other tools need. Ours do not."""
    try:
        value = path.read_text().strip()
    except OSError:
        return Finding("sched_schedstats", "ok", "not in this kernel; not needed", details={"value": None})
    return Finding("sched_schedstats", "ok", f"{value}; not needed", details={"value": value})
