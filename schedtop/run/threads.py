"""Work in a thread of its own, while the main thread hears signals."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, TypeVar

from schedtop.base import lean, turn
from schedtop.base.session_nice import OWN
from schedtop.run.signals import Signals
from schedtop.sources.kernel import early_compiler

Result = TypeVar("Result")

PATIENCE_S = 0.1
"""How often it looks whether the work has ended, once a signal has come."""

FIRST_S = 0.5
"""How long work may go first: on a busy host what comes meanwhile shall not wait for all of it."""


def in_thread(
    work: Callable[[], Result],
    signals: Signals,
    meanwhile: Callable[[], object] = lambda: None,
    *,
    first: bool = False,
) -> Result:
    """What `work` gives or raises; it runs in a thread, so that signals are heard while a compiler works.

    `meanwhile` is done here while it works; after it a start is over. `first`: the work goes first, until it waits for
    something else than Python (turn.py). Signals only ask it to end. If it does not in time, the process ends here and
    the kernel detaches the programs.
    """
    outcome: list[Result] = []
    failure: list[BaseException] = []
    given = threading.Event()
    with Bell() as bell:

        def run() -> None:
            turn.take(given.set)
            try:
                outcome.append(work())
            except BaseException as error:  # raised again below, where it is handled
                failure.append(error)
            finally:
                given.set()
                bell.ring()

        lean.share_heap()
        thread = threading.Thread(target=run, name="schedtop-work", daemon=True)
        thread.start()
        if first:
            given.wait(FIRST_S)
        meanwhile()
        lean.end()
        while not (outcome or failure):
            bell.wait(PATIENCE_S if signals.status else None)
            if signals.overdue and not (outcome or failure):
                _abandon(signals.status)
        thread.join()
        early_compiler.end()
    if failure:
        # Stopping early is no failure of the source.
        signals.check()
        raise failure[0]
    return outcome[0]


class Bell:
    """Lets the main thread wait, without waking up now and then, until a signal came or a thread rings."""

    def __enter__(self) -> Bell:
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._lock, self._is_open = threading.Lock(), True
        self._poll = select.poll()
        self._poll.register(self._read, select.POLLIN)
        self._hears_signals = threading.current_thread() is threading.main_thread()
        if self._hears_signals:
            self._before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._hears_signals:
            signal.set_wakeup_fd(self._before)
        # A thread may still work when an exception ends the wait for it.
        with self._lock:
            self._is_open = False
            os.close(self._write)
            os.close(self._read)

    def ring(self) -> None:
        """Wakes up what waits."""
        with self._lock, suppress(BlockingIOError):  # it is awake already
            if self._is_open:
                os.write(self._write, b"\0")

    def wait(self, timeout_s: float | None) -> None:
        """Until it rings or a signal came, or for that long. In another thread than the main one, a short while."""
        if timeout_s is None and not self._hears_signals:
            timeout_s = PATIENCE_S
        if self._poll.poll(None if timeout_s is None else timeout_s * 1000):
            os.read(self._read, 4096)


def _abandon(status: int) -> NoReturn:
    """Ends the process while a thread waits for the compiler. Programs and maps go with their descriptors."""
    OWN.end()
    os._exit(status)
