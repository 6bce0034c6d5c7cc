"""Whether the terminal can show the dashboard, and the signals that end it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LEAST_COLUMNS, LEAST_LINES = 60, 15

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def check_terminal() -> str | None:
    """Why the dashboard cannot be shown here, in one line; `None` if it can."""
    headless = "use `schedtop snapshot` for output without a screen"
    if not sys.stdin.isatty():
        return f"standard input is not a terminal: {headless}"
    if not sys.stdout.isatty():
        return f"the output is not a terminal: {headless}"
    if os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        return f"TERM={os.environ.get('TERM', '')} cannot show a dashboard: set TERM, or {headless}"
    return None


def had_terminal() -> Callable[[], bool]:
    """A question to be asked later: is the terminal that is here now still there?

    It may vanish without a SIGHUP (nohup, a process that is not of the terminal's session); reading and drawing go on
    for nobody then.
    """
    here = sys.stdin is not None and sys.stdin.isatty()
    return lambda: not here or os.isatty(sys.stdin.fileno())


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
    loop = asyncio.get_running_loop()
    for number in ENDING_SIGNALS:
        try:
            loop.add_signal_handler(number, stop, 128 + number)
        except (ValueError, RuntimeError):
            # Not the main thread (a test): then the signals are not ours to handle.
            return


def off_signals() -> None:
    """Gives the signals back."""
    loop = asyncio.get_running_loop()
    for number in ENDING_SIGNALS:
        loop.remove_signal_handler(number)
