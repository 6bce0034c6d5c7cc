"""Programs with known truths for the tests of the task view: they wait for a line, act, and stand still again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from schedtop.sources.task.source import LiveTaskSource
from schedtop.task import TaskFrame

PRELUDE = """
import json, mmap, os, resource, signal, socket, sys, threading, time
signal.alarm(60)
TRUTH = {}
os.write(1, b"ready\\n")
os.read(0, 1)
"""


def kernel_counts(pid: int) -> dict[str, int]:
    """What the kernel has counted of a process so far: /proc/PID/io, faults and switches."""
    found = {name: int(value) for name, value in (line.split(": ") for line in _lines(pid, "io"))}
    fields = _lines(pid, "stat")[0].rpartition(")")[2].split()
    found |= {"minor": int(fields[7]), "major": int(fields[9])}
    for task in Path(f"/proc/{pid}/task").iterdir():
        for line in (task / "status").read_text().splitlines():
            if "ctxt_switches" in line:
                name, value = line.split(":")
                found[name] = found.get(name, 0) + int(value)
    return found


def _lines(pid: int, name: str) -> list[str]:
    return Path(f"/proc/{pid}/{name}").read_text().splitlines()


class Program:
    """A Python program that stands still until `go`, and again when it has acted."""

    def __init__(self, does: str, prefix: tuple[str, ...] = ()) -> None:
        code = f"{PRELUDE}{does}\nos.write(1, (json.dumps(TRUTH) + '\\n').encode())\nos.read(0, 1)\n"
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-I", "-S", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        self.heard()
        self.kernel: dict[str, int] = {}
        """What the kernel counted while it acted."""
        self.truth: dict[str, Any] = {}
        """What it says itself."""

    @property
    def pid(self) -> int:
        return self.process.pid

    def heard(self) -> str:
        """Its next line."""
        assert self.process.stdout
        return self.process.stdout.readline().decode()

    def go(self) -> None:
        """It acts, and then stands still again."""
        before = kernel_counts(self.pid)
        self.go_on()
        self.truth = json.loads(self.heard())
        time.sleep(0.05)
        after = kernel_counts(self.pid)
        self.kernel = {name: after[name] - before[name] for name in before}

    def go_on(self) -> None:
        """It is told to go on."""
        assert self.process.stdin
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def end(self) -> None:
        """It is killed."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


@contextmanager
def program(does: str, prefix: tuple[str, ...] = ()) -> Iterator[Program]:
    """A program that is ready, and gone afterwards."""
    started = Program(does, prefix)
    try:
        time.sleep(0.05)  # until it waits for its line
        yield started
    finally:
        if started.process.poll() is None:
            started.end()


def looked_at(
    tid: int, act: Callable[[], object], whole_process: bool = True, front_end: str = "auto", settle_s: float = 0.05
) -> TaskFrame:
    """What the task view sees of a task while something is done, and a little longer."""
    found: list[TaskFrame] = []
    failure: list[BaseException] = []
    stop, ready = threading.Event(), threading.Event()

    def look() -> None:
        try:
            with LiveTaskSource(tid, whole_process, source=front_end) as source:
                ready.set()
                found.append(source.look(60 * 10**9, stop))
        except BaseException as error:
            failure.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        ready.wait(30)
        if not failure:
            act()
            time.sleep(settle_s)
    finally:
        stop.set()
        thread.join(20)
    if failure:
        raise failure[0]
    return found[0]
