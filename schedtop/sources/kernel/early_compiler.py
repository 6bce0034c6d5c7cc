"""The compiler's process, started before it is known what to compile: until it can be asked it takes 0.1 s, or a second
from a cold disk.

Only where it will be needed: where nothing is kept of earlier starts. Imports little: what is large comes meanwhile.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from schedtop.base.environment import child_environment
from schedtop.sources.kernel.bcc_child import DISTRIBUTION
from schedtop.sources.kernel.cache_directory import keeps_programs

COMPILING = ("capture", "metrics", "offcpu", "path", "record", "snapshot", "task", "watch")
"""Commands that load programs, as the dashboard does, which has none."""

OTHERWISE = ("-h", "--help", "--version", "proc", "synthetic", "--source=proc", "--source=synthetic")
"""Arguments with which nothing is loaded."""

_early: list[subprocess.Popen[bytes]] = []


def begin(arguments: Sequence[str]) -> None:
    """Starts it if that command line certainly needs it. It is asked (`take`), or ended (`end`)."""
    if not _loads_programs(arguments) or os.geteuid() or keeps_programs():
        return
    try:
        _early.append(start(bcc_command("compiler_child")))
    except OSError:
        return  # whoever needs it says why there is none


def take() -> subprocess.Popen[bytes] | None:
    """The process that was started early, for one compilation; `None`: there is none, or no more."""
    return _early.pop() if _early else None


def end() -> None:
    """Ends it, if nobody has asked it."""
    while _early:
        with _early.pop() as child:
            child.kill()


def start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """A process of the compiler that waits for a request on its standard input. Raises OSError."""
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=child_environment(),
        cwd="/",  # the compiler looks for headers there: none may come from where we were started
        process_group=0,  # ctrl-c is for us: we end it
    )


def bcc_command(job: str, *arguments: str) -> list[str]:
    """The command that does a job of a child that needs bcc (bcc_child.py), whichever interpreter has it.

    -P: as root nothing may be imported from the directory in which we were started.
    """
    return [sys.executable or DISTRIBUTION, "-P", str(Path(__file__).with_name("bcc_child.py")), job, *arguments]


def _loads_programs(arguments: Sequence[str]) -> bool:
    command = arguments[0] if arguments and not arguments[0].startswith("-") else ""
    return (not command or command in COMPILING) and not set(arguments) & set(OTHERWISE)
