"""The self-test: a second of collecting beside known switches of our own, and the numbers beside the kernel's."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from schedtop.base.environment import child_environment
from schedtop.base.finding import Finding
from schedtop.base.units import NS_PER_MS, NS_PER_S, format_ns, format_ratio
from schedtop.model.frame import Frame, merge
from schedtop.model.source import Source, SourceError
from schedtop.sources.proc.source import ProcSource
from schedtop.sources.scheduler.source import LiveSource

INTERVAL_NS = 100 * NS_PER_MS
"""Of a Frame of the self-test: it ends one of them after the workload."""

WORK_S = 0.7
"""How long the workload works, beside start, first and last Frame."""

THRESHOLD_NS = 5 * NS_PER_MS

SWITCHES_RATIO, DELAY_RATIO, WAITS_RATIO = 0.01, 0.03, 0.05
"""What may be between us and the kernel: switches of all CPUs, run delay of a task's whole life; waits and switches."""

LEAST_COUNT, LEAST_DELAY_NS = 3, 2 * NS_PER_MS
"""Differences up to this are of no weight, however small the whole."""

LEAST_SWITCHES, EDGES_S = 50, 0.02
"""The same of all CPUs' switches, and how far apart both may have been read, on a busy host."""

FAR_OFF = 10
"""A difference up to so many times what is allowed is a flaw, beyond that nothing can be believed."""

_REPORT = "please report it with the output of schedtop doctor --json"

HARMLESS = (
    "switches_unseen",
    "waits_unseen",
    "late_ticks",
    "slow_waits_suppressed",
    "tasks_forgotten",
    "slow_waits_forgotten",
)
"""Losses that leave every count right."""

POLLED = ("ends_unseen", "lives_unseen")
"""Losses of --source proc alone, which polling always has."""

WORKLOAD = """
import os, sys
cpu, name = int(sys.argv[1]), sys.argv[2]
os.sched_setaffinity(0, {cpu})
try: os.setpriority(os.PRIO_PROCESS, 0, 0)
except PermissionError: pass  # an ordinary user who is nice already
there, back = os.pipe(), os.pipe()
parent = os.getpid()
child = os.fork()
with open("/proc/self/comm", "w") as own: own.write(name + ("-a" if child else "-b"))
reads, writes = (there[0], back[1]) if not child else (back[0], there[1])
if child:
    os.write(1, b"%d\\n" % child)
for _ in range(300):
    if child: os.write(writes, b".")
    os.read(reads, 1)
    if not child: os.write(writes, b".")
while os.getppid() != 1 or child: pass
"""
"""Two processes on one CPU: 300 times each waits for the other, then both want it all the time."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What the kernel keeps of a task: /proc/TID/schedstat and status."""

    run_ns: int
    run_delay_ns: int
    timeslices: int
    voluntary: int
    involuntary: int

    @classmethod
    def of(cls, tid: int, proc: Path = Path("/proc")) -> Truth:
        """That of a task. Raises OSError, ValueError, KeyError."""
        run_ns, delay_ns, timeslices = map(int, (proc / str(tid) / "schedstat").read_text().split())
        lines = (proc / str(tid) / "status").read_text(errors="replace").splitlines()
        status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        switches = int(status["voluntary_ctxt_switches"]), int(status["nonvoluntary_ctxt_switches"])
        return cls(run_ns, delay_ns, timeslices, *switches)


def compare(
    name: str, ours: float, kernels: float, ratio: float, least: float, *, beside: str = "the kernel"
) -> Finding:
    """How far our number is from the kernel's, or what it is `beside`: within `ratio` of it, or `least`, it is ok."""
    is_time = name.endswith("delay")
    allowed, off = max(least, ratio * kernels), abs(ours - kernels)
    state = "ok" if off <= allowed else "degraded" if off <= FAR_OFF * allowed else "missing"
    shown = [format_ns(value) if is_time else f"{value:,.0f}" for value in (ours, kernels)]
    part = format_ratio(off / kernels) if kernels else "-"
    limit = format_ns(allowed) if is_time else f"{allowed:,.0f}"
    details: dict[str, Any] = {"ours": ours, "kernel": kernels, "difference": ours - kernels, "allowed": allowed}
    found = f"{shown[0]}, {beside} {shown[1]}: {part} apart"
    if state == "ok":
        return Finding(name, state, found, details=details)
    lost = f"trust in these numbers (allowed: {limit})"
    return Finding(name, state, found, lost, advice=_REPORT,
                   details=details)  # fmt: skip


