"""`schedtop replay`: the dashboard on a recording."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import Any

import click

from schedtop.commands.conditions import conditions_of, mark
from schedtop.commands.preferences import config_of, looks, preferences_of, preferred
from schedtop.commands.recorded import check_cpus, number_at, open_recording, place_of, recorded_settings
from schedtop.commands.screen import check_screen, show
from schedtop.run.memory import bounded
from schedtop.run.progress import progress
from schedtop.run.signals import Signals
from schedtop.run.threads import in_thread
from schedtop.sources.replay.source import ReplaySource


def run(context: click.Context, file: str, options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""

    signals: Signals = context.obj
    export_dir = Path(options["export_dir"])
    chosen_dir = context.get_parameter_source("export_dir") is click.core.ParameterSource.COMMANDLINE
    check_screen(export_dir if chosen_dir else None, f"schedtop report {shlex.quote(file)}")
    conditions = conditions_of(options)
    config = config_of(options)
    with progress(f"reading {file}"), bounded(Path(file)):
        recording = in_thread(lambda: open_recording(Path(file)), signals)
        check_cpus(recording, options["cpu"])
    if conditions:
        with progress("looking for what --on names"), bounded(Path(file)):
            in_thread(lambda: mark(recording, conditions, signals.stop), signals)
        signals.check()
    watched = tuple(dict.fromkeys((*recording.header.triggers, *map(str, conditions))))
    entries = [indexed.entry for indexed in recording.intervals]
    try:
        first = number_at(entries, options["place"]) if options["place"] else 0
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--from'") from error
    return show(
        signals,
        source := ReplaySource(recording, speed=options["speed"], first=first),
        opening="",
        settings=preferred(recorded_settings(recording, options, config.text("group")), config),
        export_dir=export_dir,
        make_screen=partial(_screen, place_of=partial(place_of, source.entries), watched=watched),
        preferences=lambda: preferences_of(config, hint=False),
        **looks(options, config),
    )


def _screen(*arguments: Any, **more: Any) -> Any:
    # Late: the screen's modules are imported while the source opens.
    from schedtop.ui.screens.replay.screen import ReplayDashboard

    return ReplayDashboard(*arguments, **more)
