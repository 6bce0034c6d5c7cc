"""Loads that go on while something else is measured."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tests.bench.tools import find

MARKER = "bench-marker"

_FORKS = "import os\nwhile True:\n    if not os.fork(): os._exit(0)\n    os.wait()"


@contextmanager
def most_switches() -> Iterator[None]:
    """hackbench over and over. Raises NotHere."""
    with group(["sh", "-c", f"while :; do {find('hackbench')} -g 4 -l 1000; done"]):
        yield


@contextmanager
def stress(workers: int = 8) -> Iterator[None]:
    """Busy loops of another kind. Raises NotHere."""
    with group([find("stress", "stress-ng"), "-c", str(workers)]):
        yield


@contextmanager
def forks() -> Iterator[None]:
    """Processes that end at once, as many as two shells and a C loop can start. Raises NotHere."""
    with ExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            stack.enter_context(group(["sh", "-c", "while :; do /bin/true; done"]))
        stack.enter_context(group([sys.executable, "-I", "-S", "-c", _FORKS]))
        yield


@contextmanager
def hogs(count: int) -> Iterator[None]:
    """Busy loops."""
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(group([sys.executable, "-I", "-S", "-c", "while True: pass"]))
        yield


@contextmanager
def marker() -> Iterator[int]:
    """A task named MARKER that runs for a moment every 5 ms: who shows it has data. Gives its tid."""
    code = (
        f"import time\nwith open('/proc/self/comm', 'w') as comm: comm.write({MARKER!r})\nwhile True: time.sleep(0.005)"
    )
    with group([sys.executable, "-I", "-S", "-c", code]) as process:
        yield process.pid


@contextmanager
def group(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A command and all that it starts, in a process group of their own that is killed at the end."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
