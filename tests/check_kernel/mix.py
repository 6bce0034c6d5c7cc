"""A mix: tasks in a process group of their own, to which random things happen, and the kernel's numbers of each."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from schedtop.sources.host.cgroups import cpu_hierarchy, read_mounts
from tests.check_kernel.host import Quotas, all_online, removable_cpus

WORKER = Path(__file__).with_name("worker.py")
EXECS_VARIABLE = "SCHEDTOP_CHECK_EXECS"
"""Tells workers the directory for what they write of execs by threads."""

MOST_TASKS = 12
"""Started by us; each may have children of its own."""
ACTION_S = 0.04
"""So much time is between two actions, on average."""
ACTIONS = ("start", "end", "pin", "nice", "stop", "quota", "regroup", "hotplug")
"""Everything that happens to tasks from outside."""


@dataclass(frozen=True, slots=True)
class Truth:
    """/proc/PID/task/TID/schedstat of a live task, and its name.

    `throttled_ns`: for no longer than this it was stopped by a quota. The kernel counts that as run delay.
    `execs`: so often a thread of it has become its leader by an exec. The kernel's numbers are then that thread's; in
    these are the former leader's, as in ours, instead of what the thread had before.
    """

    run_ns: int
    run_delay_ns: int
    timeslices: int
    comm: str
    throttled_ns: int = 0
    execs: int = 0


def with_execs(truth: Truth, lines: list[str]) -> Truth | None:
    """With what worker.py has written of execs by threads; `None` if one was under way at the end.

    A line for each: run time, run delay and timeslices of the leader, then those of the thread; `done` once it was.
    """
    told = [line for line in lines if line != "done"]
    if 2 * len(told) != len(lines):
        return None
    for line in told:
        run_ns, delay_ns, slices, own_run_ns, own_delay_ns, own_slices = map(int, line.split())
        truth = replace(
            truth,
            run_ns=truth.run_ns + run_ns - own_run_ns,
            run_delay_ns=truth.run_delay_ns + delay_ns - own_delay_ns,
            timeslices=truth.timeslices + slices - own_slices,
            execs=truth.execs + 1,
        )
    return truth


class Mix:
    """Tasks that live until the block of `started` ends."""

    def __init__(self, chance: random.Random, actions: set[str], quotas: Quotas | None) -> None:
        self._chance = chance
        self._quotas = quotas
        self._switches = removable_cpus() if "hotplug" in actions else []
        self._cpus = sorted(os.sched_getaffinity(0))
        self._tasks: list[subprocess.Popen[bytes]] = []
        self._leader = subprocess.Popen(["sleep", "infinity"], preexec_fn=lambda: os.setpgid(0, 0))
        self._group = self._leader.pid
        self._grouped: set[int] = set()
        self._execs = tempfile.TemporaryDirectory()
        if not self._switches:
            actions = actions - {"hotplug"}
        known: dict[str, Callable[[], None]] = {name: getattr(self, f"_{name}") for name in ACTIONS if name in actions}
        if not self._quotas:
            known = {name: action for name, action in known.items() if name not in ("quota", "regroup")}
        self._actions = known

    def play(self, seconds: float) -> int:
        """Random actions for so long; their number."""
        end, count = time.monotonic() + seconds, 0
        for _ in range(4):
            self._start()
        while time.monotonic() < end:
            time.sleep(min(0.5, self._chance.expovariate(1 / ACTION_S)))
            name = self._chance.choice(list(self._actions))
            if name == "hotplug" and self._chance.random() < 0.95:  # it takes all of the host a while
                continue
            self._actions[name]()
            count += 1
        return count

    def settle(self) -> dict[int, Truth]:
        """Stops all tasks where they are; what the kernel says of each by then, by tid."""
        all_online(self._switches)
        if self._quotas:
            self._quotas.lift()
        deadline = time.monotonic() + 60
        while any(state not in "TZX" for _, _, state in self._members()):
            os.killpg(self._group, signal.SIGSTOP)
            time.sleep(0.1)
            if time.monotonic() > deadline:
                raise RuntimeError("the tasks do not stop")
        time.sleep(0.2)  # the last switch out comes a little after the state changes
        throttled_ns = self._quotas.throttled_ns if self._quotas else 0
        found = {}
        for tid, comm, state in self._members():
            if state == "T":
                run_ns, run_delay_ns, timeslices = map(int, Path(f"/proc/{tid}/schedstat").read_text().split())
                longest = throttled_ns if self._had_quota(tid) else 0
                truth = with_execs(Truth(run_ns, run_delay_ns, timeslices, comm, longest), self._exec_lines(tid))
                if truth:
                    found[tid] = truth
        return found

    def _exec_lines(self, tid: int) -> list[str]:
        file = Path(self._execs.name) / str(tid)
        return file.read_text().splitlines() if file.exists() else []

    def _had_quota(self, tid: int) -> bool:
        """Whether a task, or what started it, was ever in a group; of an orphan nobody knows."""
        while self._grouped:
            status = Path(f"/proc/{tid}/status").read_text(errors="replace").split()
            process, parent = (int(status[status.index(name) + 1]) for name in ("Tgid:", "PPid:"))
            if process in self._grouped:
                return True
            if parent in (0, 1, os.getpid()):
                return parent != os.getpid()
            tid = parent
        return False

    def close(self) -> None:
        """Kills everything."""
        all_online(self._switches)
        with suppress(ProcessLookupError):
            os.killpg(self._group, signal.SIGKILL)
        for task in (self._leader, *self._tasks):
            task.wait()
        while list(self._members()):
            time.sleep(0.02)
        self._execs.cleanup()

    def _members(self) -> Iterator[tuple[int, str, str]]:
        """Tid, name and state of each task of the group."""
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                fields = (process / "stat").read_text(errors="replace").rsplit(")", 1)[1].split()
                if int(fields[2]) != self._group:
                    continue
                for task in (process / "task").iterdir():
                    text = (task / "stat").read_text(errors="replace")
                    comm, rest = text[text.index("(") + 1 :].rsplit(")", 1)
                    yield int(task.name), comm, rest.split()[0]

    def _start(self) -> None:
        if len(self._tasks) >= MOST_TASKS:
            return
        command = [sys.executable, "-I", "-S", str(WORKER), str(self._chance.random()), "0"]
        environment = os.environ | {EXECS_VARIABLE: self._execs.name}
        quiet = subprocess.DEVNULL
        self._tasks.append(subprocess.Popen(command, preexec_fn=self._joined, stdout=quiet, env=environment))

    def _joined(self) -> None:
        os.setpgid(0, self._group)

    def _one(self) -> int:
        return self._chance.choice(self._tasks).pid if self._tasks else self._leader.pid

    def _end(self) -> None:
        if self._tasks and self._chance.random() < 0.2:
            task = self._tasks.pop(self._chance.randrange(len(self._tasks)))
            task.kill()
            task.wait()

    def _pin(self) -> None:
        cpus = self._chance.sample(self._cpus, self._chance.randint(1, min(2, len(self._cpus))))
        with suppress(OSError):  # one that has ended, or CPUs that are gone
            os.sched_setaffinity(self._one(), cpus)

    def _nice(self) -> None:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self._one(), self._chance.randint(-5, 19))

    def _stop(self) -> None:
        with suppress(OSError):
            os.kill(self._one(), signal.SIGSTOP if self._chance.random() < 0.3 else signal.SIGCONT)

    def _regroup(self) -> None:
        assert self._quotas
        pid = self._one()
        self._grouped.add(pid)
        self._quotas.put(pid, self._chance.choice((0, 1, None)))

    def _quota(self) -> None:
        assert self._quotas
        self._quotas.allow(self._chance.randrange(2), self._chance.choice((0.1, 0.3, 0.7, -1)))

    def _hotplug(self) -> None:
        switch = self._chance.choice(self._switches)
        with suppress(OSError):  # busy
            switch.write_text("0" if switch.read_text().strip() == "1" else "1")


@contextmanager
def started(chance: random.Random, actions: set[str]) -> Iterator[Mix]:
    """A mix whose tasks are gone at the end of the block, and the host as before."""
    root = cpu_hierarchy(read_mounts()) if actions & {"quota", "regroup"} else None
    with ExitStack() as stack:
        mix = Mix(chance, actions, stack.enter_context(Quotas(root)) if root else None)
        stack.callback(mix.close)
        yield mix
