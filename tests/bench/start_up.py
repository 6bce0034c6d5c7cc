"""Time from start to first data, without the first interval that every tool has to wait for."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from schedtop.sources.kernel.program_cache import DIRECTORY_VARIABLE
from tests.bench import loads, tools
from tests.bench.batches import Batches, alternating
from tests.bench.report import Goal, Options, Table, Topic, number, share
from tests.bench.terminal import shown
from tests.bench.tools import NotHere

INTERVAL_S = 1.0
FIRST_S = 0.25
"""The dashboard's first interval is shorter: schedtop/run/opening.py."""
HOGS_PER_CPU = 4
_TIMEOUT_S = 120.0

Start = Callable[[], float]


def measure(options: Options) -> Topic:
    """Each start on the machine as it is, in turn; then schedtop's own beside four hogs per CPU."""
    starts: dict[str, Start] = {
        "schedtop, screen": screen,
        "schedtop, headless": headless,
        "libbpf-tools runqlat": lambda: until_output([*tools.runqlat(), "1", "1"], INTERVAL_S),
        "bpftrace runqlat.bt (until it traces)": lambda: until_output(tools.bpftrace_runqlat(), 0, b"Tracing"),
        "bcc's Python runqlat": lambda: until_output([*tools.bcc_runqlat(), "1", "1"], INTERVAL_S),
    }
    reasons: dict[str, str] = {}
    with nothing_compiled():
        quiet = _measure(starts, 1 if options.quick else min(options.rounds, 5), reasons)
    with nothing_compiled(), loads.hogs(HOGS_PER_CPU * (os.cpu_count() or 1)):
        time.sleep(1)
        own = {name: start for name, start in starts.items() if name.startswith("schedtop")}
        saturated = _measure(own, 1 if options.quick else min(options.rounds, 3), reasons)
    return _topic(quiet, saturated, reasons)


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
    """The dashboard: until a task that certainly runs is on the screen."""
    with loads.marker():
        begin = time.monotonic()
        command = tools.schedtop(sys.executable, "--interval", f"{INTERVAL_S}s", "--comm", loads.MARKER)
        with shown(command, marker=loads.MARKER.encode()) as terminal:
            if not terminal.painted.wait(_TIMEOUT_S):
                raise NotHere("it has drawn no data")
            return time.monotonic() - begin - FIRST_S


def headless() -> float:
    """A snapshot: until its JSON begins."""
    return until_output(tools.schedtop(sys.executable, "snapshot", "--duration", f"{INTERVAL_S}s"), INTERVAL_S, b"{")


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


def _topic(quiet: dict[str, Batches], saturated: dict[str, Batches], reasons: dict[str, str]) -> Topic:
    table = Table(
        f"From start to first data (s, less the interval of {INTERVAL_S:.0f} s)",
        ("program", "best", "median", f"{HOGS_PER_CPU} hogs per CPU", "median"),
        notes=[f"{name}: {reason}" for name, reason in reasons.items()],
    )
    for name, seconds in quiet.items():
        busy = saturated.get(name, Batches())
        cells = (number(seconds.best, 2), share(seconds.spread_ratio), number(busy.best, 2), share(busy.spread_ratio))
        table.rows.append((name, *cells))
    first = saturated["schedtop, screen"].values
    data = {
        "quiet_s": {name: seconds.to_data() for name, seconds in quiet.items()},
        "saturated_s": {name: seconds.to_data() for name, seconds in saturated.items()},
        "unavailable": reasons,
    }
    words = f"first data of the screen beside {HOGS_PER_CPU} hogs per CPU"
    return Topic(
        [table],
        data,
        [
            Goal(f"{words}, first start", first[0] + FIRST_S if first else None, 5.0, "s, interval included"),
            Goal(
                f"{words}, later starts",
                max(first[1:]) + FIRST_S if first[1:] else None,
                2.0,
                "s, interval included",
            ),
        ],
    )
