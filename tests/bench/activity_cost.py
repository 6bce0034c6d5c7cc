"""What counting the activity of all tasks costs: a system call, a page fault, a packet; beside tools."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from schedtop.activity import PARTS
from schedtop.model.source import SourceError
from schedtop.sources.activity.source import LiveActivity
from tests.bench import tools
from tests.bench.batches import Batches, alternating, minus
from tests.bench.interrupts_cost import flood
from tests.bench.report import Goal, Options, Table, Topic, number, share
from tests.bench.tools import NotHere, find

CALLS, QUICK_CALLS = 1_500_000, 700_000
PAGES = 1 << 14
PACKETS, QUICK_PACKETS = 40_000, 15_000
BATCHES = 4
"""Of each load while something is attached."""

_TIMES = " ".join("x" * BATCHES)

MOST_CALL_NS = 120
MOST_SHARE = 1 / 3
"""Of what syscount -L adds to a call."""

Watch = Callable[[int], Iterator[None]]


@dataclass(frozen=True, slots=True)
class Situation:
    """What is open while a load runs; `part`: how many times fewer calls, because each takes so much longer."""

    words: str
    watch: Watch
    part: int = 1
    calls_only: bool = False


@dataclass(slots=True)
class Costs:
    """Nanoseconds for each system call (getppid), each page fault, each packet over loopback."""

    call: Batches = field(default_factory=Batches)
    fault: Batches = field(default_factory=Batches)
    packet: Batches = field(default_factory=Batches)


def measure(options: Options) -> Topic:
    """All situations in turn."""
    situations = [
        Situation("nothing", _nothing),
        Situation("schedtop activity, everything", lambda _pid: _activity(PARTS)),
        Situation("schedtop activity --only syscalls", lambda _pid: _activity(("syscalls",)), calls_only=True),
        Situation("schedtop activity --only network", lambda _pid: _activity(("network",))),
        Situation("... everything, by tracepoints", lambda _pid: _activity(PARTS, "tracepoint")),
        Situation("syscount -L", _syscount, calls_only=True),
        Situation("perf trace -s, of all", _perf_trace, 40, calls_only=True),
        Situation("strace -c, of this task", _strace, 400, calls_only=True),
    ]
    costs = {situation.words: Costs() for situation in situations}
    missing: dict[str, str] = {}
    for situation in alternating(situations, options.rounds):
        if situation.words not in missing:
            try:
                _measure(situation, costs[situation.words], options)
            except NotHere as reason:
                missing[situation.words] = f"{situation.words}: {reason}"
    return _topic(situations, costs, list(missing.values()))


def _measure(situation: Situation, cost: Costs, options: Options) -> None:
    calls = (QUICK_CALLS if options.quick else CALLS) // situation.part
    for ns in _calls(situation, calls):
        cost.call.add(ns)
    if situation.calls_only:
        return
    with contextmanager(situation.watch)(os.getpid()):
        for _ in range(BATCHES):
            cost.fault.add(_faults())
            cost.packet.add(flood(QUICK_PACKETS if options.quick else PACKETS))


def _calls(situation: Situation, calls: int) -> list[float]:
    """Nanoseconds a call takes, as the load says, some times over: attaching takes longer than the load."""
    cpu = str(max(os.sched_getaffinity(0)))
    load = [find("perf"), "bench", "syscall", "basic", "--loop", str(calls)]
    process = subprocess.Popen(
        ["taskset", "-c", cpu, "sh", "-c", f'read go; for _ in {_TIMES}; do "$@"; done', "sh", *load],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    try:
        time.sleep(0.05)
        with contextmanager(situation.watch)(process.pid):
            output, _ = process.communicate("\n", timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    found = re.findall(r"Total time: ([\d.]+)", output)
    if not found:
        raise NotHere("perf bench syscall says nothing")
    return [float(seconds) * 1e9 / calls for seconds in found]


def _faults() -> float:
    """Nanoseconds a page takes that is touched for the first time."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        with mmap.mmap(-1, PAGES * mmap.PAGESIZE) as area:
            area.madvise(mmap.MADV_NOHUGEPAGE)
            address = ctypes.addressof(ctypes.c_char.from_buffer(area))
            began = time.perf_counter_ns()
            ctypes.memset(address, 1, PAGES * mmap.PAGESIZE)
            return (time.perf_counter_ns() - began) / PAGES
    finally:
        os.sched_setaffinity(0, allowed)


def _nothing(_pid: int) -> Iterator[None]:
    yield


def _activity(only: tuple[str, ...], source: str = "btf") -> Iterator[None]:
    try:
        with LiveActivity(only=only, source=source):
            yield
    except SourceError as error:
        raise NotHere(str(error)) from error


def _syscount(_pid: int) -> Iterator[None]:
    with tools.running([find("syscount-bpfcc", "syscount", "bpf-syscount"), "-L"]):
        yield


def _perf_trace(_pid: int) -> Iterator[None]:
    # With -p it does not follow the children, which are the load.
    with tempfile.TemporaryDirectory() as directory:
        command = [find("perf"), "trace", "-s", "-o", f"{directory}/summary", "-a"]
        yield from _until_it_ends(command)


def _strace(pid: int) -> Iterator[None]:
    yield from _until_it_ends([find("strace"), "-qq", "-c", "-f", "-o", os.devnull, "-p", str(pid)])


def _until_it_ends(command: list[str]) -> Iterator[None]:
    tracer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        if tracer.poll() is not None:
            raise NotHere(f"{os.path.basename(command[0])} {command[1]} does not start")
        yield
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait(10)


def _topic(situations: list[Situation], costs: dict[str, Costs], missing: list[str]) -> Topic:
    columns = ("what counts", "call, best", "median", "cost", "factor", "fault, best", "cost", "packet, best", "cost")
    table = Table("Counting what tasks do (ns): getppid, a page fault, a packet over loopback", columns, notes=missing)
    base = costs[situations[0].words]
    for situation in situations:
        cost = costs[situation.words]
        factor = cost.call.best / base.call.best if cost.call.best and base.call.best else None
        cells = [number(cost.call.best), share(cost.call.spread_ratio), number(minus(cost.call.best, base.call.best))]
        cells.append("-" if factor is None else f"{factor:.1f}")
        for mine, before in ((cost.fault, base.fault), (cost.packet, base.packet)):
            cells += [number(mine.best), number(minus(mine.best, before.best))]
        table.rows.append((situation.words, *cells))
    added = {words: minus(cost.call.best, base.call.best) for words, cost in costs.items()}
    own, theirs = added[situations[1].words], added["syscount -L"]
    goals = [Goal("activity: a system call, everything on", own, MOST_CALL_NS, "ns")]
    part = own / theirs if own is not None and theirs else None
    goals.append(Goal("activity: a call, as a part of syscount -L's", part, MOST_SHARE, ""))
    data = {
        words: {name: getattr(cost, name).to_data() for name in ("call", "fault", "packet")}
        for words, cost in costs.items()
    }
    return Topic([table], data, goals)
