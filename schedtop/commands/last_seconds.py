"""`--then path`: the last seconds of the kernel's events, kept while conditions are watched, and the paths in them."""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
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
from schedtop.outputs.triggers.work import PATH_ENDINGS
from schedtop.path.paths import find_paths
from schedtop.path.targets import Targets
from schedtop.sources.capture.source import POLL_NS, CaptureSource
from schedtop.sources.capture.window import Window
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


class KernelEvents:
    """The `LastSeconds` of the live kernel: one thread has the programs open, another one has the files written."""

    def __init__(self, source: str, scope: Scope) -> None:
        self._source = source
        self._scope = scope
        self._members = Members(scope)
        self._asked: queue.SimpleQueue[tuple[Path, Mapping[str, str]]] = queue.SimpleQueue()
        self._taken: queue.SimpleQueue[tuple[Capture, Path, Mapping[str, str]] | None] = queue.SimpleQueue()
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

    def write(self, base: Path, about: Mapping[str, str]) -> None:
        """Has the paths up to now written as JSON and text."""
        self._asked.put((base, about))

    def close(self) -> None:
        """Waits for what is being written, not for ever."""
        self._stop.set()
        for thread in self._threads:
            thread.join(_END_S)

    def _keep(self) -> None:
        try:
            with CaptureSource(self._source, path_ns=STACKS_NS) as source:
                self._poll(Window(source, KEPT_NS))
        except SourceError as problem:
            self._say(f"no paths: {problem}", True)
        finally:
            self._taken.put(None)

    def _poll(self, window: Window) -> None:
        looked_s = 0.0
        while not self._stop.wait(POLL_NS / NS_PER_S):
            window.poll()
            if time.monotonic() - looked_s > MEMBERS_S:
                self._members.look()
                looked_s = time.monotonic()
            self._take(window)
        self._take(window)

    def _take(self, window: Window) -> None:
        while not self._asked.empty():
            base, about = self._asked.get()
            self._taken.put((window.capture(), base, about))

    def _write(self) -> None:
        while (one := self._taken.get()) is not None:
            capture, base, about = one
            scope = self._scope
            targets = Targets(scope.tids, scope.tgids, scope.comms, self._members.found, str(scope))
            try:
                run_elsewhere(__name__, (capture, targets, base, dict(about)), "the paths")
                files = " and ".join(str(base.with_name(base.name + ending)) for ending in PATH_ENDINGS)
                self._say(f"paths of the last {(capture.end_ns - capture.start_ns) / NS_PER_S:.1f} s: {files}", False)
            except OutputError as problem:
                self._say(str(problem), True)


def main() -> None:
    """The other process: walks, and writes the files."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, max(_NICE, os.getpriority(os.PRIO_PROCESS, 0)))
    capture, targets, base, about = pickle.load(sys.stdin.buffer)
    refusing(lambda: write_paths(capture, targets, base, about))


def write_paths(capture: Capture, targets: Targets, base: Path, about: Mapping[str, str]) -> None:
    """The paths of a capture as two files, which say what fired. Raises OutputError."""
    paths = find_paths(capture, targets, MIN_NS)
    fired = f"when {about['condition']} came true: {about['values']}, at {about['time']}\n\n"
    json, text = (base.with_name(base.name + ending) for ending in PATH_ENDINGS)
    write_file(json, json_text({**document(paths), "trigger": dict(about)}))
    write_file(text, fired + to_text(paths))
