"""From the start of a program to its first data, with programs that were kept of an earlier start and without."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO

from schedtop.sources.kernel.cache_directory import DIRECTORY_VARIABLE
from tests.bench import loads, tools
from tests.bench.batches import Batches, alternating
from tests.bench.report import Goal, Options, Table, Topic, number, share
from tests.bench.terminal import shown
from tests.bench.tools import NotHere

INTERVAL_S = 1.0
SNAPSHOT_S = 0.1
HOGS_PER_CPU = 4
KEPT_GOAL_S, COMPILED_GOAL_S = 0.6, 1.5
OWN = ("schedtop, screen", "schedtop, snapshot")
_TIMEOUT_S = 120.0

Start = Callable[[], float]


def measure(options: Options) -> Topic:
    """Each start on the machine as it is, in turn; then schedtop's own beside four hogs per CPU."""
    own: dict[str, Start] = dict(zip(OWN, (screen, headless), strict=True))
    starts: dict[str, Start] = {
        "libbpf-tools runqlat": lambda: until_output([*tools.runqlat(), "1", "1"], INTERVAL_S),
        "bpftrace runqlat.bt (until it traces)": lambda: until_output(tools.bpftrace_runqlat(), 0, b"Tracing"),
        "bcc's Python runqlat": lambda: until_output([*tools.bcc_runqlat(), "1", "1"], INTERVAL_S),
    }
    reasons: dict[str, str] = {}
    rounds = 1 if options.quick else min(options.rounds, 5)
    compiled = _measure({name: partial(_with_nothing_kept, start) for name, start in own.items()}, rounds, reasons)
    with nothing_compiled():
        _measure(own, 1, reasons)  # so that all is kept
        kept = _measure({**own, **starts}, rounds, reasons)
    with nothing_compiled(), loads.hogs(HOGS_PER_CPU * (os.cpu_count() or 1)):
        time.sleep(1)
        saturated = _measure(own, 1 if options.quick else min(options.rounds, 3), reasons)
    return _topic(compiled, kept, saturated, reasons)


def _with_nothing_kept(start: Start) -> float:
    with nothing_compiled():
        return start()


@contextmanager
def nothing_compiled() -> Iterator[None]:
    """Compiled programs are kept in a directory that is empty at first."""
    before = os.environ.get(DIRECTORY_VARIABLE)
    with tempfile.TemporaryDirectory() as directory:
        os.environ[DIRECTORY_VARIABLE] = directory
        try:
            yield
        finally:
            del os.environ[DIRECTORY_VARIABLE]
            if before is not None:
                os.environ[DIRECTORY_VARIABLE] = before


def screen() -> float:
    """The dashboard: until a task that certainly runs is on the screen, the first interval included."""
    with loads.marker():
        begin = time.monotonic()
        command = tools.schedtop(sys.executable, "--interval", f"{INTERVAL_S}s", "--comm", loads.MARKER)
        with shown(command, marker=loads.MARKER.encode()) as terminal:
            if not terminal.painted.wait(_TIMEOUT_S):
                raise NotHere("it has drawn no data")
            return time.monotonic() - begin


def headless() -> float:
    """A snapshot: until its JSON begins, less the time that it was asked to take."""
    return until_output(tools.schedtop(sys.executable, "snapshot", "--duration", f"{SNAPSHOT_S}s"), SNAPSHOT_S, b"{")


def until_output(command: list[str], interval_s: float, marker: bytes = b"usecs") -> float:
    """Seconds from the start of a command until it writes `marker`, less the interval that it waited for."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as said, tools.ended(_start(command, said)) as process:
        assert process.stdout
        seen = b""
        while marker not in seen:
            data = process.stdout.read(4096)
            if not data:
                said.write(seen)  # libbcc explains itself on standard output
                raise NotHere(f"it ended without data: {tools.why_ended(said)}")
            seen += data
        return time.monotonic() - begin - interval_s


def _start(command: list[str], said: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, cwd=tools.ROOT, bufsize=0
    )


def _measure(starts: dict[str, Start], rounds: int, reasons: dict[str, str]) -> dict[str, Batches]:
    seconds = {name: Batches() for name in starts}
    for name in alternating(list(starts), rounds):
        if name not in reasons:
            try:
                seconds[name].add(starts[name]())
            except NotHere as reason:
                reasons[name] = str(reason)
    return seconds


def _topic(
    compiled: dict[str, Batches], kept: dict[str, Batches], saturated: dict[str, Batches], reasons: dict[str, str]
) -> Topic:
    busy_words = f"{HOGS_PER_CPU} hogs per CPU"
    table = Table(
        "From start to first data (s; without the interval that was asked for, the screen's first one included)",
        ("program", "best", "median", "nothing kept", "median", busy_words, "median"),
        notes=[f"{name}: {reason}" for name, reason in reasons.items()],
    )
    for name in kept:
        cells = [found.get(name, Batches()) for found in (kept, compiled, saturated)]
        table.rows.append((name, *(text for one in cells for text in (number(one.best, 2), share(one.spread_ratio)))))
    data = {
        "kept_s": {name: seconds.to_data() for name, seconds in kept.items()},
        "compiled_s": {name: seconds.to_data() for name, seconds in compiled.items()},
        "saturated_s": {name: seconds.to_data() for name, seconds in saturated.items()},
        "unavailable": reasons,
    }
    goals = [
        Goal(f"first data of {name}, {words}", found[name].median if name in found else None, most, "s")
        for words, found, most in (("kept programs", kept, KEPT_GOAL_S), ("nothing kept", compiled, COMPILED_GOAL_S))
        for name in OWN
    ]
    first = saturated[OWN[0]].values
    words = f"first data of the screen beside {busy_words}"
    return Topic(
        [table],
        data,
        [
            *goals,
            Goal(f"{words}, first start", first[0] if first else None, 5.0, "s"),
            Goal(f"{words}, later starts", max(first[1:]) if first[1:] else None, 2.0, "s"),
        ],
    )
