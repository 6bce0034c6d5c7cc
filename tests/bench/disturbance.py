"""How late others get: a timer task of 1 kHz on each CPU, beside schedtop and the tools that it replaces.

The timers are cyclictest's, of the fair class like an ordinary program's. What a watcher adds to their lateness is what
it costs the host in latency, whatever CPU time it takes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench import loads, tools
from tests.bench.batches import alternating
from tests.bench.report import Goal, Options, Table, Topic
from tests.bench.terminal import shown
from tests.bench.tools import NotHere

LARGEST_US = 500_000
"""Histograms go up to here; what is later has the bucket of the latest."""

SETTLE_S = 3.0
"""From the first data of a watcher to the first timer: its start is not what is measured."""

QUANTILES = (0.5, 0.99, 0.999)

SHARE_OF_PEER, FLOOR_MS, ABOVE_NOTHING_MS = 1.5, 2.0, 4.0
"""The goals: p99.9 against btop's, or at least so much; the worst above that beside nothing."""

Size = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Watcher:
    """What runs beside the timers: a command (which may raise NotHere), and the size of its terminal if it has one."""

    name: str
    command: Callable[[], Sequence[str]] | None
    size: Size | None = None
    marker: bytes = b""
    """What the terminal shows once it has data; empty: whatever comes first."""


@dataclass(slots=True)
class Lateness:
    """How often a timer was how late, in microseconds, of all CPUs and rounds; and the worst of each round."""

    counts: Counter[int] = field(default_factory=Counter)
    worst_us: list[int] = field(default_factory=list)

    def add(self, counts: Counter[int]) -> None:
        """Adds a round."""
        self.counts.update(counts)
        self.worst_us.append(max(counts))

    def quantile_ms(self, share: float) -> float | None:
        """The smallest lateness that this share of the timers did not exceed."""
        wanted, seen = share * self.counts.total(), 0
        for late_us in sorted(self.counts):
            seen += self.counts[late_us]
            if seen >= wanted:
                return late_us / 1000
        return None

    @property
    def worst_ms(self) -> float | None:
        """The worst of all."""
        return max(self.worst_us) / 1000 if self.worst_us else None

    def figures(self) -> tuple[float | None, ...]:
        """QUANTILES and the worst."""
        return (*map(self.quantile_ms, QUANTILES), self.worst_ms)

    def to_data(self) -> dict[str, Any]:
        """All of it for the JSON file."""
        names = ("p50_ms", "p99_ms", "p999_ms", "worst_ms")
        return dict(zip(names, self.figures(), strict=True)) | {"worst_us_by_round": self.worst_us}


def watchers(directory: Path) -> list[Watcher]:
    """schedtop in all its ways, and the tools that it is compared with; `directory`: where recordings go."""

    def ours(*arguments: str) -> Callable[[], Sequence[str]]:
        return lambda: tools.schedtop(sys.executable, *arguments)

    dashboards = [
        Watcher(f"dashboard {columns}x{lines}", ours(), (columns, lines), b"LIVE")
        for columns, lines in ((80, 24), (120, 40), (160, 48))
    ]
    return [
        Watcher("nothing", None),
        *dashboards,
        Watcher("record", ours("record", "--force", "-o", str(directory / "recording.gz"))),
        Watcher("metrics", ours("metrics", "--listen", "127.0.0.1:0")),
        Watcher("watch", ours("watch", "--on", "p99 > 10s")),
        Watcher("snapshot", ours("snapshot", "--duration", "600s")),
        Watcher("offcpu", ours("offcpu", "--duration", "600s")),
        Watcher("task", ours("task", "--duration", "600s", str(os.getpid()))),
        Watcher("htop -d 10", lambda: [tools.find("htop"), "-d", "10"], (160, 48)),
        Watcher("btop", lambda: [tools.find("btop"), "--utf-force"], (160, 48)),
        Watcher("runqlat 1", lambda: [*tools.runqlat(), "1"]),
    ]


QUICK = ("nothing", "dashboard 160x48", "btop")

LOADS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "quiet": nullcontext,
    "taskset -c 1 stress -c 2": lambda: loads.group(["taskset", "-c", "1", tools.find("stress"), "-c", "2"]),
    "two loops a CPU": lambda: loads.hogs(2 * (os.cpu_count() or 1)),
}


