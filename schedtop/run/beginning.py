"""The first steps of every command line: our priority, cheap imports, and a compiler that gets ready meanwhile."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from schedtop.base import lean
from schedtop.run.priority import is_raised, raise_priority


def begin(arguments: Sequence[str]) -> None:
    """To be called with the command line, before anything large is imported and before any thread is started."""
    if "--" in arguments:  # behind it are a program's own
        arguments = arguments[: arguments.index("--")]
    completes = "_SCHEDTOP_COMPLETE" in os.environ
    if is_raised(arguments) and not completes:
        raise_priority(arguments)
    lean.begin()
    # All tools shall call us so, not `python`, this one as well; threads take the name of what starts them.
    with suppress(OSError), open("/proc/self/comm", "w") as comm:
        comm.write("schedtop")
    if not completes:
        # Late: it takes 10 ms, which are short with our priority.
        from schedtop.sources.kernel import early_compiler

        early_compiler.begin(arguments)
