"""`schedtop path`: why tasks were late, back from their wakeups across tasks."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import click

from schedtop.base.units import NS_PER_MS, printable
from schedtop.capture.events import Capture
from schedtop.commands.output import checked_output, write_output
from schedtop.outputs.path.formats import FORMATS
from schedtop.path.paths import Paths, find_paths
from schedtop.path.targets import Targets
from schedtop.run.errors import complain
from schedtop.run.progress import progress
from schedtop.run.signals import Signals
from schedtop.run.threads import in_thread
from schedtop.sources.capture.source import CaptureSource
from schedtop.sources.kernel.members import members_of
from schedtop.sources.path.interrupts import InterruptsBeside
from schedtop.sources.path.traits import with_traits
from schedtop.sources.scope import Scope, find_scope

STACKS_NS = NS_PER_MS
"""Sleeps that are at least so long have stacks, and so names for where they were."""


def run(signals: Signals, options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    output = checked_output(options)
    scope = _scope_of(options)
    members = Members(scope)
    with progress("recording"):
        taken = in_thread(lambda: _take(options, members, signals), signals)
    status = signals.answered()
    with signals.raising():
        with progress("walking"):
            paths = _paths(taken, scope, members, options["min_ns"])
            paths = replace(paths, inversion=with_traits(paths.inversion))
        if not paths.episodes and not paths.still_blocked:
            complain(f"no task was late: {printable(str(scope) or 'all tasks')}")
        write_output(FORMATS[options["format_name"]](paths), output, force=options["force"])
    # A user that ends it early has what was asked for.
    return 0 if status == 128 + signal.SIGINT else status


class Members:
    """The tasks of a scope's cgroup, looked up before the recording and after it."""

    def __init__(self, scope: Scope) -> None:
        self._group = scope.cgroup
        self._found: set[int] = set()

    def look(self) -> None:
        """Adds those that are in it now."""
        if self._group:
            self._found |= members_of(self._group[0])

    @property
    def found(self) -> frozenset[int] | None:
        """All so far; `None`: there is no such group."""
        return frozenset(self._found) if self._group else None


def _take(options: dict[str, Any], members: Members, signals: Signals) -> Capture:
    with ExitStack() as stack:
        source = stack.enter_context(CaptureSource(options["source"], options["buffer"], path_ns=STACKS_NS))
        interrupts = stack.enter_context(InterruptsBeside()) if options["interrupts"] else None
        signals.check()  # nothing was recorded yet
        members.look()
        taken = source.take(options["duration"], signals.stop)
        members.look()
        return interrupts.noted(taken) if interrupts else taken


def _paths(taken: Capture, scope: Scope, members: Members, min_ns: int) -> Paths:
    targets = Targets(scope.tids, scope.tgids, scope.comms, members.found, str(scope))
    return find_paths(taken, targets, min_ns)


def _scope_of(options: dict[str, Any]) -> Scope:
    if not all(comm.strip() for comm in options["comm"]):
        raise click.BadParameter("the name is empty", param_hint="'--comm'")
    try:
        return find_scope(options["pid"], options["tid"], options["comm"], options["cgroup"], None)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
