"""The source, scope and settings that the options of a command line ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from schedtop.commands.grouping import group_of
from schedtop.history.view import ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.source import Source
from schedtop.run.errors import complain
from schedtop.run.opening import is_proc, make_source
from schedtop.sources.host.proc import possible_cpus
from schedtop.sources.kernel.pid_numbers import own_tgid
from schedtop.sources.scope import Scope, find_scope


def scope_of(options: dict[str, Any]) -> Scope:
    """Which tasks' waits count, by the options of the source. Raises UsageError."""
    tasks = (options["pid"], options["tid"], options["comm"])
    if options["source"] == "synthetic":  # its tasks are not this host's
        tasks = ((), (), ())
    try:
        return find_scope(*tasks, options["cgroup"], options["pidns"], numbers_of(options))
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def numbers_of(options: Mapping[str, Any]) -> str:
    """The source of the numbers of tasks that are meant: `proc` also where `auto` will be that."""
    return "proc" if is_proc(options["source"]) else str(options["source"])


def settings_of(options: dict[str, Any], **more: Any) -> ViewSettings:
    """What is shown at first: filter, grouping, and what is hidden."""
    possible = possible_cpus()
    for cpu in options["cpu"]:
        if cpu >= possible and options["source"] != "synthetic":
            raise click.BadParameter(f"there is no CPU {cpu}: this host has 0 to {possible - 1}", param_hint="'--cpu'")
    chosen = Filter(cpus=options["cpu"])
    if options["source"] == "synthetic":  # others filter by task in the kernel
        chosen = Filter(comms=options["comm"], tids=options["tid"], tgids=options["pid"], cpus=options["cpu"])
    hidden = (_own_tgid(numbers_of(options)),) if options["hide_self"] else ()
    return ViewSettings(filter=chosen, hidden_tgids=hidden, group=group_of(options) or "thread", **more)


def _own_tgid(source: str) -> int:
    own = own_tgid(source)
    if not own:
        raise click.UsageError("--hide-self: it cannot be told which number the host has for schedtop; use --pid=host")
    return own


def source_of(
    options: dict[str, Any],
    interval_ns: int,
    *,
    paced: bool = True,
    sampled: bool = True,
    quiet: bool = False,
    activity: bool = False,
) -> Source:
    """The source that the options ask for, not yet open; `sampled`: with samples of the run queues.

    `quiet`: there is a screen that says what is missing; `activity`: Frames have what all tasks do.
    """
    if options.get("only"):
        # Late: most look at everything.
        from schedtop.commands.queue_only import queue_source

        return queue_source(options, interval_ns)
    source = make_source(
        options["source"],
        interval_ns,
        options["threshold"],
        scope=scope_of(options),
        group=group_of(options),
        paced=paced,
        measured=options["measure_overhead"],
        sampled=sampled,
        interrupts=options["interrupts"],
        **({} if quiet else {"say": complain}),
    )
    if not activity:
        return source
    # Late: most Frames are without.
    from schedtop.commands.beside import with_activity

    return with_activity(source, options, scope_of(options))
