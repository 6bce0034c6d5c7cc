"""The priority of this process. What it is for, and what was measured: docs/decisions.md, Priority."""

from __future__ import annotations

import os
from collections.abc import Sequence

from schedtop.base.session_nice import raise_session, watch_session
from schedtop.run import mover

NICE = -12
"""Our priority as root, and that of our session: 94 % of a CPU against one busy loop."""

STARTED_NICE = os.getpriority(os.PRIO_PROCESS, 0)
"""What it was started with: what it starts for the user gets no more."""

ORDINARY = ("completion", "config", "diff", "replay", "report", "-h", "--help", "--version")
"""Commands that are in no hurry: they have no `--no-renice`."""


def is_raised(arguments: Sequence[str]) -> bool:
    """Whether a command line asks for a raised priority. Only a command can be the first argument without a dash."""
    return "--no-renice" not in arguments and not set(arguments[:1]) & set(ORDINARY)


def raise_priority(arguments: Sequence[str] = ()) -> None:
    """Raises the priority of this process and its session, if it may. Must come before any thread is started.

    `arguments`: the command line. What answers anybody leaves the session alone: a thread can be taken out of our nice
    value, and not out of the session's.
    """
    try:
        os.setpriority(os.PRIO_PROCESS, 0, min(NICE, os.getpriority(os.PRIO_PROCESS, 0)))
    except OSError:
        return
    others = None if arguments[:1] == ["metrics"] else raise_session(NICE)
    mover.begin()
    if others is not None:
        watch_session(NICE, others)
