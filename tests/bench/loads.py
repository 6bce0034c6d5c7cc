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


@contextmanager
def most_switches() -> Iterator[None]:
    """hackbench over and over. Raises NotHere."""
    with group(["sh", "-c", f"while :; do {find('hackbench')} -g 4 -l 1000; done"]):
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
