"""`schedtop snapshot`: one snapshot as data, or one each interval."""

from __future__ import annotations

from typing import Any

import click

from schedtop.base.units import NS_PER_S
from schedtop.commands.opening import settings_of, source_of
from schedtop.commands.output import output_path
from schedtop.commands.streams import refuse_given, say_damage, streaming
from schedtop.outputs.scheduler.stream import Snapshots
from schedtop.run.headless import interval_of, plot_interval_of, take_snapshot
from schedtop.run.opening import opening_words
from schedtop.run.signals import Signals

DURATION_NS = 3 * NS_PER_S
"""How long it collects for one snapshot, unless that is said."""


def run(signals: Signals, options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    if options["interval"] or options["replay"]:
        return _stream(signals, options)
    if options["count"]:
        raise click.UsageError("--count is for --interval: one snapshot is the default")
    plot = options["plot"]
    if plot and options["format_name"] != "text":
        raise click.UsageError("--plot is for --format text")
    duration_ns = options["duration"] or DURATION_NS
    interval_ns = (plot_interval_of if plot else interval_of)(duration_ns)
    take_snapshot(
        signals,
        source=source_of(options, interval_ns, paced=False),
        opening=opening_words(options["source"]),
        duration_ns=duration_ns,
        settings=settings_of(options, window_ns=duration_ns),
        format_name=options["format_name"],
        tasks=options["tasks"],
        output=output_path(options),
        force=options["force"],
        plot=plot,
    )
    return 0


def _stream(signals: Signals, options: dict[str, Any]) -> int:
    what = "--interval" if options["interval"] else "--replay"
    refuse_given(("plot", "output", "force"), f"{what}, which writes to standard output as it goes")
    refuse_given(("duration",), f"{what}: say --count N")
    stream = Snapshots(options["format_name"], options["tasks"])
    work, recording = streaming(signals, options, options["interval"] or 0, stream=stream, count=options["count"])
    status = work.run(signals)
    say_damage(recording)
    return status
