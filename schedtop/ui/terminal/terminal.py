"""Whether the terminal can show the dashboard, and the signals that end it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from schedtop.base.finding import Finding
from schedtop.base.session_nice import OWN

LEAST_COLUMNS, LEAST_LINES = 60, 15

GRACE_S = 2.0
"""How long the screen may take to end when its terminal has vanished."""

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


INSTEAD = "schedtop snapshot"


def check_terminal(instead: str = INSTEAD) -> str | None:
    """Why the dashboard cannot be shown here and what to use `instead`, in one line; `None` if it can."""
    if not sys.stdin.isatty():
        return no_terminal("standard input is not a terminal", instead).sentence
    if not sys.stdout.isatty():
        return no_terminal("the output is not a terminal", instead).sentence
    unfit = unfit_terminal(os.environ, instead)
    return unfit.sentence if unfit else None


def no_terminal(found: str, instead: str = INSTEAD) -> Finding:
    """That there is no terminal; `instead`: the command for that."""
    return Finding("terminal", "degraded", found, "the dashboard", advice=_headless(instead))


def unfit_terminal(environment: Mapping[str, str], instead: str = INSTEAD) -> Finding | None:
    """That the terminal cannot be drawn on, by its own name; `None` if it can."""
    term = environment.get("TERM", "")
    if term not in ("", "dumb", "unknown"):
        return None
    found = f"TERM={term} cannot show a dashboard"
    return Finding("terminal", "degraded", found, "the dashboard", advice=f"set TERM, or {_headless(instead)}")


def _headless(instead: str) -> str:
    return f"use `{instead}` for output without a screen"


@contextmanager
def ending_with_terminal() -> Iterator[None]:
    """While it lasts, the program ends as by SIGHUP when its terminal vanishes.

    A SIGHUP need not come (nohup, a process that is not of the terminal's session), and need not be heard: when writing
    fails, the framework's writer ends, and its loop then waits for it for good. So a thread of its own watches.
    """
    done = threading.Event()
    if sys.stdin is not None and sys.stdin.isatty():
        threading.Thread(target=_watch, args=(done, sys.stdin.fileno()), name="schedtop-terminal", daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _watch(done: threading.Event, terminal: int) -> None:
    while not done.wait(1):
        if not os.isatty(terminal):
            os.kill(os.getpid(), signal.SIGHUP)
            if not done.wait(GRACE_S):
                # There is no terminal to restore; programs and maps of the kernel go with their descriptors.
                OWN.end()
                os._exit(128 + signal.SIGHUP)
            return


@contextmanager
def drawing_on_output() -> Iterator[None]:
    """While it lasts, the framework draws on standard output even if standard error goes to a file.

    It takes the interpreter's own `__stderr__` for the terminal. What the program says itself still goes to stderr.
    """
    errors = sys.__stderr__
    if (errors is None or not errors.isatty()) and sys.__stdout__ is not None and sys.__stdout__.isatty():
        sys.__stderr__ = sys.__stdout__  # type: ignore[misc]
    try:
        yield
    finally:
        sys.__stderr__ = errors  # type: ignore[misc]


def on_signals(stop: Callable[[int], object]) -> None:
    """Calls `stop` with the exit status for SIGINT, SIGTERM and SIGHUP, on the running event loop.

    Without this they end the program and leave the terminal in raw mode.
    """
    import asyncio  # late, here and below: whether there is a terminal is asked before anything large is imported

    loop = asyncio.get_running_loop()
    for number in ENDING_SIGNALS:
        try:
            loop.add_signal_handler(number, stop, 128 + number)
        except (ValueError, RuntimeError):
            # Not the main thread (a test): then the signals are not ours to handle.
            return


def give_back_when_stopped() -> None:
    """The framework's handler of SIGTSTP stops the process: the session has its own nice value then."""
    stop = signal.getsignal(signal.SIGTSTP)
    if not callable(stop) or threading.current_thread() is not threading.main_thread():
        return  # no terminal, or a test

    def given_back(number: int, frame: FrameType | None) -> None:
        with OWN.given_back():
            stop(number, frame)

    signal.signal(signal.SIGTSTP, given_back)


def off_signals() -> None:
    """Gives the signals back."""
    import asyncio  # late, as above

    loop = asyncio.get_running_loop()
    for number in ENDING_SIGNALS:
        loop.remove_signal_handler(number)
