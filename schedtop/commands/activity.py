"""`schedtop activity`: what all tasks do for a while."""

from __future__ import annotations

import signal
from typing import Any

import click

from schedtop.activity.activity import Activity
from schedtop.activity.fields import FIELDS
from schedtop.base.units import printable
from schedtop.commands.output import checked_output, write_output
from schedtop.outputs.activity.asked import Asked
from schedtop.outputs.activity.document import NAMES
from schedtop.outputs.activity.formats import FORMATS
from schedtop.run.progress import progress
from schedtop.run.signals import Signals
from schedtop.run.threads import in_thread
from schedtop.sources.activity.source import LiveActivity
from schedtop.sources.scope import find_scope


def run(signals: Signals, options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    output = checked_output(options)
    asked = Asked(options["by"], _sort(options), options["top"])
    source = _source_of(options)
    with progress("measuring"):
        taken = in_thread(lambda: _take(source, options["duration"], signals), signals)
    status = signals.answered()
    if not len(taken.rows):
        click.echo(f"schedtop: nothing was done by: {printable(taken.host.scope or 'any task')}", err=True)
    with signals.raising():
        write_output(FORMATS[options["format_name"]](taken, asked), output, force=options["force"])
    # A user that ends it early has what was asked for.
    return 0 if status == 128 + signal.SIGINT else status


def _sort(options: dict[str, Any]) -> str:
    field, known = str(options["sort"]), [*NAMES, *(name for part in options["only"] for name in FIELDS[part])]
    if field and field not in known:
        measured = any(field in names for names in FIELDS.values())
        why = "is not measured with this --only" if measured else f"is none of {', '.join(known)}"
        raise click.BadParameter(f"{field!r} {why}", param_hint="'--sort'")
    return field


def _take(source: LiveActivity, duration_ns: int, signals: Signals) -> Activity:
    with source:
        signals.check()  # nothing was measured yet
        return source.take(duration_ns, signals.stop)


def _source_of(options: dict[str, Any]) -> LiveActivity:
    if not all(comm.strip() for comm in options["comm"]):
        raise click.BadParameter("the name is empty", param_hint="'--comm'")
    try:
        scope = find_scope(options["pid"], options["tid"], options["comm"], options["cgroup"], None)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return LiveActivity(scope, options["only"], source=options["source"])
