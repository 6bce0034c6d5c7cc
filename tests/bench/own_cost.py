"""The program's own CPU time and memory, as the kernel counts them for the whole process, over a minute in a terminal.

A frame drawn in a loop says little: once a second it is drawn with cold caches, at two to four times the cost.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
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
_SETTLE_S = 5.0
_SECONDS, _QUICK_SECONDS, _LOADED_SECONDS = 60.0, 10.0, 10.0


@dataclass(frozen=True, slots=True)
class Program:
    """What is measured: its command (which may raise NotHere), and the size of its terminal if it has a screen."""

    name: str
    words: str
    command: Callable[[], Sequence[str]]
    size: tuple[int, int] | None = None
    marker: bytes = b"LIVE"
    limit_percent: float | None = None
    quick: bool = False
    keys: str = ""
    """What is typed once it shows data."""


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

MOST_RSS_MIB = 70.0

_TO_A_MINUTE = "ww"
"""The windows are 1 s, 10 s and 60 s."""


def programs(directory: Path) -> list[Program]:
    """schedtop in its ways, and the tools it is compared with; `directory`: where a recording goes."""

    def ours(*arguments: str) -> Callable[[], Sequence[str]]:
        return lambda: tools.schedtop(sys.executable, *arguments)

    record = ours("record", "--force", "-o", str(directory / "recording.gz"))
    return [
        Program("screen", "dashboard, 160x48", ours(), (160, 48), limit_percent=1.2, quick=True),
        Program("small", "dashboard, 80x24", ours(), (80, 24), limit_percent=0.8, quick=True),
        Program("minute", "dashboard, 160x48, window 60 s", ours(), (160, 48), limit_percent=6.0, keys=_TO_A_MINUTE),
        Program("fast", "dashboard, 160x48, interval 0.2 s", ours("--interval", "0.2s"), (160, 48), limit_percent=6.0),
        Program("record", "record", record, limit_percent=0.4, quick=True),
        Program("metrics", "metrics", ours("metrics", "--listen", "127.0.0.1:0"), limit_percent=0.4),
        Program("snapshot", "snapshot", ours("snapshot", "--duration", "600s")),
        Program("htop", "htop -d 10", lambda: [tools.find("htop"), "-d", "10"], (160, 48), b"\x1b["),
        Program("btop", "btop, every 2 s", lambda: [tools.find("btop"), "--utf-force"], (160, 48), b"\x1b["),
        Program("runqlat", "libbpf-tools runqlat 1", lambda: [*tools.runqlat(), "1"]),
        Program("bcc_runqlat", "bcc's Python runqlat 1", lambda: [*tools.bcc_runqlat(), "1"]),
    ]


def measure(options: Options) -> Topic:
    """Starts each program, watches it for a while without and with load, and ends it."""
    seconds, rounds = (_QUICK_SECONDS, 1) if options.quick else (_SECONDS, min(options.rounds, 2))
    with tempfile.TemporaryDirectory() as directory:
        chosen = programs(Path(directory))
        costs: Costs = {(program.name, load): Cost() for program in chosen for load in LOADS}
        reasons = {one.name: "left out of a quick run" for one in chosen if options.quick and not one.quick}
        for program in alternating(chosen, rounds):
            if program.name not in reasons:
                try:
                    _measure_program(program, costs, seconds)
                except NotHere as reason:
                    reasons[program.name] = str(reason)
    return _topic(chosen, costs, reasons)


def _measure_program(program: Program, costs: Costs, seconds: float) -> None:
    with _started(program) as pid:
        time.sleep(_SETTLE_S)
        _watch(pid, costs[program.name, LOADS[0]], seconds)
        with loads.most_switches():
            time.sleep(1)
            _watch(pid, costs[program.name, LOADS[1]], min(seconds, _LOADED_SECONDS))


@contextmanager
def _started(program: Program) -> Iterator[int]:
    if program.size is None:
        with tools.running(program.command()) as process:
            yield process.pid
        return
    with shown(program.command(), program.size, program.marker) as terminal:
        if not terminal.painted.wait(tools.ATTACH_TIMEOUT_S):
            raise NotHere("it has drawn nothing")
        if program.keys:
            terminal.press(program.keys)
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


def _topic(chosen: Sequence[Program], costs: Costs, reasons: dict[str, str]) -> Topic:
    table = Table(
        "Own cost of the program (CPU time of the whole process, in % of one CPU)",
        ("program", "CPU", "CPU, hackbench", "switches/s", "resident MiB", "anonymous MiB", "anonymous, hackbench"),
        notes=[f"{program.words}: {reasons[program.name]}" for program in chosen if program.name in reasons],
    )
    for program in chosen:
        table.rows.append((program.words, *_cells(*(costs[program.name, load] for load in LOADS))))
    data: dict[str, Any] = {
        program.name: {load: costs[program.name, load].to_data() for load in LOADS}
        | {"unavailable": reasons.get(program.name)}
        for program in chosen
    }
    return Topic([table], data, _goals(chosen, costs))


def _cells(quiet: Cost, loaded: Cost) -> tuple[str, ...]:
    rate = max(loaded.switches_per_s, default=None)
    return (
        number(_percent(quiet), 2),
        number(_percent(loaded), 2),
        number(rate),
        number(quiet.rss_mib.best, 1),
        number(quiet.anonymous_mib.best, 1),
        number(loaded.anonymous_mib.best, 1),
    )


def _percent(cost: Cost) -> float | None:
    return None if cost.cpu_ratio.best is None else 100 * cost.cpu_ratio.best


def _goals(chosen: Sequence[Program], costs: Costs) -> list[Goal]:
    goals = [
        Goal(f"{program.words}, quiet", _percent(costs[program.name, LOADS[0]]), program.limit_percent, "% of one CPU")
        for program in chosen
        if program.limit_percent
    ]
    resident = costs["screen", LOADS[0]].rss_mib.best
    return [*goals, Goal("resident memory with the screen at 160x48", resident, MOST_RSS_MIB, "MiB")]