def measure(options: Options) -> Topic:
    """Lets the timers run beside each watcher, in turn, under each load."""
    seconds, rounds = (5.0, 1) if options.quick else (10.0, min(options.rounds, 3))
    reasons: dict[str, str] = {}
    lateness: dict[str, dict[str, Lateness]] = {}
    with tempfile.TemporaryDirectory() as directory:
        found = [one for one in watchers(Path(directory)) if not options.quick or one.name in QUICK]
        for load, make in LOADS.items():
            lateness[load] = {one.name: Lateness() for one in found}
            for watcher in alternating(found, rounds):
                try:
                    with beside(watcher), make():
                        lateness[load][watcher.name].add(timers(seconds))
                except NotHere as reason:
                    reasons[watcher.name] = str(reason)
    return Topic(
        [_table(load, rows, reasons) for load, rows in lateness.items()],
        {load: {name: row.to_data() for name, row in rows.items()} for load, rows in lateness.items()},
        [goal for load, rows in lateness.items() for goal in _goals(load, rows)],
    )


@contextmanager
def beside(watcher: Watcher) -> Iterator[int]:
    """The watcher while it runs and after it has settled; gives its pid, 0 for nothing. Raises NotHere."""
    if watcher.command is None:
        yield 0
        return
    with ExitStack() as stack:
        if watcher.size is None:
            process = stack.enter_context(tools.running(watcher.command()))
        else:
            # Terminal control begins whatever is drawn.
            terminal = stack.enter_context(shown(watcher.command(), watcher.size, watcher.marker or b"\x1b["))
            process = terminal.process
            if not terminal.painted.wait(tools.ATTACH_TIMEOUT_S):
                raise NotHere("it has drawn nothing")
        time.sleep(SETTLE_S)
        yield process.pid
        if process.poll() is not None:
            raise NotHere(f"it ended by itself, with status {process.returncode}")


def timers(seconds: float) -> Counter[int]:
    """How often a timer was how late, in microseconds: one a CPU, every millisecond, ordinary tasks. Raises NotHere."""
    with tempfile.NamedTemporaryFile(suffix=".json") as result:
        words = f"--policy=other -S -i 1000 -q -h {LARGEST_US} --default-system --json={result.name}".split()
        command = [tools.find("cyclictest"), *words, "-D", f"{seconds:.0f}s"]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if done.returncode:
            raise NotHere(f"cyclictest: {done.stderr.decode(errors='replace').strip()[-100:]}")
        threads = json.load(result)["thread"].values()
    counts: Counter[int] = Counter()
    for thread in threads:
        counts.update({int(late_us): count for late_us, count in thread["histogram"].items()})
        missing = thread["cycles"] - sum(thread["histogram"].values())
        if missing > 0:
            counts[thread["max"]] += missing
    return counts


def _table(load: str, rows: dict[str, Lateness], reasons: dict[str, str]) -> Table:
    table = Table(
        f"Lateness of a timer of 1 kHz on each CPU, {load} (ms)",
        ("beside", "p50", "p99", "p99.9", "worst", "worst of each round"),
        notes=[f"{name}: {why}" for name, why in reasons.items()],
    )
    for name, row in rows.items():
        cells = ("-" if value is None else f"{value:.2f}" for value in row.figures())
        table.rows.append((name, *cells, " ".join(f"{value / 1000:.1f}" for value in row.worst_us)))
    return table


def _goals(load: str, rows: dict[str, Lateness]) -> list[Goal]:
    """Those of the dashboards and of what runs without a screen for long."""
    peer, nothing = rows["btop"].quantile_ms(0.999), rows["nothing"].worst_ms
    if peer is None or nothing is None:
        return []
    goals = []
    for name, row in rows.items():
        if name.startswith("dashboard") or name in ("record", "metrics", "watch", "snapshot"):
            most = max(FLOOR_MS, SHARE_OF_PEER * peer)
            goals.append(Goal(f"{load}: p99.9 beside {name}", row.quantile_ms(0.999), most, "ms"))
            goals.append(Goal(f"{load}: worst beside {name}", row.worst_ms, nothing + ABOVE_NOTHING_MS, "ms"))
    return goals
