"""Captures on their way to the disk: here, or in a process of its own, so that the dashboard's screen goes on."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from schedtop.base.environment import child_environment
from schedtop.capture.events import Capture
from schedtop.outputs.capture.files import write_traces
from schedtop.outputs.capture.tracks import Track
from schedtop.outputs.files import OutputError

_REFUSED = 3
"""Exit status of the other process if it has said, as OutputError does, why there are no files."""


def write_capture(
    capture: Capture, paths: dict[str, Path], tracks: Sequence[Track] = (), *, force: bool = False
) -> list[Path]:
    """Writes a capture in each format. Raises OutputError.

    That takes seconds of CPU time: at ordinary priority, even if ours is raised, for the host has other work to do.
    """
    raised = os.getpriority(os.PRIO_PROCESS, 0)  # of this thread alone
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, max(0, raised))
    try:
        return write_traces(capture, paths, tracks, force=force)
    finally:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, raised)


def write_capture_elsewhere(capture: Capture, paths: dict[str, Path]) -> list[Path]:
    """`write_capture` in another process: in ours, all other threads would wait for the interpreter, again and again.

    Raises OutputError.
    """
    run_elsewhere(__name__, (capture, paths), "the trace")
    return list(paths.values())


def run_elsewhere(module: str, work: object, what: str) -> None:
    """Has another process do the `main` of a module of ours, with `work` on its standard input.

    Raises OutputError; `what` cannot be written then.
    """
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[3])!r}); from {module} import main; main()"
    with subprocess.Popen(
        [sys.executable, "-P", "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=child_environment(),
        process_group=0,  # what the terminal sends is for us
    ) as child:
        assert child.stdin
        # If it is gone, its status says more than the broken pipe.
        with suppress(BrokenPipeError), child.stdin as pipe:
            pickle.dump(work, pipe, pickle.HIGHEST_PROTOCOL)
        child.stdin = None
        words, errors = child.communicate()
    if child.returncode == _REFUSED:
        raise OutputError(os.fsdecode(words))
    if child.returncode:
        said = os.fsdecode(errors).strip().splitlines()[-1:] or [f"its writer ended with status {child.returncode}"]
        raise OutputError(f"cannot write {what}: {said[0]}")


def main() -> None:
    """The other process: a capture and its paths come through its standard input."""
    capture, paths = pickle.load(sys.stdin.buffer)
    refusing(lambda: write_capture(capture, paths))


def refusing(write: Callable[[], object]) -> None:
    """Runs what the other process is for; what it raises as OutputError, the one that started it raises."""
    try:
        write()
    except OutputError as error:
        sys.stdout.buffer.write(os.fsencode(str(error)))
        sys.stdout.flush()
        sys.exit(_REFUSED)
