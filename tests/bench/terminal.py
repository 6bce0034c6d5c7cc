"""A program in a pseudo terminal, which is read by a thread of this process."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.bench.tools import ROOT, ended


class Terminal:
    """Runs a command; `painted` is set once `marker` has been drawn."""

    def __init__(
        self, command: Sequence[str], size: tuple[int, int], marker: bytes, colorterm: str = "truecolor"
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": colorterm}
        environment.pop("NO_COLOR", None)
        self.painted = threading.Event()
        self.reads: list[tuple[float, int]] = []
        """When something was read, and how many bytes."""
        self._marker = marker
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True, cwd=ROOT
        )
        os.close(slave)
        self._thread = threading.Thread(target=self._collect, daemon=True)
        self._thread.start()

    def press(self, keys: str) -> None:
        """Types keys."""
        os.write(self._master, keys.encode())

    def close(self) -> None:
        """Waits until everything is read; the process must have ended."""
        self._thread.join(5)
        os.close(self._master)

    def _collect(self) -> None:
        tail = b""
        while True:
            try:
                data = os.read(self._master, 1 << 16)
            except OSError:  # nobody has the other end any more
                return
            self.reads.append((time.monotonic(), len(data)))
            tail = tail[-len(self._marker) :] + data
            if self._marker in tail:
                self.painted.set()


@contextmanager
def shown(
    command: Sequence[str],
    size: tuple[int, int] = (160, 50),
    marker: bytes = b"LIVE",
    colorterm: str = "truecolor",
) -> Iterator[Terminal]:
    """The command in a terminal of that size (columns, lines); it is ended with the block."""
    terminal = Terminal(command, size, marker, colorterm)
    try:
        with ended(terminal.process):
            yield terminal
    finally:
        terminal.close()
