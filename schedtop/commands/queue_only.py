"""`--only queue`: the run queues alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from schedtop.run.opening import is_proc
from schedtop.sources.queue.source import QueueSource

_OF_WAITS = (
    "pid",
    "tid",
    "comm",
    "cgroup",
    "pidns",
    "group",
    "hide_self",
    "interrupts",
    "measure_overhead",
    "activity",
)
"""Options of which nothing would be left."""

_NEEDS_KERNEL = "--only queue samples inside the kernel: run it with sudo, and with no --source but btf or tracepoint"


def queue_source(options: Mapping[str, Any], interval_ns: int) -> QueueSource:
    """The source that the options ask for, not yet open. Raises UsageError."""
    for name in _OF_WAITS:
        if options.get(name):
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with --only queue: no task is looked at")
    if options.get("conditions"):
        raise click.UsageError("--on does not go with --only queue: watch for it with `schedtop watch`")
    if options["source"] == "synthetic" or is_proc(options["source"]):
        raise click.UsageError(_NEEDS_KERNEL)
    return QueueSource(interval_ns, options["threshold"], options["source"])
