"""Scenarios whose truth is known by construction: processes with a role each, started and stopped together.

A Role is what one process does and where; a Cast is all of them, waiting for their start; a Take is one performance
with what schedtop and the kernel itself (/proc/<tid>/schedstat) said about it. This host is shared: `takes` repeats a
performance that somebody else disturbed, by numbers which schedtop has no part in.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import pytest
from loads import KernelNumbers, kernel_numbers

from schedtop.model.frame import Frame, merge
from schedtop.model.rows import Rows
from schedtop.model.weights import cpu_weight_of_shares
from schedtop.sources.host.cgroups import cpu_hierarchy

TRIES = 3
MOST_STEAL = 0.02
TOO_MUCH_STEAL = 0.05
TOO_MANY_OUTSIDERS = 0.5
"""More than one of these in each of the tries, and nothing can be judged: the test is skipped, with the numbers."""

MOST_OUTSIDERS = 0.05
"""Which share of one CPU may go to others: kernel threads, other users of the machine."""

CALM_S, PATIENCE_S = 0.5, 15.0
"""For how long nothing may be stolen before another try, and how long that is waited for."""

HOG = "while True: pass"

_PRELUDE = """
import os, signal, time
signal.alarm(90)  # whatever happens to those who should stop it
open("/proc/self/comm", "w").write(NAME)
if GROUP: open(GROUP, "w").write("0")
os.sched_setaffinity(0, {CPU})
if CPU: os.setpriority(os.PRIO_PROCESS, 0, -19)
if FIFO: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(FIFO))

def burn(ms):
    "By the CPU clock of the thread: what others take does not count."
    end = time.thread_time_ns() + ms * 1_000_000
    while time.thread_time_ns() < end: pass

def tell(*names):
    for name in names: os.write(INBOX[name][1], b"!")

def hear():
    os.read(INBOX[NAME][0], 1)

