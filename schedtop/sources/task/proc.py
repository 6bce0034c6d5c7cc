"""What /proc and the cgroup files tell of one task: its name, what it is doing, how the scheduler is to treat it."""

from __future__ import annotations

import os
import re
import socket
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from schedtop.base.units import printable
from schedtop.model.rows import text
from schedtop.model.source import SourceError
from schedtop.sources.host.cgroups import cpu_hierarchy, group_directory, mounted_group, read_mounts
from schedtop.sources.host.pid_numbers import shows_host
from schedtop.sources.host.task_cgroups import cpu_group
from schedtop.sources.host.throttling import quota_ratio, read_statistics
from schedtop.sources.host.topology import cpu_list
from schedtop.sources.kernel.constants import TASK
from schedtop.sources.task.syscalls import READS, WRITES
from schedtop.task import IO_KINDS, Attributes, Quota, exit_words
from schedtop.task.parts import STATES

RUNNING, RUNNABLE, SLEEPING, UNINTERRUPTIBLE, STOPPED, _THROTTLED = range(len(STATES))
"""Places in STATES; the kernel side has the same numbers."""

_STATES = {"R": RUNNING, "D": UNINTERRUPTIBLE, "T": STOPPED, "t": STOPPED}
_POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline", 7: "ext"}
# Fields of /proc/TID/stat from the state on (man 5 proc, there numbered from 3).
_STATE, _MIN_FLT, _MAJ_FLT, _NICE, _THREADS, _RT_PRIORITY, _POLICY, _EXIT_CODE = 0, 7, 9, 16, 17, 37, 38, 49
_SOCKET = re.compile(r"socket:\[(\d+)\]")
_LISTEN = "0A"


@dataclass(frozen=True, slots=True)
class ThreadStat:
    """Of /proc/TGID/task/TID/stat: `state` of bpf/task/task.h, faults since it began, and how it is scheduled."""

    state: int
    minor: int
    major: int
    nice: int
    rt_priority: int
    policy: str


@dataclass(frozen=True, slots=True)
class TaskName:
    """A task: `tid` is `tgid` for a leader. `threads`: how many its process has."""

    tid: int
    tgid: int
    comm: str
    process: str
    command_line: str
    threads: int


