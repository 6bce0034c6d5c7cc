"""Inside a guest: runs the chosen tests with pytest, and tells the host through a port what comes out of each.

Unless the guest is to compile for itself, the host does that: `compile_programs` sends it the source text and the
flags, which hold all that is particular to this kernel.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from schedtop.model.source import SourceError
from schedtop.sources.kernel import compiler

PORT = "schedtop"
REQUEST = Path("request.json")
_LONGEST_REASON, _LONGEST_LOG = 6000, 2000
_STUCK_S = 200
"""After so long the stacks of a test's threads are on the console."""


class Host:
    """The other end of the port: lines of JSON."""

    def __init__(self) -> None:
        ports = Path("/sys/class/virtio-ports").glob("*/name")
        device = next(path.parent.name for path in ports if path.read_text().strip() == PORT)
        self._fd = os.open(f"/dev/{device}", os.O_RDWR | os.O_CLOEXEC)
        self._lock = threading.Lock()

    def tell(self, event: str, **fields: Any) -> None:
        """Sends what has happened."""
        with self._lock:
            self._send(event, fields)

    def ask(self, event: str, **fields: Any) -> dict[str, Any]:
        """Sends a request; the answer."""
        with self._lock:
            self._send(event, fields)
            answer = b""
            while not answer.endswith(b"\n"):
                answer += os.read(self._fd, 1 << 16)
        return dict(json.loads(answer))

    def _send(self, event: str, fields: dict[str, Any]) -> None:
        data = json.dumps({"event": event} | fields).encode() + b"\n"
        while data:
            data = data[os.write(self._fd, data) :]


class Reporter:
    """The part of pytest that tells the host."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """How many there will be."""
        self._host.tell("chosen", tests=[item.nodeid for item in session.items])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Which one is running, in case it never ends."""
        self._host.tell("start", test=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """What came out of one: that of its body, or what went wrong around it."""
        if report.when == "call" or not report.passed:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
            told = f"{reason}\n{report.capstdout}{report.capstderr}{_log(reason)}" if report.failed else reason
            self._host.tell("test", test=report.nodeid, outcome=report.outcome, reason=told[-_LONGEST_REASON:])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that cannot be imported."""
        if report.failed:
            self._host.tell("broken", what=report.nodeid, reason=report.longreprtext[-_LONGEST_REASON:])


def _log(reason: str) -> str:
    """The end of the log that a failure names: it is gone with the guest."""
    named = re.search(r"log is in (\S+)", reason)
    return Path(named[1]).read_text(errors="replace")[-_LONGEST_LOG:] if named and Path(named[1]).exists() else ""


def _control(host: Host, seconds: float) -> None:
    """Has the kernel patch its own code, over and over, without any program of ours: does the emulation stand it?"""
    switch, end, count = Path("/proc/sys/kernel/sched_schedstats"), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for value in "10" * 10:
            switch.write_text(value)
            count += 1
        host.tell("control", writes=count)
    host.tell("ended", status=0)
    time.sleep(1)  # the port is emptied


def main() -> None:
    """Runs what the request says."""
    host, request = Host(), json.loads(REQUEST.read_text())
    cpus = {name: Path(f"/sys/devices/system/cpu/{name}").read_text().strip() for name in ("online", "possible")}
    host.tell("booted", release=platform.release(), btf=Path("/sys/kernel/btf/vmlinux").exists(), **cpus)
    if request["control_s"]:
        _control(host, request["control_s"])
        return
    if not request["compile_inside"]:

        def compile_programs(text: str, flags: tuple[str, ...], include_root: Path) -> compiler.Compiled:
            answer = host.ask("compile", text=text, flags=flags)
            if "error" in answer:
                raise SourceError(answer["error"])
            return compiler.Compiled.from_json(answer["compiled"])

        compiler.compile_programs = compile_programs
    plugins = ["-p", "no:cacheprovider", "-p", "pytest_rerunfailures", "--reruns", "1", "--reruns-delay", "3"]
    settings = ["-o", f"faulthandler_timeout={_STUCK_S}", "-o", "addopts=--import-mode=importlib"]
    status = pytest.main(["-q", "--color=no", *plugins, *settings, *request["tests"]], [Reporter(host)])
    host.tell("ended", status=int(status))
    time.sleep(1)  # the port is emptied
    sys.exit(int(status))


if __name__ == "__main__":
    main()
