"""The program's own CPU time and memory: with and without a screen, idle and at the highest switch rate."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench import loads, noise, tools
from tests.bench.batches import Batches, alternating
from tests.bench.report import Goal, Options, Table, Topic, number
from tests.bench.terminal import shown
from tests.bench.tools import NotHere

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_SETTLE_S = 1.5
_QUICK_PROGRAMS = 4

# The command line goes down to 0.2 s; ten times a second is the same program under a shorter interval.
_TEN_HERTZ_SCREEN = """
from schedtop.sources.scheduler.source import LiveSource
from schedtop.ui.app import run
with LiveSource(100_000_000, 5_000_000) as source:
    raise SystemExit(run(source))
"""
_TEN_HERTZ_HEADLESS = """
import threading
from schedtop.sources.scheduler.source import LiveSource
total = None
with LiveSource(100_000_000, 5_000_000) as source:
    for frame in source.frames(threading.Event()):
        total = total + frame if total else frame
"""


@dataclass(frozen=True, slots=True)
class Program:
    """What is measured: its command (which may raise NotHere), and whether it has a screen."""

    name: str
    words: str
    command: Callable[[], Sequence[str]]
    screen: bool = False


@dataclass(slots=True)
class Cost:
    """CPU time as a share of one CPU, memory in MiB, and how fast the machine switched meanwhile."""

    cpu_ratio: Batches = field(default_factory=Batches)
    rss_mib: Batches = field(default_factory=Batches)
    anonymous_mib: Batches = field(default_factory=Batches)
    switches_per_s: list[float] = field(default_factory=list)

    def to_data(self) -> dict[str, Any]:
        """All of it for the JSON file."""
        figures = ("cpu_ratio", "rss_mib", "anonymous_mib")
        data: dict[str, Any] = {name: getattr(self, name).to_data() for name in figures}
        return data | {"switches_per_s": [round(rate) for rate in self.switches_per_s]}


Costs = dict[tuple[str, str], Cost]
"""By program and load."""

LOADS = ("as it is", "hackbench")


def programs() -> list[Program]:
    """schedtop in four ways, and the tools it is compared with."""
    python = sys.executable
    return [
        Program("screen_1hz", "screen, 1 Hz", lambda: tools.schedtop(python, "--interval", "1s"), True),
        Program("screen_10hz", "screen, 10 Hz", lambda: [python, "-c", _TEN_HERTZ_SCREEN], True),
        Program("headless_1hz", "headless, 1 Hz", lambda: tools.schedtop(python, "snapshot", "--duration", "600s")),
        Program("headless_10hz", "headless, 10 Hz", lambda: [python, "-c", _TEN_HERTZ_HEADLESS]),
        Program("runqlat", "libbpf-tools runqlat 1", lambda: [*tools.runqlat(), "1"]),
        Program("bpftrace", "bpftrace runqlat.bt", tools.bpftrace_runqlat),
        Program("bcc_runqlat", "bcc's Python runqlat 1", lambda: [*tools.bcc_runqlat(), "1"]),
    ]


def measure(options: Options) -> Topic:
    """Starts each program, watches it for a while without and with load, and ends it."""
    costs: Costs = {(program.name, load): Cost() for program in programs() for load in LOADS}
    left_out = programs()[_QUICK_PROGRAMS:] if options.quick else []
    reasons = {program.name: "left out of a quick run" for program in left_out}
    seconds, rounds = (2.0, 1) if options.quick else (5.0, min(options.rounds, 2))
    for program in alternating(programs(), rounds):
        if program.name not in reasons:
            try:
                _measure_program(program, costs, seconds)
            except NotHere as reason:
                reasons[program.name] = str(reason)
    return _topic(costs, reasons)


def _measure_program(program: Program, costs: Costs, seconds: float) -> None:
    with _started(program) as pid:
        time.sleep(_SETTLE_S)
        _watch(pid, costs[program.name, LOADS[0]], seconds)
        with loads.most_switches():
            time.sleep(_SETTLE_S / 2)
            _watch(pid, costs[program.name, LOADS[1]], seconds)


@contextmanager
def _started(program: Program) -> Iterator[int]:
    if not program.screen:
        with tools.running(program.command()) as process:
            yield process.pid
        return
    with shown(program.command()) as terminal:
        tools.wait_attached(terminal.process)
        if not terminal.painted.wait(tools.ATTACH_TIMEOUT_S):
            raise NotHere("it has drawn nothing")
        yield terminal.process.pid


def _watch(pid: int, cost: Cost, seconds: float) -> None:
    begin, cpu_s, switches = time.monotonic(), cpu_time_s(pid), noise.switches()
    time.sleep(seconds)
    duration = time.monotonic() - begin
    cost.cpu_ratio.add((cpu_time_s(pid) - cpu_s) / duration)
    cost.switches_per_s.append((noise.switches() - switches) / duration)
    memory = memory_mib(pid)
    cost.rss_mib.add(memory["VmRSS"])
    cost.anonymous_mib.add(memory["RssAnon"])


def cpu_time_s(pid: int) -> float:
    """User and system time of a process, in steps of a tick (/proc/<pid>/stat). Raises NotHere if it has ended."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, subprocess.SubprocessError) as error:
        raise NotHere("it ended while it was watched") from error
    return (int(after_name[11]) + int(after_name[12])) * _TICK_S


def memory_mib(pid: int) -> dict[str, float]:
    """The fields of /proc/<pid>/status that are sizes. Raises NotHere if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError as error:
        raise NotHere("it ended while it was watched") from error
    return {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines if line.endswith(" kB")}


def _topic(costs: Costs, reasons: dict[str, str]) -> Topic:
    table = Table(
        "Own cost of the program (CPU in % of one CPU)",
        ("program", "CPU", "CPU, hackbench", "switches/s", "resident MiB", "anonymous MiB", "anonymous, hackbench"),
        notes=["10 Hz is below what the command line allows (0.2 s): the same program is run with 0.1 s"],
    )
    for program in programs():
        quiet, loaded = (costs[program.name, load] for load in LOADS)
        table.rows.append((program.words, *_cells(quiet, loaded)))
        if program.name in reasons:
            table.notes.append(f"{program.words}: {reasons[program.name]}")
    data: dict[str, Any] = {
        program.name: {load: costs[program.name, load].to_data() for load in LOADS}
        | {"unavailable": reasons.get(program.name)}
        for program in programs()
    }
    return Topic([table], data, _goals(costs))


def _cells(quiet: Cost, loaded: Cost) -> tuple[str, ...]:
    rate = max(loaded.switches_per_s, default=None)
    return (
        number(_percent(quiet), 1),
        number(_percent(loaded), 1),
        number(rate),
        number(quiet.rss_mib.best, 1),
        number(quiet.anonymous_mib.best, 1),
        number(loaded.anonymous_mib.best, 1),
    )


def _percent(cost: Cost) -> float | None:
    return None if cost.cpu_ratio.best is None else 100 * cost.cpu_ratio.best


def _goals(costs: Costs) -> list[Goal]:
    screen, bcc = costs["screen_1hz", LOADS[0]], costs["bcc_runqlat", LOADS[0]].rss_mib.best
    limit = None if bcc is None else bcc + 60
    return [
        Goal("screen at 1 Hz on a quiet machine", _percent(screen), 2.0, "% of one CPU"),
        Goal("anonymous memory with the screen (soon after the start)", screen.anonymous_mib.best, 80.0, "MiB"),
        Goal("resident memory with the screen against bcc's runqlat + 60 MiB", screen.rss_mib.best, limit, "MiB"),
    ]