def identify(tid: int, proc: Path = Path("/proc")) -> TaskName:
    """The task of that number. Raises SourceError if there is none."""
    try:
        fields = _status(proc / str(tid))
        tgid = int(fields["Tgid"])
        command = (proc / str(tgid) / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ")
        name = TaskName(tid, tgid, comm(tgid, tid, proc), comm(tgid, tgid, proc), text(command), int(fields["Threads"]))
    except (OSError, KeyError, ValueError) as error:
        raise SourceError(f"there is no task {tid} on this host") from error
    if fields.get("State", "").startswith(("Z", "X")) and name.threads <= 1:
        raise SourceError(f"task {tid} ({name.comm}) has ended: only its parent has not asked how")
    return name


def _status(task: Path) -> dict[str, str]:
    """The fields of a task's status. Raises OSError."""
    # Not splitlines: a task may have a form feed in its name, and what looks like a field after it.
    lines = (task / "status").read_bytes().decode("utf-8", "replace").split("\n")
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def has_gone(name: TaskName, proc: Path = Path("/proc")) -> bool:
    """Whether it has ended, whoever may still have to ask how."""
    return read_stat(name.tgid, name.tid, proc) is None


def ended_before(name: TaskName, proc: Path = Path("/proc")) -> SourceError:
    """To be raised if it ended while programs were compiled and attached for it."""
    fields = _stat_fields(name.tgid, name.tid, proc)
    # Told as long as its parent has not asked for it.
    how = exit_words(os.waitstatus_to_exitcode(int(fields[_EXIT_CODE]))) if fields else ""
    return SourceError(f"task {name.tid} ({name.comm}) ended while the task view was attached{how}")


def require_host_numbers() -> None:
    """Raises SourceError where /proc has the tids of a container: the kernel programs know the host's alone."""
    if not shows_host():
        raise SourceError("tids are other numbers in this pid namespace: run it in the host's (docker run --pid=host)")


def may_be_looked_at(tgid: int, proc: Path = Path("/proc")) -> bool:
    """Whether the open files of a process are ours to see; true if it is gone (ptrace(2), access mode checks)."""
    try:
        os.listdir(proc / str(tgid) / "fd")
    except PermissionError:
        return False
    except OSError:
        pass
    return True


def thread_ids(tgid: int, proc: Path = Path("/proc")) -> list[int]:
    """The threads of a process; none if it is gone."""
    try:
        return sorted(int(name) for name in os.listdir(proc / str(tgid) / "task"))
    except OSError:
        return []


def comm(tgid: int, tid: int, proc: Path = Path("/proc")) -> str:
    """A thread's name, empty if it is gone."""
    try:
        return text((proc / str(tgid) / "task" / str(tid) / "comm").read_bytes().rstrip(b"\n"))
    except OSError:
        return ""


def read_stat(tgid: int, tid: int, proc: Path = Path("/proc")) -> ThreadStat | None:
    """What a thread is now, `None` if it is gone."""
    fields = _stat_fields(tgid, tid, proc)
    if not fields or fields[_STATE] in "ZX":
        return None
    try:
        minor, major, nice, priority, policy = (
            int(fields[place]) for place in (_MIN_FLT, _MAJ_FLT, _NICE, _RT_PRIORITY, _POLICY)
        )
    except (ValueError, IndexError):
        return None  # cut off
    words = _POLICIES.get(policy, f"policy {policy}")
    return ThreadStat(_STATES.get(fields[_STATE], SLEEPING), minor, major, nice, priority, words)


def thread_count(tgid: int, proc: Path = Path("/proc")) -> int:
    """How many threads a process has, 0 if it is gone."""
    fields = _stat_fields(tgid, tgid, proc)
    return int(fields[_THREADS]) if len(fields) > _THREADS and fields[_THREADS].isdecimal() else 0


def _stat_fields(tgid: int, tid: int, proc: Path) -> list[str]:
    """Of /proc/TGID/task/TID/stat, from the state on; nothing if it is gone."""
    try:
        line = (proc / str(tgid) / "task" / str(tid) / "stat").read_bytes()
    except OSError:
        return []
    return line.rpartition(b")")[2].decode("ascii", "replace").split()


def run_ns(tgid: int, tid: int, proc: Path = Path("/proc")) -> int:
    """How long a thread has run so far, by the kernel's count; 0 where it is not kept."""
    try:
        return int((proc / str(tgid) / "task" / str(tid) / "schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0


@dataclass(frozen=True, slots=True)
class CallUnderWay:
    """A system call by its number (TASK.NO_CALL: none, or it cannot be told).

    `read_kind`, `write_kind`: what the descriptors that it reads from and writes to stand for, places in IO_KINDS; -1:
    it does not read or write.
    """

    number: int = field(default_factory=lambda: TASK.NO_CALL)
    read_kind: int = -1
    write_kind: int = -1


def current_call(tgid: int, tid: int, names: Mapping[int, str], proc: Path = Path("/proc")) -> CallUnderWay:
    """The call that a thread is blocked in; `names`: of calls, by number."""
    try:
        first, *words = (proc / str(tgid) / "task" / str(tid) / "syscall").read_text().split()
        numbers = [int(word, 16) for word in words]
    except (OSError, ValueError):
        return CallUnderWay()
    # A thread of the kernel has no program that could have called: its address is 0. Eight numbers: man 5 proc.
    if not first.isdecimal() or len(numbers) != 8 or not numbers[-1]:
        return CallUnderWay()
    name = names.get(int(first), "")

    def kind(arguments: Mapping[str, int]) -> int:
        if name not in arguments:
            return -1
        return _descriptor_kind(proc / str(tgid) / "fd" / str(numbers[arguments[name] - 1]))

    return CallUnderWay(int(first), kind(READS), kind(WRITES))


def _descriptor_kind(path: Path) -> int:
    """As kind_of() of bpf/task/btf.c."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return IO_KINDS.index("unknown")
    tests = {"file": (stat.S_ISREG, stat.S_ISDIR), "pipe": (stat.S_ISFIFO,), "socket": (stat.S_ISSOCK,)}
    tests["device"] = (stat.S_ISCHR, stat.S_ISBLK)
    found = (name for name, checks in tests.items() if any(check(mode) for check in checks))
    return IO_KINDS.index(next(found, "other"))


def open_sockets(tgid: int, proc: Path = Path("/proc")) -> tuple[set[int], set[int]]:
    """Inodes of the sockets that a process has open (4,096 at most), and the TCP ports at which it listens."""
    inodes: set[int] = set()
    ports: set[int] = set()
    try:
        with os.scandir(proc / str(tgid) / "fd") as entries:
            descriptors = list(islice(entries, TASK.MOST_SOCKETS))  # there may be a million
    except OSError:
        return inodes, ports
    for entry in descriptors:
        try:
            found = _SOCKET.fullmatch(os.readlink(entry.path))
        except OSError:
            continue
        if found:
            inodes.add(int(found[1]))
    for name in ("tcp", "tcp6"):
        ports |= _listening(proc / str(tgid) / "net" / name, inodes) if inodes else set()
    return inodes, ports


def _listening(path: Path, inodes: set[int]) -> set[int]:
    try:
        lines = path.read_text("ascii", "replace").splitlines()[1:]
    except OSError:
        return set()
    rows = (line.split() for line in lines)
    return {
        int(row[1].rpartition(":")[2], 16)
        for row in rows
        if len(row) > 9 and row[3] == _LISTEN and int(row[9]) in inodes
    }


class AttributeReader:
    """How a task is scheduled, with the quota statistics since the last reading."""

    def __init__(self, tgid: int, tid: int, proc: Path = Path("/proc"), mounts: str | None = None) -> None:
        self._tgid, self._tid, self._proc = tgid, tid, proc
        self._root = cpu_hierarchy(read_mounts() if mounts is None else mounts)
        self._top = mounted_group(self._root) if self._root else "/"
        self._earlier: Quota | None = None
        self._last: Attributes | None = None

    def read(self) -> Attributes | None:
        """As of now; of a task that is gone the last ones, `None` if there are none."""
        now = read_stat(self._tgid, self._tid, self._proc)
        directory = self._proc / str(self._tgid) / "task" / str(self._tid)
        try:
            affinity = printable(_status(directory).get("Cpus_allowed_list", "").strip())
            cgroup = cpu_group(os.fsdecode((directory / "cgroup").read_bytes()))
        except OSError:
            now = None
        if now is None:
            return self._last
        self._last = Attributes(
            affinity,
            _cpu_count(affinity),
            now.policy,
            now.rt_priority,
            now.nice,
            text(os.fsencode(cgroup)),
            self._quota_since(cgroup),
        )
        return self._last

    def _quota_since(self, cgroup: str) -> Quota | None:
        now = self._quota(cgroup)
        earlier, self._earlier = self._earlier, now
        if now is None or earlier is None or earlier.cgroup != now.cgroup:
            return now and replace(now, periods=0, throttled_periods=0, throttled_ns=0)
        changes = {
            name: max(0, getattr(now, name) - getattr(earlier, name))
            for name in ("periods", "throttled_periods", "throttled_ns")
        }
        return replace(now, **changes)

    def _quota(self, cgroup: str) -> Quota | None:
        """Of the group, or the nearest one above that has a quota; with its counters since the group was made."""
        if self._root is None or not cgroup:
            return None
        # Only v2 has this file at every directory of the hierarchy.
        unified = (self._root / "cgroup.controllers").exists()
        path = cgroup
        while True:
            directory = group_directory(self._root, self._top, path)
            if directory is None:
                return None
            ratio = quota_ratio(directory, unified)
            if ratio is not None:
                break
            if path in ("/", ""):
                return None
            path = path.rpartition("/")[0] or "/"
        try:
            statistics = read_statistics(directory, unified)
            period = _period_ns(directory, unified)
        except (OSError, ValueError, IndexError):
            return None
        return Quota(text(os.fsencode(path)), round(ratio * period), period, *statistics[:3])


def _cpu_count(affinity: str) -> int:
    """How many CPUs a mask allows, 0 if that cannot be told."""
    try:
        return len(cpu_list(affinity))
    except ValueError:
        return 0


def _period_ns(directory: str, unified: bool) -> int:
    name = "cpu.max" if unified else "cpu.cfs_period_us"
    return int(Path(directory, name).read_text().split()[-1]) * 1000


def address(family: int, packed: bytes, port: int) -> str:
    """An address and port as people write them."""
    if family == socket.AF_INET:
        return f"{socket.inet_ntop(socket.AF_INET, packed[:4])}:{port}"
    return f"[{socket.inet_ntop(socket.AF_INET6, packed[:16])}]:{port}"
