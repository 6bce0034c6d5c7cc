"""Loads whose behaviour is known by construction, and the kernel's own numbers about them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

LOAD_VARIABLE = "SCHEDTOP_TESTS_LOAD"
"""Names the share of a load that is enough, such as 0.03 where an emulated processor needs minutes for all of it."""

_LEAST_LOOPS = 50


@dataclass(frozen=True, slots=True)
class KernelNumbers:
    """What the kernel keeps of a task: /proc/<tid>/schedstat and status."""

    run_ns: int
    run_delay_ns: int
    timeslices: int
    voluntary: int
    involuntary: int


def kernel_numbers(tid: int) -> KernelNumbers:
    """The kernel's numbers of a task."""
    run_ns, run_delay_ns, timeslices = map(int, Path(f"/proc/{tid}/schedstat").read_text().split())
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{tid}/status").read_text().splitlines() if ":\t" in line
    )
    return KernelNumbers(
        run_ns,
        run_delay_ns,
        timeslices,
        int(status["voluntary_ctxt_switches"]),
        int(status["nonvoluntary_ctxt_switches"]),
    )


def python(code: str, *arguments: str, **options: object) -> subprocess.Popen[bytes]:
    """A Python process that starts fast and runs `code`."""
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", code, *arguments], **options)  # type: ignore[call-overload,no-any-return]


@contextmanager
def ended(*processes: subprocess.Popen[bytes]) -> Iterator[None]:
    """Kills the processes at the end of the block, whatever happens."""
    try:
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


@contextmanager
def stopped_whole_life(duration_s: float, cpu: int, count: int) -> Iterator[dict[int, KernelNumbers]]:
    """Runs `count` busy loops on one CPU for a while; the kernel's numbers of their whole lives by tid.

    From then on they stand still until the end of the block: how they die is not in these numbers.
    """
    hogs = [python("while True: pass", preexec_fn=lambda: os.sched_setaffinity(0, {cpu})) for _ in range(count)]
    with ended(*hogs):
        time.sleep(duration_s)
        yield stop_all(hogs)


def stop_all(children: Iterable[subprocess.Popen[bytes]]) -> dict[int, KernelNumbers]:
    """Stops children where they are; what the kernel has counted of each by then, by pid."""
    pids = [child.pid for child in children]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
    time.sleep(0.05)  # the last switch out comes a little after the state changes
    return {pid: kernel_numbers(pid) for pid in pids}


def load_share() -> float:
    """The share of each load that a test is to make here."""
    return float(os.environ.get(LOAD_VARIABLE, "1"))


def hackbench(loops: int, groups: int = 10) -> None:
    """Forty tasks a group that send each other messages; of a small share there is one group."""
    if load_share() < 1:
        loops, groups = max(_LEAST_LOOPS, round(loops * load_share())), 1
    subprocess.run(["hackbench", "-l", str(loops), "-g", str(groups)], check=True, capture_output=True)


def kernel_switches() -> int:
    """`ctxt` of /proc/stat."""
    line = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("ctxt"))
    return int(line.split()[1])


def attached_programs() -> int:
    """How many BPF programs and links this process holds: they go with their last descriptor."""
    held = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            held += os.readlink(descriptor).startswith(("anon_inode:bpf-prog", "anon_inode:bpf_link"))
    return held
