"""Standard output: data, whole or not at all."""

from __future__ import annotations

import os
import select
import signal
import sys

from schedtop.base.ascii import ERRORS
from schedtop.outputs.files import OutputError, reason
from schedtop.run.signals import Interrupted


def write_stdout(data: str) -> None:
    """Writes data to standard output. Raises OutputError; Interrupted, as by SIGPIPE, if it has no reader."""
    try:
        if sys.stdout is None:
            raise OutputError("cannot write standard output: it is closed")
        rest = memoryview(data.encode(sys.stdout.encoding or "utf-8", ERRORS))
        while rest:
            # Python's own layer may be unbuffered (PYTHONUNBUFFERED), and then drops what a pipe does not take at once.
            rest = rest[os.write(sys.stdout.fileno(), rest) :]
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise Interrupted(128 + signal.SIGPIPE) from error
        raise OutputError(f"cannot write standard output: {reason(error)}") from error


def check_reader() -> None:
    """Raises Interrupted, as by SIGPIPE, if standard output is a pipe that has no reader any more.

    For a stream that has nothing to write now: otherwise it would not notice.
    """
    if sys.stdout is None:
        return
    poll = select.poll()
    try:
        poll.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # captured by a test: there is no descriptor
        return
    if any(event & select.POLLERR for _, event in poll.poll(0)):
        raise Interrupted(128 + signal.SIGPIPE)
