"""From a key to the screen: the time until the first byte of what the key changes has arrived.

The dashboard runs in a pseudo terminal, on the live kernel under loads, and over a made-up host of 1,024 CPUs. Keys
come at random moments. Beside each one a program of three lines, of the same priority and under the same load, echoes a
byte: what the machine itself takes, which on a virtual machine may be many milliseconds.

    python -m tests.bench.key_latency [--load quiet|stress|hackbench|forks|large] [--rounds N]
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import random
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field

from tests.bench import loads, tools
from tests.bench.report import Goal, Options, Table, Topic, number
from tests.bench.tools import NotHere

GOAL_MS = 50.0
ROUNDS, QUICK_ROUNDS = 8, 3
"""How often all KEYS are pressed for each load."""

PRIORITY = 1
"""Real-time priority of the echo."""

_SIZE = (160, 50)
_TIMEOUT_S = 5.0
_FIRST_TIMEOUT_S = 60.0
_PAUSES_S = (0.03, 0.25)
_ECHO = "import os, tty\ntty.setraw(0)\nos.write(1, b'ready')\nwhile True: os.write(1, os.read(0, 1))"

_BODY = re.compile(rb"\x1b\[(?:[5-9]|[1-9]\d+);\d+H")
"""Something is drawn below the header: of a frozen screen only a key does that."""


WINDOW = re.compile(rb"\x1b\[3;1[89]H")
"""The first or second character of `1 s`, `10 s`, `60 s` in the header: only what changes is sent."""

LIVE, _FROZEN = re.compile(rb"LIVE"), re.compile(rb"FROZEN")

KEYS: tuple[tuple[str, bytes, re.Pattern[bytes]], ...] = (
    ("w", b"w", WINDOW),
    ("w", b"w", WINDOW),
    ("w", b"w", WINDOW),
    ("space", b" ", _FROZEN),
    ("down", b"\x1b[B", _BODY),
    ("down", b"\x1b[B", _BODY),
    ("s", b"s", _BODY),
    ("5", b"5", _BODY),
    ("2", b"2", _BODY),
    ("1", b"1", _BODY),
    ("z", b"z", _BODY),
    ("z", b"z", _BODY),
    ("space", b" ", LIVE),
)
"""Name, bytes, and what shows that the key has been drawn. After all of them the screen is as before."""


@dataclass(slots=True)
class Latencies:
    """Milliseconds of one load: by key, and of the echo beside them."""

    keys: list[tuple[str, float]] = field(default_factory=list)
    echo_ms: list[float] = field(default_factory=list)

    @property
    def keys_ms(self) -> list[float]:
        """Of all keys."""
        return [value for _key, value in self.keys]


class Typed:
    """A program in a pseudo terminal; who types reads the answer in the same thread, which nothing keeps waiting."""

    def __init__(self, command: Sequence[str], first: bool = False) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", _SIZE[1], _SIZE[0], 0, 0))
        environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        environment.pop("NO_COLOR", None)
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True, cwd=tools.ROOT
        )
        if first and not os.geteuid():
            os.sched_setscheduler(self.process.pid, os.SCHED_RR, os.sched_param(PRIORITY))
        os.close(slave)

    def press(self, data: bytes, shown: re.Pattern[bytes], timeout_s: float = _TIMEOUT_S) -> float:
        """Types and gives the milliseconds until `shown` has arrived. Raises NotHere."""
        begin = time.monotonic()
        if data:
            os.write(self._master, data)
        tail = b""
        while (rest := begin + timeout_s - time.monotonic()) > 0:
            tail = tail[-100:] + self._read(rest)
            if shown.search(tail):
                return (time.monotonic() - begin) * 1e3
        raise NotHere(f"no answer to {data!r}")

    def ended_by(self, data: bytes, timeout_s: float = _TIMEOUT_S) -> float:
        """Types and gives the seconds until the process has ended. Raises NotHere."""
        begin = time.monotonic()
        os.write(self._master, data)
        while self.process.poll() is None:
            if time.monotonic() - begin > timeout_s:
                raise NotHere(f"it does not end by {data!r}")
            with suppress(NotHere):  # the terminal may be gone before the process is
                self._read(0.005)
        return time.monotonic() - begin

    def drain(self, duration_s: float) -> None:
        """Takes what comes meanwhile."""
        end = time.monotonic() + duration_s
        while (rest := end - time.monotonic()) > 0:
            self._read(rest)

    def close(self) -> None:
        """Closes the terminal; the process must have ended."""
        os.close(self._master)

    def _read(self, timeout_s: float) -> bytes:
        ready, _, _ = select.select([self._master], [], [], timeout_s)
        if not ready:
            return b""
        try:
            return os.read(self._master, 1 << 16)
        except OSError as error:
            raise NotHere(f"the program has ended ({error.strerror})") from error


@contextmanager
def typed(command: Sequence[str], first: bool = False) -> Iterator[Typed]:
    """The program while the block lasts; it must take what comes until it has ended."""
    terminal = Typed(command, first)
    taker = threading.Thread(target=_take_all, args=(terminal,), daemon=True)
    try:
        with tools.ended(terminal.process), ExitStack() as last:
            last.callback(taker.start)
            yield terminal
    finally:
        taker.join(5)
        terminal.close()


def _take_all(terminal: Typed) -> None:
    try:
        while True:
            terminal.drain(1)
    except NotHere:
        return


def latencies(command: Sequence[str], rounds: int, load: AbstractContextManager[object], warm_s: float) -> Latencies:
    """All KEYS so many times, alternating with the echo. Raises NotHere."""
    found = Latencies()
    chance = random.Random(1)
    with typed(command) as dashboard, typed([sys.executable, "-I", "-S", "-c", _ECHO], first=True) as echo:
        echo.press(b"", re.compile(rb"ready"), _FIRST_TIMEOUT_S)
        dashboard.press(b"", LIVE, _FIRST_TIMEOUT_S)
        with load, first_of_all():
            dashboard.drain(warm_s)
            for _ in range(rounds):
                for name, data, shown in KEYS:
                    dashboard.drain(chance.uniform(*_PAUSES_S))
                    found.keys.append((name, dashboard.press(data, shown)))
                    dashboard.drain(chance.uniform(*_PAUSES_S))
                    found.echo_ms.append(echo.press(b"x", re.compile(rb"x")))
    return found


@contextmanager
def first_of_all() -> Iterator[None]:
    """This thread measures: it must not wait for a CPU itself, as far as that can be had. Loads keep theirs."""
    thread = threading.get_native_id()
    if os.geteuid():
        yield
        return
    os.sched_setscheduler(thread, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY + 1))
    try:
        yield
    finally:
        os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


def _live() -> list[str]:
    return tools.schedtop(sys.executable)


def _large() -> list[str]:
    return [sys.executable, "-m", "tests.bench.large_host"]


LOADS: dict[str, tuple[str, Callable[[], list[str]], Callable[[], AbstractContextManager[object]], float]] = {
    "quiet": ("quiet", _live, nullcontext, 2),
    "stress": ("stress -c 8", _live, loads.stress, 3),
    "hackbench": ("hackbench", _live, loads.most_switches, 3),
    "forks": ("fork storm", _live, loads.forks, 3),
    "large": ("1,024 CPUs, 10,000 tasks (synthetic)", _large, nullcontext, 8),
}
"""Words, command, load, and how long both run before the first key (s)."""


def measure(options: Options) -> Topic:
    """Each load in turn."""
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    found: dict[str, Latencies] = {}
    reasons = []
    for words, command, load, warm_s in LOADS.values():
        try:
            found[words] = latencies(command(), rounds, load(), warm_s)
        except NotHere as reason:
            reasons.append(f"{words}: {reason}")
    return _topic(found, reasons)


def _topic(found: dict[str, Latencies], reasons: list[str]) -> Topic:
    table = Table(
        "From a key to the screen (ms), and a program that echoes a byte beside it",
        ("load", "keys", "median", "95 %", "worst", "(key)", "echo: median", "95 %", "worst"),
        notes=reasons,
    )
    goals = []
    for words, one in found.items():
        slowest = max(one.keys, key=lambda pair: pair[1])[0]
        cells = (number(len(one.keys)), *_cells(one.keys_ms), slowest, *_cells(one.echo_ms))
        table.rows.append((words, *cells))
        goals.append(Goal(f"95 % of keys drawn, {words}", percentile(one.keys_ms, 0.95), GOAL_MS, "ms"))
    data = {
        words: {"keys_ms": [(key, round(ms, 2)) for key, ms in one.keys], "echo_ms": [round(x, 3) for x in one.echo_ms]}
        for words, one in found.items()
    }
    return Topic([table], data, goals)


def _cells(values: Sequence[float]) -> tuple[str, str, str]:
    return number(percentile(values, 0.5), 1), number(percentile(values, 0.95), 1), number(max(values), 1)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of all does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]


def main() -> None:
    """One load, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", choices=list(LOADS), action="append")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    found = {}
    for name in options.load or LOADS:
        words, command, load, warm_s = LOADS[name]
        found[words] = latencies(command(), options.rounds, load(), warm_s)
        slow = sorted(found[words].keys, key=lambda pair: -pair[1])[:6]
        print(name, "slowest:", ", ".join(f"{key} {ms:.0f}" for key, ms in slow), flush=True)
    print(_topic(found, []).tables[0])


if __name__ == "__main__":
    main()
