"""Commands that triggers run: without a shell, one at a time of each, bounded in time, and ended with us.

Under sudo they are the calling user's (runner.py).

What a command leaves running when it ends by itself is its own affair.
"""

from __future__ import annotations

import os
import select
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from schedtop.base.invoker import UnclearInvoker
from schedtop.base.time_slice import DEFAULT, set_slice
from schedtop.base.units import iso_time, printable
from schedtop.outputs.files import reason
from schedtop.outputs.triggers.runner import runner
from schedtop.triggers.plan import Say
from schedtop.triggers.watch import Fired

LIMIT_S = 60.0
"""How long a command may take; then its process group is ended."""

KILL_AFTER_S = 0.5
"""How long a process group has to end by itself after SIGTERM."""

KEPT_BYTES = 2000
"""How much of what a command says is kept, the end of it; the last line is shown if it fails."""


class Commands:
    """Running commands, each watched by a thread of its own. `close` ends them all."""

    def __init__(self, say: Say, nice: int = 0, limit_s: float = LIMIT_S, *, as_root: bool = False) -> None:
        """`nice`: their priority, which is not ours. `as_root`: they are root's, whoever called sudo."""
        self._say = say
        self._nice = nice
        self._limit_s = limit_s
        self._as_root = as_root
        self._stop = threading.Event()
        self._running: dict[tuple[int, tuple[str, ...]], threading.Thread] = {}

    def start(self, words: tuple[str, ...], fired: Fired, environment: Mapping[str, str]) -> None:
        """Runs a command for what fired, unless the same trigger's one still runs."""
        key = (fired.number, words)
        name = shlex.join(words)
        running = self._running.get(key)
        if running and running.is_alive():
            self._say(f"not run, it still runs since the last time: {name}", True)
            return
        # A daemon: whatever it waits for must not keep the program from ending.
        thread = threading.Thread(
            target=self._run, args=(words, name, dict(environment)), name="schedtop-command", daemon=True
        )
        self._running[key] = thread
        thread.start()

    def join(self, stop: threading.Event) -> None:
        """Waits until all have ended, which their limit bounds, or `stop` is set."""
        while any(thread.is_alive() for thread in self._running.values()) and not stop.wait(0.05):
            pass

    def close(self) -> None:
        """Ends all that still run."""
        self._stop.set()
        for thread in self._running.values():
            thread.join(2 * KILL_AFTER_S + 0.5)

    def _run(self, words: tuple[str, ...], name: str, environment: dict[str, str]) -> None:
        started_s = time.monotonic()
        try:
            # A thread has a priority and a slice of its own on Linux, and what it starts inherits that.
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self._nice)
            set_slice(0, DEFAULT)
            by = runner(as_root=self._as_root)
            process = subprocess.Popen(
                [*by.before, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**by.environment, **environment},
                start_new_session=True,
            )
        except (OSError, ValueError, UnclearInvoker) as error:
            why = str(error) if isinstance(error, ValueError) else reason(error)
            self._say(f"cannot run {name}: {why}", True)
            return
        with process:
            said, ended = self._watch(process)
        took = f"{time.monotonic() - started_s:.1f} s"
        if not ended:
            why = "schedtop ended" if self._stop.is_set() else f"it took longer than {self._limit_s:.0f} s"
            self._say(f"{name}: killed, {why}", True)
        elif process.returncode:
            self._say(f"{name}: failed with {_status(process.returncode)}{said}", True)
        else:
            self._say(f"{name}: done in {took}", False)

    def _watch(self, process: subprocess.Popen[bytes]) -> tuple[str, bool]:
        """The last line of what it said (with a colon before it), and whether it ended by itself."""
        pipe = process.stdout
        assert pipe
        os.set_blocking(pipe.fileno(), False)
        deadline_s = time.monotonic() + self._limit_s
        kept = b""
        open_ = True
        while (running := process.poll() is None) and not self._stop.is_set() and time.monotonic() < deadline_s:
            if open_ and select.select([pipe], [], [], 0.1)[0]:
                data = os.read(pipe.fileno(), 1 << 16)
                open_, kept = bool(data), (kept + data)[-KEPT_BYTES:]
            elif not open_:
                self._stop.wait(0.05)
        if running:
            _end_group(process)
        with suppress(BlockingIOError):
            while data := os.read(pipe.fileno(), 1 << 16):
                kept = (kept + data)[-KEPT_BYTES:]
                if len(data) < 1 << 16:
                    break
        lines = kept.decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return (f": {printable(last[:200])}" if last else ""), not running


def environment_of(fired: Fired, host: str, files: Mapping[str, Path]) -> dict[str, str]:
    """What a command is told: only data, in variables, never in its words."""
    return {
        "SCHEDTOP_TRIGGER": str(fired.condition),
        "SCHEDTOP_VALUE": fired.values_text,
        "SCHEDTOP_TIME": iso_time(fired.time_ns),
        "SCHEDTOP_HOST": host,
        # Absolute: a command may go elsewhere first.
        "SCHEDTOP_EXPORT": str(files["export"].absolute()) if "export" in files else "",
        "SCHEDTOP_RECORDING": str(files["record"].absolute()) if "record" in files else "",
        "SCHEDTOP_PATH": str(files["path"].absolute()) if "path" in files else "",
    }


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends the command and what it has started, unless that left its process group."""
    # The group's number is ours as long as its leader has not been waited for.
    os.killpg(process.pid, signal.SIGTERM)
    deadline_s = time.monotonic() + KILL_AFTER_S
    ended = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while os.waitid(os.P_PID, process.pid, ended) is None and time.monotonic() < deadline_s:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _status(code: int) -> str:
    if code > 0:
        return f"status {code}"
    # Real-time signals have no names.
    return f"signal {signal.Signals(-code).name if -code in {*signal.Signals} else -code}"
