"""The checks of `schedtop doctor`, on made-up trees: what each finds, how bad that is, and what mends it."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from schedtop.base.finding import MORE, Finding
from schedtop.checks import compiler, examination, host, own, tracepoints
from schedtop.checks import tracefs as checks_tracefs
from schedtop.checks.btf import read_btf
from schedtop.checks.groups import groups
from schedtop.checks.interrupts import interrupts
from schedtop.checks.rights import unprivileged_bpf, user_namespace
from schedtop.model.source import SourceError
from schedtop.sources.kernel import front_end
from schedtop.sources.kernel.btf import BtfError
from schedtop.sources.kernel.compiler import compile_programs
from schedtop.sources.kernel.findings import binding, kernel, privileges, refusals, rights, tracing
from schedtop.sources.kernel.findings import repairs as commands
from schedtop.sources.kernel.findings.repairs import schedtop_as_root
from schedtop.sources.kernel.records import Load
from schedtop.sources.kernel.tracefs import TracefsError, find_tracefs
from tests.unit.sources.kernel.test_tracefs import SWITCH

ALL = frozenset({"cap_bpf", "cap_perfmon"})
SMALL = 64 << 10


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def fails(number: int) -> Callable[[], None]:
    def probe() -> None:
        raise OSError(number, os.strerror(number))

    return probe


def test_a_sentence_is_one_line_with_what_to_do() -> None:
    finding = Finding("psi", "degraded", "it is off", "pressure", "sudo repair", "or advice")
    assert finding.sentence == "it is off: run `sudo repair`, or advice"
    assert finding.error == f"it is off: run `sudo repair`, or advice; {MORE}"
    assert Finding("psi", "ok", "it is on").sentence == "it is on"


@pytest.mark.parametrize(
    ("release", "machine", "state"),
    [("5.8.0-1", "x86_64", "ok"), ("6.18.44", "aarch64", "ok"), ("5.4.0-150-generic", "x86_64", "missing"),
     ("6.1.0", "i686", "missing"), ("nonsense", "x86_64", "missing")],
)  # fmt: skip
def test_kernels(release: str, machine: str, state: str) -> None:
    assert kernel.kernel(release, machine).state == state


def test_bpf_calls_that_are_refused() -> None:
    assert kernel.bpf_call(lambda: None) == (Finding("bpf", "ok", "bpf(2) answers", details={"error": None}), 0)
    refused, number = kernel.bpf_call(fails(errno.EPERM))
    assert (refused.state, refused.details["error"], number) == ("missing", "EPERM", errno.EPERM)
    assert "CONFIG_BPF_SYSCALL" in kernel.bpf_call(fails(errno.ENOSYS))[0].advice


@pytest.mark.parametrize(
    ("text", "state", "mode"),
    [("[none] integrity confidentiality\n", "ok", "none"), ("none [integrity] confidentiality\n", "ok", "integrity"),
     ("none integrity [confidentiality]\n", "missing", "confidentiality"), ("", "ok", "none")],
)  # fmt: skip
def test_lockdown(tmp_path: Path, text: str, state: str, mode: str) -> None:
    found = kernel.lockdown(write(tmp_path / "lockdown", text))
    assert (found.state, found.details["mode"]) == (state, mode)


def test_lockdown_that_cannot_be_told(tmp_path: Path) -> None:
    unmounted = kernel.lockdown(tmp_path / "none")
    assert unmounted.state == "ok" and "securityfs is not mounted" in unmounted.found
    assert "not in this kernel" in kernel.lockdown(Path("/proc/no-such-file")).found
    assert "cannot be told" in kernel.lockdown(tmp_path).found


@pytest.mark.parametrize(
    ("release", "held", "limit", "state"),
    [("5.11.0", frozenset(), SMALL, "ok"), ("5.10.0", frozenset(), SMALL, "missing"),
     ("5.10.0", frozenset({"cap_sys_resource"}), SMALL, "ok"), ("5.10.0", frozenset(), -1, "ok")],
)  # fmt: skip
def test_locked_memory_counts_before_5_11(release: str, held: frozenset[str], limit: int, state: str) -> None:
    assert kernel.memlock(release, held, limit).state == state


def test_check_without_btf_is_degraded(tmp_path: Path) -> None:
    found, btf = read_btf(tmp_path / "vmlinux")
    assert (found.state, btf) == ("degraded", None)
    damaged, btf = read_btf(write(tmp_path / "vmlinux", "no BTF at all, but long enough for a header"))
    assert (damaged.state, btf) == ("degraded", None)


def test_capabilities_that_are_held(tmp_path: Path) -> None:
    status = write(tmp_path / "status", "Name:\tx\nCapEff:\t000000c000000000\nSeccomp:\t2\n")
    assert privileges.capabilities(status) == ALL
    assert privileges.status_field("Seccomp", status) == "2"
    assert privileges.programs(ALL, first=True).state == "ok"
    assert privileges.programs(frozenset({"cap_sys_admin"}), first=True).found == "cap_sys_admin"
    assert "user namespace" in privileges.programs(ALL, first=False).found
    lacking = privileges.programs(frozenset({"cap_bpf"}), first=True)
    assert lacking.details["missing"] == ["cap_perfmon"] and "cap_perfmon" in lacking.found


def test_the_capabilities_of_root_are_a_container_s_to_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "--cap-add=BPF" in privileges.programs(frozenset(), first=True).sentence
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert f"run `{schedtop_as_root()}`" in privileges.programs(frozenset(), first=True).sentence


def test_user_namespaces(tmp_path: Path) -> None:
    assert user_namespace(write(tmp_path / "first", "         0          0 4294967295\n")).state == "ok"
    assert user_namespace(write(tmp_path / "other", "         0       1000          1\n")).state == "missing"
    assert user_namespace(tmp_path / "none").state == "ok"


@pytest.mark.parametrize(
    ("mode", "refused", "enough", "state"),
    [("0", errno.EPERM, True, "ok"), ("2", 0, True, "ok"), ("2", errno.EPERM, True, "missing"),
     ("2", errno.ENOSYS, True, "missing"), ("2", errno.EPERM, False, "ok")],
)  # fmt: skip
def test_seccomp_is_blamed_only_for_what_it_does(
    tmp_path: Path, mode: str, refused: int, enough: bool, state: str
) -> None:
    assert rights.seccomp(refused, enough, write(tmp_path / "status", f"Seccomp:\t{mode}\n")).state == state


def test_perf_events(tmp_path: Path) -> None:
    paranoid = write(tmp_path / "paranoid", "4\n")
    assert rights.perf_events(lambda: None, paranoid).state == "ok"
    no_rights = rights.perf_events(fails(errno.EACCES), paranoid, frozenset())
    assert (no_rights.state, no_rights.repair) == ("degraded", "")
    strict = rights.perf_events(fails(errno.EACCES), paranoid, ALL)
    assert strict.repair == commands.as_root("sysctl kernel.perf_event_paranoid=2")
    assert "seccomp" in rights.perf_events(fails(errno.ENOSYS), paranoid, ALL).found
    assert rights.perf_events(lambda: None, tmp_path / "none").state == "degraded"


def test_unprivileged_bpf_takes_nothing(tmp_path: Path) -> None:
    for value in (0, 1, 2, 7):
        found = unprivileged_bpf(write(tmp_path / "value", f"{value}\n"))
        assert (found.state, found.details["value"]) == ("ok", value)
    assert unprivileged_bpf(tmp_path / "none").state == "ok"


@pytest.fixture
def tracefs(tmp_path: Path) -> Path:
    write(tmp_path / "tracing" / "events" / "sched" / "sched_switch" / "format", SWITCH)
    return tmp_path / "tracing"


def test_tracefs(tmp_path: Path, tracefs: Path) -> None:
    found, path = checks_tracefs.tracefs((tmp_path / "no", tracefs))
    assert (found.state, path) == ("ok", tracefs)
    empty = tmp_path / "empty"
    (empty / "events").mkdir(parents=True)
    for needed, state in ((True, "missing"), (False, "degraded")):
        found, path = checks_tracefs.tracefs((empty,), needed=needed)
        assert (found.state, path, found.repair.removeprefix("sudo ").split()[0]) == (state, None, "mount")


def test_the_error_without_tracefs_is_the_check_s(tmp_path: Path) -> None:
    with pytest.raises(TracefsError) as failure:
        find_tracefs((tmp_path,))
    assert str(failure.value) == checks_tracefs.tracefs((tmp_path,))[0].error


def test_every_tracepoint_has_a_use_and_a_loss() -> None:
    uses = {use.event: use for use in tracepoints.uses()}
    assert set(uses) >= {*front_end.EVENTS, "sched_wakeup", "sys_enter", "sock_send_length"}
    assert uses["sys_enter"].category == "raw_syscalls" and not uses["sys_enter"].by_collector
    assert uses["sched_waking"].users == ("collector", "capture", "offcpu", "task")
    assert all(use.lost for use in uses.values())


def switch_use() -> tracepoints.Use:
    return next(use for use in tracepoints.uses() if use.event == "sched_switch")


def test_a_tracepoint_has_each_field_with_its_place(tracefs: Path) -> None:
    loads = tracepoints.used_loads()
    assert Load("sched_switch", "next_comm", 8, 16, is_name=True) in loads
    found = tracepoints.tracepoint(switch_use(), tracefs, None, frozenset({Load("sched_switch", "prev_pid", 4, 4)}))
    assert found.state == "ok"
    fields = {field["name"]: field for field in found.details["fields"]}
    assert fields["prev_pid"] == {"name": "prev_pid", "type": "pid_t", "offset": 24, "size": 4, "used": True}
    assert not fields["prev_state"]["used"]
    # next_pid is not in this record, and ours reads it.
    assert "next_pid" in tracepoints.tracepoint(switch_use(), tracefs, None, loads).found


def test_a_tracepoint_that_is_nowhere_is_the_start_s_error(tmp_path: Path, tracefs: Path) -> None:
    (tracefs / "events/sched/sched_switch/format").unlink()
    found = tracepoints.tracepoint(switch_use(), tracefs, None)
    assert found.state == "missing"
    assert found.error == tracing.no_tracepoint("sched_switch").error
    waking = next(use for use in tracepoints.uses() if use.event == "sched_waking")
    assert tracepoints.tracepoint(waking, tracefs, None).state == "degraded"
    assert "not known" in tracepoints.tracepoint(waking, None, None).found


def test_a_repair_needs_no_sudo_for_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for user, prefix in ((0, ""), (1000, "sudo ")):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        assert checks_tracefs.tracefs((tmp_path,))[0].repair.startswith(f"{prefix}mount -t tracefs ")
        assert host.cgroups("").repair.startswith(f"{prefix}mount -t cgroup2 ")
        assert kernel.memlock("5.10.0", frozenset(), SMALL).repair.startswith(f"{prefix}prlimit ")


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("ID=debian\n", "apt install python3-bpfcc"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "dnf install python3-bcc"),
        ("ID=arch\n", "pacman -S python-bcc"),
        ('ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', "zypper install python3-bcc"),
        ("ID=unheard\n", ""),
    ],
)
def test_packages_by_distribution(tmp_path: Path, text: str, command: str) -> None:
    assert commands.install_bcc(write(tmp_path / "os-release", text)).removeprefix("sudo ") == command


def child(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_bcc_is_what_the_child_says() -> None:
    about = {"version": "0.26.0", "interpreter": sys.executable,
             "libraries": ["/lib/libbcc.so.0.26.0", "/lib/libbpf.so.1.1.2", "/lib/libLLVM-14.so.1"]}  # fmt: skip
    found = compiler.bcc(child(f"import json; print(json.dumps({about!r}))"))
    assert (found.state, found.found) == ("ok", "0.26.0, libbcc 0.26.0, libbpf 1.1.2")
    assert found.details["libraries"]["libLLVM"] == "14"
    old = compiler.bcc(child('print(\'{"version": "0.12.0", "interpreter": "/usr/bin/python3"}\')'))
    assert old.state == "degraded" and "/usr/bin/python3" in old.found


def test_bcc_that_is_missing_or_broken() -> None:
    missing = compiler.bcc(child("raise SystemExit(3)"))
    assert (missing.state, missing.sentence) == ("missing", binding.no_bcc().sentence)
    assert compiler.bcc(child("print('nonsense')")).state == "degraded"
    assert compiler.bcc(["/no/such/interpreter"]).state == "degraded"
    assert "python3-bpfcc" in binding.no_bcc(install="").advice


def test_the_cache(tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    assert compiler.cache(ours, "VARIABLE").state == "ok"
    ours.mkdir(mode=0o700)
    write(ours / "0.json", "{}")
    assert compiler.cache(ours, "VARIABLE").details["programs"] == 1
    ours.chmod(0o777)
    assert "chmod 700" in compiler.cache(ours, "VARIABLE").repair
    assert compiler.cache(None, "VARIABLE").repair == "unset VARIABLE"


V1 = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
V2 = "cgroup2 {} cgroup2 rw 0 0\n"


def test_cgroups(tmp_path: Path) -> None:
    assert host.cgroups(V1).details == {"version": "v1", "cpu_controller": "/sys/fs/cgroup/cpu"}
    assert host.cgroups(V1 + V2.format("/sys/fs/cgroup/unified")).details["version"] == "hybrid"
    write(tmp_path / "cgroup.controllers", "cpuset cpu io\n")
    assert host.cgroups(V2.format(tmp_path)).state == "ok"
    write(tmp_path / "cgroup.controllers", "memory pids\n")
    assert host.cgroups(V2.format(tmp_path)).state == "degraded"
    assert host.cgroups("proc /proc proc rw 0 0\n").state == "degraded"


CGROUPS = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t3\t7\t1\ncpu\t1\t90\t1\n"


@pytest.mark.parametrize(
    ("text", "kept", "state", "cgroups"),
    [(CGROUPS, 90, "ok", 90), (CGROUPS, 89, "degraded", 90), ("", 2, "ok", None), ("", 1, "degraded", None)],
)
def test_room_for_the_latency_of_groups(tmp_path: Path, text: str, kept: int, state: str, cgroups: int | None) -> None:
    for name in ("1", "22", "self", "sys"):
        (tmp_path / name).mkdir()
    write(tmp_path / "cgroups", text)
    found = groups(kept, tmp_path)
    assert (found.state, found.details) == (state, {"kept": kept, "cgroups": cgroups, "processes": 2})
    assert ("waits ungrouped" in found.lost) == (state == "degraded")


def test_without_cgroups_there_are_processes(tmp_path: Path) -> None:
    assert groups(5, tmp_path).found == "5 groups keep their latency at a time; here are 0 processes"


def test_containers_and_how_it_was_told(tmp_path: Path) -> None:
    assert host.container(tmp_path, {}).details == {"kind": None, "told_by": ""}
    write(tmp_path / "proc/1/cgroup", "0::/kubepods.slice/pod1\n")
    assert host.container(tmp_path, {}).details["kind"] == "kubernetes"
    write(tmp_path / "proc/1/environ", "HOME=/\0container=lxc\0")
    assert host.container(tmp_path, {}).details == {"kind": "lxc", "told_by": "/proc/1/environ"}
    write(tmp_path / "run/systemd/container", "systemd-nspawn\n")
    assert host.container(tmp_path, {}).details["kind"] == "systemd-nspawn"
    assert host.container(tmp_path, {"container": "oci"}).details["kind"] == "oci"
    write(tmp_path / ".dockerenv", "")
    assert host.container(tmp_path, {"container": "oci"}).details["told_by"] == "/.dockerenv"


def test_virtual_machines(tmp_path: Path) -> None:
    assert host.virtualisation(tmp_path).details["guest"] is None
    write(tmp_path / "proc/cpuinfo", "flags\t: fpu vme\n")
    assert host.virtualisation(tmp_path).details["guest"] is False
    write(tmp_path / "proc/cpuinfo", "flags\t: fpu hypervisor\n")
    assert host.virtualisation(tmp_path).details == {"guest": True, "told_by": "/proc/cpuinfo"}
    write(tmp_path / "sys/class/dmi/id/sys_vendor", "QEMU\n")
    assert host.virtualisation(tmp_path).found == "QEMU (told by sys_vendor)"


def test_pid_namespaces(tmp_path: Path) -> None:
    (tmp_path / "first").symlink_to("pid:[4026531836]")
    (tmp_path / "other").symlink_to("pid:[4026532000]")
    assert host.pid_namespace(None, tmp_path / "first").details["initial"]
    assert host.pid_namespace(None, tmp_path / "other").state == "degraded"
    assert host.pid_namespace(None, tmp_path / "none").details["initial"] is None


def test_pressure(tmp_path: Path) -> None:
    assert host.pressure(write(tmp_path / "cpu", "some avg10=0\n")).state == "ok"
    assert "CONFIG_PSI" in host.pressure(tmp_path / "none").advice


def test_pressure_that_is_switched_off_at_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _: fails(errno.EOPNOTSUPP)())
    assert "psi=1" in host.pressure(Path("/proc/pressure/cpu")).advice


@pytest.mark.parametrize(
    ("name", "available", "state", "repair"),
    [("tsc", "tsc hpet", "ok", ""), ("kvm-clock", "kvm-clock", "ok", ""), ("hpet", "hpet acpi_pm", "degraded", ""),
     ("hpet", "tsc hpet", "degraded", "echo tsc | ")],
)  # fmt: skip
def test_clocks(tmp_path: Path, name: str, available: str, state: str, repair: str) -> None:
    write(tmp_path / "current_clocksource", f"{name}\n")
    write(tmp_path / "available_clocksource", f"{available}\n")
    found = host.clock(tmp_path)
    assert (found.state, found.details["available"]) == (state, available.split())
    assert found.repair.startswith(repair) and bool(found.repair) == bool(repair)


def test_steal(tmp_path: Path) -> None:
    stat = write(tmp_path / "stat", "cpu  1 2 3 4 5 6 7 890 0 0\n")
    assert host.steal(None, guest=True, stat=stat).state == "degraded"
    assert host.steal(None, guest=False, stat=write(tmp_path / "stat", "cpu  1 2 3 4 5 6 7 0 0 0\n")).state == "ok"
    assert host.steal(None, guest=False, stat=tmp_path / "none").state == "ok"


def test_a_library_that_is_not_there_has_its_command() -> None:
    assert own.library("numpy").state == "ok"
    assert own.library("no-such-library").repair.endswith("-m pip install no-such-library")


def test_a_check_that_fails_is_a_finding() -> None:
    found = examination.safely("psi", lambda: [][0])
    assert (found.name, found.state) == ("psi", "degraded")
    assert "IndexError" in found.found


def test_a_refusal_is_what_the_first_check_says_that_explains_it() -> None:
    fine, bad = Finding("kernel", "ok", "fine"), Finding("seccomp", "missing", "a filter", advice="allow it")
    refused = OSError(errno.EPERM, "Operation not permitted")
    assert refusals.why_refused(refused, (lambda: fine, lambda: bad)).sentence == "a filter: allow it"
    other = refusals.why_refused(OSError(errno.E2BIG, "Argument list too long"), (lambda: fine,))
    assert not refusals.is_known(other) and "argument list too long" in other.sentence


def test_start_and_check_say_the_same_without_btf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(front_end, "KERNEL_BTF", tmp_path / "vmlinux")
    with pytest.raises(SourceError) as failure:
        front_end.choose_front_end("btf")
    assert str(failure.value) == read_btf(tmp_path / "vmlinux")[0].error


def test_compile_programs_says_what_the_check_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("schedtop.sources.kernel.compiler.bcc_command", lambda *_: child("raise SystemExit(3)"))
    with pytest.raises(SourceError) as failure:
        compile_programs("", (), tmp_path)
    assert str(failure.value) == binding.no_bcc().error


def test_sudo_is_told_the_path_where_it_would_not_find_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "_SECURE_PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(commands.sys, "executable", "/nowhere/python")
    monkeypatch.setattr(commands.sys, "argv", [str(tmp_path / "my tools" / "schedtop")])
    assert schedtop_as_root() == "sudo schedtop"
    for directory in ("my tools", "bin"):
        (tmp_path / directory).mkdir()
        (tmp_path / directory / "schedtop").touch(0o755)
        wanted = f"sudo '{tmp_path}/my tools/schedtop'" if directory == "my tools" else "sudo schedtop"
        assert schedtop_as_root() == wanted


class Types:
    """The kernel's types, as far as timing interrupts asks for them."""

    def __init__(self, *typedefs: str) -> None:
        self._typedefs = {f"btf_trace_{name}" for name in typedefs}

    def has_typedef(self, name: str) -> bool:
        return name in self._typedefs

    def typedef_id(self, name: str) -> int:
        assert name in self._typedefs
        return 1

    def has_field(self, struct: str, path: str) -> bool:
        return (struct, path) in (("irqaction", "next"), ("task_struct", "thread_info.preempt_count"))

    def offset(self, *place: str) -> int:
        return 8

    def per_cpu_distance(self, *variables: str) -> int:
        raise BtfError("none")


BOTH_ENDS = ("irq_handler_entry", "irq_handler_exit", "softirq_entry", "softirq_exit")


@pytest.mark.parametrize(
    ("typedefs", "state", "words"),
    [
        ((*BOTH_ENDS, "softirq_raise", "irq_work_entry", "irq_work_exit"), "ok",
         "devices, softirqs and vectors can be timed"),
        ((*BOTH_ENDS, "softirq_raise"), "ok", "devices and softirqs can be timed"),
        (BOTH_ENDS, "degraded", "devices and softirqs can be timed"),
        (BOTH_ENDS[:2], "degraded", "devices can be timed"),
        (BOTH_ENDS[2:], "degraded", "has no tracepoints of device interrupts"),
    ],
)  # fmt: skip
def test_whether_interrupts_can_be_timed(typedefs: tuple[str, ...], state: str, words: str) -> None:
    finding = interrupts(Types(*typedefs))  # type: ignore[arg-type]
    assert finding.state == state and words in finding.found
    assert bool(finding.lost) == (state == "degraded")


def test_without_types_interrupts_cannot_be_timed() -> None:
    assert interrupts(None).lost.startswith("the time of interrupts")
