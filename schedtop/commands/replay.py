"""`schedtop replay`: the dashboard on a recording."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedtop.commands.dashboard import check_screen, show
from schedtop.commands.options import GROUP_NAMES, Moment, Number, Place, group_of
from schedtop.commands.triggers import condition_option, conditions_of, mark
from schedtop.units import format_day_and_clock, format_elapsed

if TYPE_CHECKING:
    from schedtop.history import ViewSettings
    from schedtop.recording import Entry
    from schedtop.session import Signals
    from schedtop.sources.recorded import Recording

HIDDEN = "not_tgid:"
"""How a recording's header names whom its tables shall not show."""


@click.command("replay")
@click.argument("file")
@click.option("--speed", type=click.FloatRange(0.1, 1000), default=1.0, metavar="N",
              help="How many times faster than life, 0.1 to 1000.  [default: 1]")  # fmt: skip
@click.option("--from", "place", type=Moment(), metavar="TIME",
              help="Begin there: 90s or 2m from the beginning, 14:03:10, or a date and time.")  # fmt: skip
@click.option("--export-dir", default=".", metavar="DIR", help="Where keys write files.  [default: .]")
@click.option("--comm", multiple=True, metavar="TEXT", help="Show only tasks with this in their name.")
@click.option("--cpu", type=Number(), multiple=True, metavar="N", help="Show only this CPU.")
@click.option("--group", type=click.Choice(GROUP_NAMES), help="Add tasks up.")
@condition_option
@click.pass_context
def replay(context: click.Context, /, file: str, **options: Any) -> int:
    """Shows a recording in the dashboard; no rights are needed, only the file."""
    from schedtop.session import in_thread, progress
    from schedtop.sources.recorded import Recording
    from schedtop.sources.replay import ReplaySource

    signals: Signals = context.obj
    export_dir = Path(options["export_dir"])
    chosen_dir = context.get_parameter_source("export_dir") is click.core.ParameterSource.COMMANDLINE
    check_screen(export_dir if chosen_dir else None)
    conditions = conditions_of(options)
    with progress(f"reading {file}"):
        recording = in_thread(lambda: Recording(Path(file)), signals)
    if conditions:
        with progress("looking for what --on names"):
            in_thread(lambda: mark(recording, conditions, signals.stop), signals)
        signals.check()
    entries = [indexed.entry for indexed in recording.intervals]
    try:
        first = number_at(entries, options["place"]) if options["place"] else 0
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--from'") from error
    return show(
        signals,
        source := ReplaySource(recording, speed=options["speed"], first=first),
        opening="",
        settings=recorded_settings(recording, options),
        export_dir=export_dir,
        make_screen=partial(_screen, place_of=partial(place_of, source.entries)),
    )


def _screen(*arguments: Any, **more: Any) -> Any:
    from schedtop.ui.replay import ReplayDashboard

    return ReplayDashboard(*arguments, **more)


def place_of(entries: tuple[Entry, ...], text: str) -> int:
    """The number of the interval at a moment that somebody typed. Raises ValueError with a sentence."""
    try:
        return number_at(entries, Moment().convert(text, None, None))
    except click.UsageError as error:
        raise ValueError(error.message) from error


def number_at(entries: list[Entry] | tuple[Entry, ...], place: Place) -> int:
    """The number of the interval that a Place lies in. Raises ValueError if it lies outside of the recording."""
    first, last = entries[0], entries[-1]
    if place.offset_ns is not None:
        # On the clock that orders the intervals: that of the wall may have been set meanwhile.
        wanted_ns = first.end_ns - first.interval_ns + place.offset_ns
        number = next((index for index, entry in enumerate(entries) if entry.end_ns > wanted_ns), None)
    else:
        wanted_ns = place.time_ns(first.start_time_ns)
        after = (index for index, entry in enumerate(entries) if entry.start_time_ns + entry.interval_ns > wanted_ns)
        number = None if wanted_ns < first.start_time_ns - 10**9 else next(after, None)
    if number is None:
        length = format_elapsed(last.end_ns - first.end_ns + first.interval_ns)
        span = f"{format_day_and_clock(first.start_time_ns)} to {format_day_and_clock(last.start_time_ns)}"
        raise ValueError(f"{place.text} is outside of the recording: {span}, {length} long")
    return number


def recorded_settings(recording: Recording, options: Mapping[str, Any]) -> ViewSettings:
    """What is shown at first: what was asked for, else what the recording was made with."""
    from schedtop.filters import Filter
    from schedtop.history import ViewSettings

    hidden = [word for word in recording.header.filters.split() if word.startswith(HIDDEN)]
    hidden_tgids = tuple(int(tgid) for word in hidden for tgid in word[len(HIDDEN) :].split(",") if tgid.isdecimal())
    words = " ".join(word for word in recording.header.filters.split() if word not in hidden)
    if options["comm"] or options["cpu"]:
        chosen = Filter(comms=options["comm"], cpus=options["cpu"])
    else:
        try:
            chosen = Filter.parse(words)
        except ValueError:  # of another version
            chosen = Filter()
    return ViewSettings(filter=chosen, hidden_tgids=hidden_tgids, group=group_of(options) or _group(recording))


def _group(recording: Recording) -> str:
    """The grouping that the recording has histograms for."""
    from schedtop.model import SourceError
    from schedtop.rows import GROUPS

    try:
        groups = recording.frame(0).groups
    except SourceError:
        groups = None
    kinds = {kind: name for name, kind in GROUPS.items()}
    return kinds.get(groups.kind, "thread") if groups else "thread"
