"""`--then path`: the last seconds of the kernel's events, kept while conditions are watched, and the paths in them."""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.capture.events import Capture
from schedtop.commands.capture.writer import refusing, run_elsewhere
from schedtop.commands.path import STACKS_NS, Members
from schedtop.model.source import SourceError
from schedtop.outputs.files import OutputError, write_file
from schedtop.outputs.path.document import document
from schedtop.outputs.path.text import to_text
from schedtop.outputs.plain import json_text
from schedtop.path.paths import find_paths
from schedtop.path.targets import Targets
from schedtop.sources.capture.source import POLL_NS, CaptureSource
from schedtop.sources.capture.window import Window
from schedtop.sources.path.interrupts import PathInterrupts
from schedtop.sources.scope import Scope
from schedtop.triggers.plan import Say

KEPT_NS = 10 * NS_PER_S
"""So much is kept, if there is not too much of it (sources/capture/window.py)."""

MIN_NS = NS_PER_MS
"""The shortest episode, as of `schedtop path`."""

MEMBERS_S = 1.0
"""How often the tasks of a cgroup are looked up."""

_NICE = 5
"""The walk takes seconds of CPU time on a host that is late already."""

_END_S = 30.0
"""How long the end waits for what is being written."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Files that were asked for."""

    json: Path
    text: Path
    about: Mapping[str, str]
    done: Callable[[], None]


class KernelEvents:
    """The `LastSeconds` of the live kernel: one thread has the programs open, another one has the files written."""

    def __init__(self, source: str, scope: Scope, interrupts: bool = False) -> None:
        """`interrupts`: each of them is noted as well."""
        self._source = source
        self._with_interrupts = interrupts
        self._scope = scope
        self._members = Members(scope)
        self._asked: queue.SimpleQueue[_Wanted] = queue.SimpleQueue()
        self._taken: queue.SimpleQueue[tuple[Capture, _Wanted] | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._say: Say = lambda _text, _problem: None

    def open(self, say: Say) -> None:
        """Begins to keep; what goes wrong is said."""
        if self._threads:
            return
        self._say = say
        # Daemons: neither may keep the program from ending.
        self._threads = [
            threading.Thread(target=work, name=f"schedtop-path-{name}", daemon=True)
            for name, work in (("events", self._keep), ("files", self._write))
        ]
        for thread in self._threads:
            thread.start()

    def write(self, json: Path, text: Path, about: Mapping[str, str], done: Callable[[], None]) -> bool:
        """Has the paths up to now written."""
        if self._threads and self._threads[0].is_alive():
            self._asked.put(_Wanted(json, text, about, done))
            return True
        done()
        return False

    def close(self) -> None:
        """Waits for what is being written, not for ever."""
        self._stop.set()
        for thread in self._threads:
            thread.join(_END_S)
        # What will not be written: the source had failed just then, or there was no time.
        while not self._asked.empty():
            self._asked.get().done()

    def _keep(self) -> None:
        try:
            with CaptureSource(self._source, path_ns=STACKS_NS) as source, ExitStack() as stack:
                interrupts = stack.enter_context(PathInterrupts()) if self._with_interrupts else None
                self._poll(Window(source, KEPT_NS), interrupts)
        except SourceError as problem:
            self._say(f"no paths: {problem}", True)
        finally:
            self._taken.put(None)

    def _poll(self, window: Window, interrupts: PathInterrupts | None) -> None:
        looked_s = 0.0
        while not self._stop.wait(POLL_NS / NS_PER_S):
            window.poll()
            if interrupts:
                interrupts.poll()
            if time.monotonic() - looked_s > MEMBERS_S:
                self._members.look()
                looked_s = time.monotonic()
            self._take(window, interrupts)
        self._take(window, interrupts)

    def _take(self, window: Window, interrupts: PathInterrupts | None) -> None:
        while not self._asked.empty():
            wanted = self._asked.get()
            capture = window.capture()
            self._taken.put((interrupts.noted(capture) if interrupts else capture, wanted))

    def _write(self) -> None:
        while (one := self._taken.get()) is not None:
            capture, wanted = one
            scope = self._scope
            targets = Targets(scope.tids, scope.tgids, scope.comms, self._members.found, str(scope))
            try:
                work = (capture, targets, wanted.json, wanted.text, dict(wanted.about))
                run_elsewhere(__name__, work, "the paths")
                length = f"{(capture.end_ns - capture.start_ns) / NS_PER_S:.1f} s"
                self._say(f"paths of the last {length}: {wanted.json} and {wanted.text}", False)
            except OutputError as problem:
                self._say(str(problem), True)
            finally:
                wanted.done()


def main() -> None:
    """The other process: walks, and writes the files."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, max(_NICE, os.getpriority(os.PRIO_PROCESS, 0)))
    work = pickle.load(sys.stdin.buffer)
    refusing(lambda: write_paths(*work))


def write_paths(capture: Capture, targets: Targets, json: Path, text: Path, about: Mapping[str, str]) -> None:
    """The paths of a capture as two files, which say what fired. Raises OutputError."""
    paths = find_paths(capture, targets, MIN_NS)
    fired = f"when {about['condition']} came true: {about['values']}, at {about['time']}\n\n"
    write_file(json, json_text({**document(paths), "trigger": dict(about)}))
    write_file(text, fired + to_text(paths))