os.write(READY, f"{NAME} {os.readlink('/proc/self')}\\n".encode())
hear()
"""


@dataclass(frozen=True, slots=True)
class Role:
    """What a process called `name` does on a CPU: Python that may `burn(ms)`, `tell(*names)`, `hear()`, look up `TID`.

    `fifo`: its real-time priority, 0 for a normal task; `group`: the directory of its cgroup; `prefix`: a command to
    run it with. `TID` has the roles before it. On CPU 1 they are nice to nobody but each other, so that what else runs
    on this host changes little there.
    """

    name: str
    does: str
    cpu: int = 1
    fifo: int = 0
    group: Path | None = None
    prefix: tuple[str, ...] = ()


class Cast:
    """Processes with roles, in one process group. They are ready when the block begins, and gone when it ends."""

    def __init__(self, roles: Sequence[Role]) -> None:
        self.roles = roles
        self.tids: dict[str, int] = {}
        self.kernel: dict[str, KernelNumbers] = {}
        """What the kernel counted from `go` to `stop`."""
        self.duration_ns = 0
        self._processes: list[subprocess.Popen[bytes]] = []
        self._pipes: dict[str, tuple[int, int]] = {}

    def __enter__(self) -> Self:
        self._pipes = {name: os.pipe() for name in ("", *(role.name for role in self.roles))}
        try:
            for role in self.roles:
                self._start(role)
            self._await_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        if self._processes:
            with suppress(ProcessLookupError):
                os.killpg(self._processes[0].pid, signal.SIGKILL)
        for process in self._processes:
            process.wait()
        for pipe in self._pipes.values():
            os.close(pipe[0])
            os.close(pipe[1])

    def _start(self, role: Role) -> None:
        group = str(role.group / "cgroup.procs") if role.group else ""
        about = f"NAME, CPU, FIFO, GROUP = {role.name!r}, {role.cpu}, {role.fifo}, {group!r}\n"
        about += f"INBOX, READY, TID = {self._pipes!r}, {self._pipes[''][1]}, {self.tids!r}\n"
        process = subprocess.Popen(
            [*role.prefix, sys.executable, "-I", "-S", "-c", about + _PRELUDE + role.does],
            pass_fds=[descriptor for pipe in self._pipes.values() for descriptor in pipe],
            process_group=self._processes[0].pid if self._processes else 0,
        )
        self._processes.append(process)
        self.tids[role.name] = process.pid

    def _await_ready(self) -> None:
        heard = b""
        while heard.count(b"\n") < len(self.roles):
            heard += os.read(self._pipes[""][0], 4096)
            assert all(process.poll() is None for process in self._processes), "a process failed before its start"
        self.tids |= {name: int(tid) for name, tid in (line.rsplit(" ", 1) for line in heard.decode().splitlines())}
        time.sleep(0.02)  # until the last one sleeps

    def go(self) -> None:
        """They start."""
        self._before = self._read()
        self._start_ns = time.monotonic_ns()
        for role in self.roles:
            os.write(self._pipes[role.name][1], b"!")

    def stop(self) -> None:
        """They stop where they are; afterwards none of them waits for a CPU."""
        self.duration_ns = time.monotonic_ns() - self._start_ns
        os.killpg(self._processes[0].pid, signal.SIGSTOP)
        for tid in self.tids.values():
            _await_stopped(tid)
        time.sleep(0.02)  # the last switch out comes a little after the state changes
        after = self._read()
        self.kernel = {
            name: KernelNumbers(
                *(b - a for a, b in zip(astuple(self._before[name]), astuple(after[name]), strict=True))
            )
            for name in after
        }

    def go_on(self) -> None:
        """They go on after a stop."""
        os.killpg(self._processes[0].pid, signal.SIGCONT)

    def play(self, seconds: float) -> None:
        """All of it."""
        self.go()
        time.sleep(seconds)
        self.stop()

    @property
    def pids(self) -> list[int]:
        """Of all processes that were started, with the commands that run others."""
        return [process.pid for process in self._processes] + list(self.tids.values())

    def _read(self) -> dict[str, KernelNumbers]:
        return {name: _of_process(tid) for name, tid in self.tids.items()}


def _of_process(pid: int) -> KernelNumbers:
    """Summed over its threads."""
    threads = [astuple(kernel_numbers(int(task.name))) for task in Path(f"/proc/{pid}/task").iterdir()]
    return KernelNumbers(*(sum(numbers) for numbers in zip(*threads, strict=True)))


def _await_stopped(tid: int) -> None:
    deadline = time.monotonic() + 30
    while (state := Path(f"/proc/{tid}/stat").read_bytes().rpartition(b")")[2].split()[0]) != b"T":
        assert state != b"Z", "a process failed"
        assert time.monotonic() < deadline, "a process does not stop"
        time.sleep(0.001)


@dataclass(slots=True)
class Take:
    """One performance: what schedtop saw (`frame`) and the truth. As a context manager it judges the checks inside."""

    frames: list[Frame]
    cast: Cast
    trouble: list[str]
    """Who disturbed it, in this take and in those before."""
    disturbed: bool = False
    is_last: bool = False
    is_hopeless: bool = False
    """In this take and in each before it the host, or other load on it, took too much."""
    has_passed: bool = False
    steal: float = field(init=False)
    others: float = field(init=False)
    frame: Frame = field(init=False)
    kernel: dict[str, KernelNumbers] = field(init=False)

    def __post_init__(self) -> None:
        self.frame = merge(self.frames)
        self.kernel = self.cast.kernel
        self.steal = self.frame.ratio("steal_ns") or 0
        self.needs(self.steal <= MOST_STEAL, f"{self.steal:.1%} steal", quietly=True)
        others_ns = int(self.frame.cpus.column("busy_ns").sum()) - self.frame.overhead.cpu_ns
        self.others = (others_ns - sum(numbers.run_ns for numbers in self.kernel.values())) / self.frame.interval_ns
        self.needs(self.others <= MOST_OUTSIDERS, f"others had {self.others:.1%} of a CPU", quietly=True)

    def needs(self, came_about: bool, otherwise: str, quietly: bool = False) -> None:
        """Notes what the scenario needs and did not get, by numbers that schedtop has no part in; ends this take."""
        if came_about:
            return
        self.disturbed = True
        self.trouble.append(otherwise)
        assert quietly, "the scenario did not come about"

    def waits(self, name: str, kind: int | None = None) -> Rows:
        """The slow waits of a role."""
        rows = self.frame.slow_waits[self.frame.slow_waits["tid"] == self.cast.tids[name]]
        return rows if kind is None else rows[rows["kind"] == kind]

    def pair(self, victim: str, other: str) -> Rows:
        """What one role cost another: a row of PAIR_DTYPE, zeros if there is none."""
        tids = self.cast.tids
        pairs = self.frame.pairs
        found = pairs[(pairs["victim_tid"] == tids[victim]) & (pairs["other_tid"] == tids[other])]
        assert len(found) <= 1
        return found[0] if len(found) else np.zeros(1, pairs.dtype)[0]

    def task(self, name: str) -> Rows:
        """The TASK_DTYPE row of a role."""
        row: Rows = self.frame.tasks[self.frame.tasks["tid"] == self.cast.tids[name]][0]
        return row

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.has_passed = error is None
        if not isinstance(error, AssertionError):
            return False
        if self.trouble:
            error.add_note(f"in up to {TRIES} tries the scenario was disturbed: {'; '.join(self.trouble)}")
        if self.is_last and self.is_hopeless:
            pytest.skip(f"the CPUs were taken away in all {TRIES} tries: {'; '.join(self.trouble)}")
        return self.disturbed and not self.is_last


def takes(perform: Callable[[], tuple[list[Frame], Cast]]) -> Iterator[Take]:
    """Takes until the checks of one have passed; only the failure of a disturbed one is forgiven."""
    trouble: list[str] = []
    is_hopeless = True
    for number in range(TRIES):
        take = Take(*perform(), trouble)
        too_much = take.steal > TOO_MUCH_STEAL or take.others > TOO_MANY_OUTSIDERS
        is_hopeless = take.is_hopeless = is_hopeless and too_much
        take.is_last = number == TRIES - 1
        yield take
        if take.has_passed:
            return
        _await_calm()


def _await_calm() -> None:
    """Until the host leaves us our CPUs: it takes them in bursts that last up to seconds."""
    deadline, before = time.monotonic() + PATIENCE_S, _stolen_ticks()
    while time.monotonic() < deadline:
        time.sleep(CALM_S)
        if (now := _stolen_ticks()) == before:
            return
        before = now


def _stolen_ticks() -> int:
    """Of all CPUs since boot (man 5 proc)."""
    return int(Path("/proc/stat").read_bytes().split(None, 9)[8])


@contextmanager
def cgroup(name: str, quota: float | None = None, parent: Path | None = None) -> Iterator[Path]:
    """The directory of a new cgroup of the cpu controller, with a quota of so many CPUs; removed at the end."""
    root = cpu_hierarchy(Path("/proc/self/mounts").read_text())
    if root is None:
        pytest.skip("there is no cpu controller")
    unified = not (root / "cpu.shares").exists() and (root / "cgroup.controllers").exists()
    directory = (parent or root) / f"schedtop-{os.getpid()}-{name}"
    try:
        if unified:
            (directory.parent / "cgroup.subtree_control").write_text("+cpu")
        directory.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error}")
    try:
        if quota:
            quota_us = str(round(quota * 100_000))
            if unified:
                (directory / "cpu.max").write_text(f"{quota_us} 100000")
            else:
                (directory / "cpu.cfs_period_us").write_text("100000")
                (directory / "cpu.cfs_quota_us").write_text(quota_us)
        yield directory
    finally:
        _remove(directory)


def set_shares(group: Path, shares: int) -> str:
    """The weight of a cgroup in the unit of cpu.shares (v1); the command that sets it, as schedtop writes it."""
    file = group / "cpu.shares"
    if not file.exists():
        file, shares = group / "cpu.weight", cpu_weight_of_shares(shares)
    file.write_text(str(shares))
    return f"echo {shares} > {file}"


def _remove(directory: Path) -> None:
    """With what is inside. A group is busy for a moment after its last process has gone."""
    for child in directory.iterdir():
        if child.is_dir():
            _remove(child)
    deadline = time.monotonic() + 5
    while True:
        try:
            directory.rmdir()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
