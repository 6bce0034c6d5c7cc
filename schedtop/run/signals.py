"""Signals that end the program: a request to stop, and the exit status that it will have."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

GRACE_S = 2.0
"""How long a signal waits for the source to close: the compiler cannot be interrupted, and may take long."""


class Interrupted(BaseException):
    """A signal asked the program to end, with `status`."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Signals:
    """Turns SIGINT, SIGTERM and SIGHUP into a request: `stop` is set, `status` says with which exit status to end.

    Signals that were ignored at the start stay so (nohup, a shell's background jobs).
    """

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.status = 0
        self._deadline = 0.0
        self._raises = False
        self._wanted = [number for number in ENDING_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]

    def install(self) -> None:
        """Takes the signals."""
        for number in self._wanted:
            signal.signal(number, self._handle)

    def check(self) -> None:
        """Raises Interrupted if a signal has come."""
        if self.status:
            raise Interrupted(self.status)

    def answered(self) -> int:
        """The status of a signal that has come, 0 without one. What it asked for is done: the next one is a new one."""
        status, self.status = self.status, 0
        self.stop.clear()
        return status

    @contextmanager
    def raising(self) -> Iterator[None]:
        """While it lasts, a signal raises Interrupted at once: for writing, which may block for ever."""
        self._raises = True
        try:
            self.check()
            yield
        finally:
            self._raises = False

    @contextmanager
    def handed_over(self) -> Iterator[None]:
        """While it lasts, other code is to take the signals; one that comes before is sent again until they have."""

        def again(number: int, _frame: FrameType | None) -> None:
            timer = threading.Timer(0.1, os.kill, (os.getpid(), number))
            timer.daemon = True
            timer.start()

        self.check()
        for number in self._wanted:
            signal.signal(number, again)
        try:
            yield
        finally:
            self.install()

    @property
    def overdue(self) -> bool:
        """Whether a signal has waited for too long, or has come twice."""
        return bool(self.status) and time.monotonic() > self._deadline

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self._deadline = 0 if self.status else time.monotonic() + GRACE_S
        self.status = self.status or 128 + number
        # Safe here because the main thread never waits for this event: it would hold its lock.
        self.stop.set()
        if self._raises:
            raise Interrupted(self.status)