def live_self_test(name: str) -> list[Finding]:
    """The self-test of the kernel programs through a front end: `auto`, `btf`, `tracepoint`."""
    return self_test(LiveSource(INTERVAL_NS, THRESHOLD_NS, name))


def proc_self_test() -> list[Finding]:
    """The self-test of what needs no privileges: --source proc."""
    return self_test(ProcSource(INTERVAL_NS, THRESHOLD_NS))


def not_tried(missing: Sequence[Finding]) -> Finding:
    """That there is no sense in it."""
    names = ", ".join(finding.name for finding in missing)
    return Finding("source", "missing", f"not tried: see above what is missing ({names})",
                   "the self-test; without kernel programs --source proc shows what /proc tells")  # fmt: skip


def self_test(source: Source, work_s: float = WORK_S) -> list[Finding]:
    """Opens the source, has it collect beside the workload, and compares. A source that does not open is a Finding."""
    began = time.monotonic()
    try:
        with source, workload() as work:
            opened_s = time.monotonic() - began
            frame, truth = _collect(source, work, work_s)
            name = source.host.source
    except SourceError as error:
        return [Finding("source", "missing", str(error), "everything but --source proc")]
    except (OSError, ValueError, KeyError, StopIteration) as error:
        found = f"the workload of the self-test failed: {' '.join(str(error).split()) or type(error).__name__}"
        return [Finding("source", "degraded", found, "the self-test")]
    details = {"source": name, "open_ns": round(opened_s * NS_PER_S), "interval_ns": frame.interval_ns}
    opened = f"{name} opened in {opened_s:.1f} s, collected for {frame.duration_s:.1f} s"
    return [Finding("source", "ok", opened, details=details), *reconcile(frame, truth)]


def _collect(source: Source, work: Workload, work_s: float) -> tuple[Frame, dict[bytes, Truth]]:
    """What was seen from before the workload until after it, and the kernel's numbers of its whole life."""
    stop, frames = threading.Event(), []
    for frame in source.frames(stop):
        frames.append(frame)
        if not work.started:
            work.start()
            ends = time.monotonic() + work_s
        elif not work.truth and time.monotonic() >= ends:
            work.finish()
            seen_ns = time.monotonic_ns()
        elif work.truth and frame.end_ns > seen_ns:
            break
    return merge(frames), work.truth


class Workload:
    """Two processes that switch in a known way, from `start` to `finish`; `truth` is then what the kernel says.

    They are known by names of their own: in a pid namespace their numbers here are not those of the kernel programs.
    """

    def __init__(self) -> None:
        self._parent: subprocess.Popen[bytes] | None = None
        self.name = f"doctor-{secrets.token_hex(3)}"
        self.tids: list[int] = []
        self.truth: dict[bytes, Truth] = {}

    @property
    def started(self) -> bool:
        """Whether it has been started."""
        return self._parent is not None

    def start(self) -> None:
        """Starts it on the first CPU that we may use. Raises OSError, ValueError."""
        code = [sys.executable, "-I", "-S", "-c", WORKLOAD, str(min(os.sched_getaffinity(0))), self.name]
        self._parent = subprocess.Popen(
            code, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0,
            env=child_environment(),
        )  # fmt: skip
        assert self._parent.stdout
        self.tids = [self._parent.pid, int(self._parent.stdout.readline())]

    def finish(self) -> None:
        """Stops both, waits until their last switch is done, and reads the kernel's numbers. Raises as `Truth.of`."""
        for tid in self.tids:
            os.kill(tid, signal.SIGSTOP)
        deadline = time.monotonic() + 1
        while not all(map(_is_stopped, self.tids)) and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(0.02)  # the last switch out comes a little after the state changes
        names = (f"{self.name}-{end}".encode() for end in "ab")
        self.truth = {name: Truth.of(tid) for name, tid in zip(names, self.tids, strict=True)}

    def end(self) -> None:
        """Kills what is left of it."""
        for tid in reversed(self.tids):
            with suppress(OSError):
                os.kill(tid, signal.SIGKILL)
        if self._parent:
            self._parent.kill()
            self._parent.communicate()


