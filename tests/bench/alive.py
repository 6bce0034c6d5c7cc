"""Whether schedtop is alive when the host is on fire: from its start to first data, keys, and how it quits.

The dashboard in a pseudo terminal and `schedtop snapshot` are started beside four loads that leave no CPU: four busy
loops a CPU, hackbench, eighty busy tasks a CPU, and a storm of processes that make a session each. Each load is in a
session of its own, so that where the kernel groups by session it is another group than schedtop.

    python -m tests.bench.alive [--load loops|hackbench|tasks|storm] [--rounds N] [--later] [--before "nice -n 5"]
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench import tools
from tests.bench.key_latency import KEYS, LIVE, Typed, first_of_all, percentile, typed
from tests.bench.report import Goal, Options, Table, Topic, number
from tests.bench.tools import NotHere

FIRST_GOAL_S, KEYS_GOAL_MS, QUIT_GOAL_S = 3.0, 150.0, 1.0

SNAPSHOT_S = 1.0
_LOAD_S, _WARM_S, _FIRST_TIMEOUT_S = 60, 2.0, 25.0
_PAUSE_S = 0.15
_MARK = "SCHEDTOP_BENCH_LOAD"


def _cpus() -> int:
    return len(os.sched_getaffinity(0))


def _loops(count: int) -> list[str]:
    return ["sh", "-c", f"for one in $(seq {count}); do (while :; do :; done) & done; wait"]


LOADS: dict[str, tuple[str, Callable[[], list[str]]]] = {
    "loops": ("four busy loops a CPU", lambda: _loops(4 * _cpus())),
    "hackbench": ("hackbench -g 4", lambda: ["sh", "-c", f"while :; do {tools.find('hackbench')} -g 4 -l 1000; done"]),
    "tasks": ("eighty busy tasks a CPU", lambda: _loops(80 * _cpus())),
    "storm": ("stress-ng --fork 2 --switch 2", lambda: [tools.find("stress-ng"), "--fork", "2", "--switch", "2"]),
}
"""Words, and the command."""


@dataclass(slots=True)
class Found:
    """What was measured beside one load."""

    first_s: list[float] = field(default_factory=list)
    keys_ms: list[float] = field(default_factory=list)
    quit_s: list[float] = field(default_factory=list)
    snapshot_s: list[float] = field(default_factory=list)


@contextmanager
def alone(command: Sequence[str], limit_s: float = _LOAD_S) -> Iterator[None]:
    """The command in a session of its own; it and all that it started, in whatever session, are ended."""
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        ["timeout", "--kill-after=1", str(limit_s), *command],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, env=os.environ | {_MARK: mark},
    )  # fmt: skip
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        while _kill_marked(f"{_MARK}={mark}".encode()):
            time.sleep(0.05)


def _kill_marked(mark: bytes) -> int:
    """Kills what has the mark in its environment; how many there were."""
    killed = 0
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (directory / "environ").read_bytes():
                os.kill(int(directory.name), signal.SIGKILL)
                killed += 1
    return killed


def screen(command: Sequence[str], found: Found) -> None:
    """Starts the dashboard, presses all keys, quits."""
    with first_of_all(), typed(command) as dashboard:
        found.first_s.append(dashboard.press(b"", LIVE, _FIRST_TIMEOUT_S) / 1e3)
        _use(dashboard, found)


def screen_before(command: Sequence[str], load: Sequence[str], found: Found) -> None:
    """The same with a load that begins after the dashboard."""
    with first_of_all(), typed(command) as dashboard:
        found.first_s.append(dashboard.press(b"", LIVE, _FIRST_TIMEOUT_S) / 1e3)
        with alone(load):
            dashboard.drain(_WARM_S)
            _use(dashboard, found)


def _use(dashboard: Typed, found: Found) -> None:
    for _, data, shown in KEYS:
        dashboard.drain(_PAUSE_S)
        found.keys_ms.append(dashboard.press(data, shown))
    found.quit_s.append(dashboard.ended_by(b"q"))


def headless(command: Sequence[str], found: Found) -> None:
    """A snapshot, until all of it is there; without the time that it collects."""
    with first_of_all():
        begin = time.monotonic()
        try:
            subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, check=True, cwd=tools.ROOT,
                timeout=_FIRST_TIMEOUT_S, start_new_session=True,
            )  # fmt: skip
        except subprocess.SubprocessError as error:
            raise NotHere(f"the snapshot failed: {error}") from error
        found.snapshot_s.append(time.monotonic() - begin - SNAPSHOT_S)


def beside(
    name: str, rounds: int, before: Sequence[str] = (), options: Sequence[str] = (), *, later: bool = False
) -> tuple[Found, list[str]]:
    """One load; `before`: words in front of both commands, `options`: behind them.

    `later`: the load begins after the dashboard, and there is no snapshot.
    """
    found, reasons = Found(), []
    words, command = LOADS[name]
    dashboard = [*before, *tools.schedtop(sys.executable, *options)]
    snapshot = [*before, *tools.schedtop(sys.executable, "snapshot", "--duration", f"{SNAPSHOT_S}s", *options)]
    try:
        load = command()
    except NotHere as reason:
        return found, [f"{words}: {reason}"]
    for _ in range(rounds):
        if later:
            try:
                screen_before(dashboard, load, found)
            except NotHere as reason:
                reasons.append(f"{words}: {reason}")
            continue
        with alone(load):
            time.sleep(_WARM_S)
            for part, started in ((screen, dashboard), (headless, snapshot)):
                try:
                    part(started, found)
                except NotHere as reason:
                    reasons.append(f"{words}: {reason}")
    return found, reasons


def measure(options: Options) -> Topic:
    """Each load in turn."""
    rounds = 1 if options.quick else min(options.rounds, 3)
    results = {name: beside(name, rounds) for name in LOADS}
    reasons = [reason for _, said in results.values() for reason in said]
    return topic({name: found for name, (found, _) in results.items()}, reasons)


def topic(results: dict[str, Found], reasons: list[str]) -> Topic:
    """The worst of all rounds; keys by percentiles of all of them."""
    table = Table(
        "On a host on fire: start to first data, keys, quit; snapshot without its second (worst of all rounds)",
        ("load", "first data (s)", "keys: median (ms)", "95 %", "quit (s)", "snapshot (s)"),
        notes=reasons,
    )
    goals, data = [], {}
    for name, found in results.items():
        words = LOADS[name][0]
        first, quits, snapshot = (max(times, default=None) for times in (found.first_s, found.quit_s, found.snapshot_s))
        middle, most = (percentile(found.keys_ms, part) if found.keys_ms else None for part in (0.5, 0.95))
        table.rows.append(
            (words, number(first, 2), number(middle), number(most), number(quits, 2), number(snapshot, 2))
        )
        goals += [
            Goal(f"first data of the dashboard, {words}", first, FIRST_GOAL_S, "s"),
            Goal(f"95 % of keys drawn, {words}", most, KEYS_GOAL_MS, "ms"),
            Goal(f"quit, {words}", quits, QUIT_GOAL_S, "s"),
            Goal(f"data of a snapshot, {words}", snapshot, FIRST_GOAL_S, "s"),
        ]
        data[words] = {
            "first_s": found.first_s,
            "keys_ms": found.keys_ms,
            "quit_s": found.quit_s,
            "snapshot_s": found.snapshot_s,
        }
    return Topic([table], data, goals)


def main() -> None:
    """One load, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", choices=list(LOADS), action="append")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--before", type=shlex.split, default=[], help="words in front of the command")
    parser.add_argument("--options", type=shlex.split, default=[], help="options of schedtop")
    parser.add_argument("--later", action="store_true", help="the load begins after the dashboard; no snapshot")
    options = parser.parse_args()
    results, reasons = {}, []
    for name in options.load or LOADS:
        results[name], said = beside(name, options.rounds, options.before, options.options, later=options.later)
        reasons += said
    print(topic(results, reasons).tables[0])


if __name__ == "__main__":
    main()
