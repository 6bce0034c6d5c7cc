"""`schedtop snapshot`: one snapshot as data."""

from __future__ import annotations

from typing import Any

import click

from schedtop.commands.opening import settings_of, source_of
from schedtop.commands.output import output_path
from schedtop.run.headless import interval_of, plot_interval_of, take_snapshot
from schedtop.run.opening import opening_words
from schedtop.run.signals import Signals


def run(signals: Signals, options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    plot = options["plot"]
    if plot and options["format_name"] != "text":
        raise click.UsageError("--plot is for --format text")
    interval_ns = (plot_interval_of if plot else interval_of)(options["duration"])
    take_snapshot(
        signals,
        source=source_of(options, interval_ns, paced=False),
        opening=opening_words(options["source"]),
        duration_ns=options["duration"],
        settings=settings_of(options, window_ns=options["duration"]),
        format_name=options["format_name"],
        tasks=options["tasks"],
        output=output_path(options),
        force=options["force"],
        plot=plot,
    )
    return 0
