"""What the user is told of errors, on standard error."""

from __future__ import annotations

import os
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path

from schedtop.base.units import printable
from schedtop.outputs.files import OutputError, write_file


def complain(message: str) -> None:
    """One line for the user on standard error."""
    if sys.stderr is not None:
        with suppress(OSError):
            # A message may hold the name of a file or a cgroup, and that may be anything.
            print(f"schedtop: {printable(' '.join(message.split()))}", file=sys.stderr, flush=True)


def report_crash(error: BaseException) -> None:
    """One line for the user, the traceback to a file."""
    import tempfile  # late: it brings modules that only a crash needs

    what = f"internal error: {type(error).__name__}: {error}"
    path = Path(tempfile.gettempdir()) / f"schedtop-{os.getpid()}-{time.time_ns()}.log"
    try:
        write_file(path, "".join(traceback.format_exception(error)))
    except OutputError as problem:
        complain(f"{what} ({problem})")
    else:
        complain(f"{what}; please report it with {path}")