@contextmanager
def workload() -> Iterator[Workload]:
    """The processes, not yet started; none is left afterwards."""
    work = Workload()
    try:
        yield work
    finally:
        work.end()


def _is_stopped(tid: int) -> bool:
    return Path(f"/proc/{tid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "T"


def reconcile(frame: Frame, truth: dict[bytes, Truth]) -> list[Finding]:
    """Our counts beside the kernel's: all switches, the workload's switches, time slices and run delay, and losses."""
    findings = []
    if frame.kernel_switches is not None and "switches" not in frame.unavailable:
        ratio = SWITCHES_RATIO + EDGES_S / max(frame.duration_s, EDGES_S)
        findings.append(compare("switches", frame.total("switches"), frame.kernel_switches,
                                ratio, LEAST_SWITCHES))  # fmt: skip
    findings += _of_workload(frame, truth)
    if "latency" not in frame.unavailable:
        findings.append(_latency(frame))
    findings.append(_losses(frame))
    return findings


def _of_workload(frame: Frame, truth: dict[bytes, Truth]) -> list[Finding]:
    rows = [row for row in frame.tasks if row["comm"] in truth]
    if len(rows) < len(truth):
        found = f"{len(truth) - len(rows)} of the {len(truth)} tasks of the workload were not seen"
        return [Finding("workload", "missing", found, "trust in every table of tasks", advice=_REPORT)]

    def both(ours: str, kernels: str) -> tuple[int, int]:
        return sum(int(row[ours]) for row in rows), sum(getattr(one, kernels) for one in truth.values())

    ours, kernels = both("run_delay_ns", "run_delay_ns")
    findings = [
        compare("workload_voluntary", *both("voluntary_switches", "voluntary"), 0, LEAST_COUNT),
        compare("workload_forced", *both("involuntary_switches", "involuntary"), 0.01,
                LEAST_COUNT),
    ]  # fmt: skip
    if not any(one.timeslices for one in truth.values()):
        found = "the kernel keeps no run delay to compare with (CONFIG_SCHED_INFO)"
        return [*findings, Finding("workload_run_delay", "ok", found, details={"ours": ours, "kernel": None})]
    return [
        *findings,
        compare("workload_timeslices", *both("timeslices", "timeslices"), 0.01, LEAST_COUNT),
        _run_delay(ours, kernels, frame.loss.switches_unseen),
    ]


def _run_delay(ours: int, kernels: int, unseen: int) -> Finding:
    """Some guest kernels do not report each switch: the wait that ended with such a one is lost, and is said to be."""
    finding = compare("workload_run_delay", ours, kernels, DELAY_RATIO, LEAST_DELAY_NS)
    if finding.state == "ok" or ours > kernels or not unseen:
        return finding
    lost = f"waits that ended with one of {unseen:,} switches that this kernel did not report"
    return replace(finding, state="degraded", lost=lost, advice="")


def _latency(frame: Frame) -> Finding:
    """The waits in the histogram beside the switches away from tasks: a task that left a CPU had waited before."""
    switches = frame.total("voluntary_switches") + frame.total("involuntary_switches")
    waits = frame.latency.histogram(None).count
    # A switch that was not seen counts, but the wait that ended there is not known.
    least = LEAST_SWITCHES + frame.loss.switches_unseen
    return compare("waits", waits, switches, WAITS_RATIO, least, beside="switches of tasks")


def _losses(frame: Frame) -> Finding:
    counts = {field.name: int(getattr(frame.loss, field.name)) for field in fields(frame.loss)}
    lost = {name: count for name, count in counts.items() if count}
    words = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in lost.items())
    if not lost:
        return Finding("losses", "ok", "nothing was lost", details=counts)
    if set(lost) <= set(HARMLESS):
        return Finding("losses", "ok", f"{words}; every count is right", details=counts)
    if set(lost) <= {*HARMLESS, *POLLED}:
        return Finding("losses", "ok", f"{words}; what ends between two looks at /proc is never seen", details=counts)
    return Finding("losses", "degraded", words, "these, see docs/snapshot-host.md", details=counts)
