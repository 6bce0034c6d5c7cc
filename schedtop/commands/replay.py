"""`schedtop replay`: the dashboard on a recording."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import format_day_and_clock, format_elapsed
from schedtop.commands.dashboard import check_screen, show
from schedtop.commands.options import GROUP_NAMES, Moment, Number, Place, appearance_options, group_of
from schedtop.commands.preferences import config_of, config_option, looks, preferences_of, preferred
from schedtop.commands.triggers import condition_option, conditions_of, mark

if TYPE_CHECKING:
    from schedtop.history.view import ViewSettings
    from schedtop.recording.lines import Entry
    from schedtop.run.session import Signals
    from schedtop.sources.replay.recorded import Recording

SLOWEST, FASTEST = 0.1, 1000


class Speed(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """How many times faster than life, as a number or as the player shows it: `8`, `0.5`, `8x`."""

    name = "speed"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            speed = float(value.lower().removesuffix("x") if isinstance(value, str) else value)
        except ValueError:
            speed = math.nan
        if not SLOWEST <= speed <= FASTEST:
            self.fail(f"{str(value)!r} is not a speed: write a number from {SLOWEST} to {FASTEST}", param, ctx)
        return speed


@click.command("replay")
@click.argument("file")
@click.option("--speed", type=Speed(), default=1.0, metavar="N",
              help="How many times faster than life, 0.1 to 1000.  [default: 1]")  # fmt: skip
@click.option("--from", "place", type=Moment(), metavar="TIME",
              help="Begin there: 90s or 2m from the beginning, 14:03:10, or a date and time.")  # fmt: skip
@click.option("--export-dir", default=".", metavar="DIR", help="Where keys write files.  [default: .]")
@click.option("--comm", multiple=True, metavar="TEXT", help="Show only tasks with this in their name.")
@click.option("--cpu", type=Number(), multiple=True, metavar="N", help="Show only this CPU.")
@click.option("--group", type=click.Choice(GROUP_NAMES), help="Add tasks up.")
@config_option
@appearance_options
@condition_option
@click.pass_context
def replay(context: click.Context, /, file: str, **options: Any) -> int:
    """Shows a recording in the dashboard; no rights are needed, only the file."""
    from schedtop.run.session import in_thread, progress
    from schedtop.sources.replay.source import ReplaySource

    signals: Signals = context.obj
    export_dir = Path(options["export_dir"])
    chosen_dir = context.get_parameter_source("export_dir") is click.core.ParameterSource.COMMANDLINE
    check_screen(export_dir if chosen_dir else None, f"schedtop report {shlex.quote(file)}")
    conditions = conditions_of(options)
    config = config_of(options)
    with progress(f"reading {file}"):
        recording = in_thread(lambda: open_recording(Path(file)), signals)
        check_cpus(recording, options["cpu"])
    if conditions:
        with progress("looking for what --on names"):
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


def open_recording(path: Path) -> Recording:
    """The recording in a file. Raises SourceError that names the command for what is none, if there is one."""
    from schedtop.model.source import SourceError
    from schedtop.outputs.files import reason
    from schedtop.outputs.saved import PEEK_BYTES, READABLE, schema_of
    from schedtop.sources.replay.recorded import Recording

    try:
        schema = ""
        if path.is_file():
            with path.open("rb") as file:
                schema = schema_of(file.read(PEEK_BYTES))
    except OSError as error:
        raise SourceError(f"cannot read {path}: {reason(error)}") from error
    kind = schema.removeprefix("schedtop.").partition("/")[0]
    if schema in READABLE:
        raise SourceError(f"{path} is a {kind}, not a recording: use `schedtop report {shlex.quote(str(path))}`")
    if kind in ("snapshot", "report", "diff"):
        raise SourceError(f"{path} is not a schedtop recording: it is {schema!r}")
    return Recording(path)


def check_cpus(recording: Recording, cpus: Sequence[int]) -> None:
    """Raises SourceError if there is no such CPU in it."""
    from schedtop.model.source import SourceError

    if not cpus:
        return
    # CPUs that came later widen the tables; of what is damaged the player tells.
    count = 0
    for number in (len(recording) - 1, 0):
        with suppress(SourceError):
            count = max(count, len(recording.frame(number).cpus.online))
    for cpu in cpus:
        if 0 < count <= cpu:
            raise SourceError(f"there is no CPU {cpu} in {recording.path}: it has 0 to {count - 1}")


def _screen(*arguments: Any, **more: Any) -> Any:
    from schedtop.ui.screens.replay.screen import ReplayDashboard

    return ReplayDashboard(*arguments, **more)


def place_of(entries: tuple[Entry, ...], text: str) -> int:
    """The number of the interval at a moment that somebody typed on the screen.

    Raises ValueError with a few words that fit beside what was typed.
    """
    try:
        place = Moment().convert(text, None, None)
    except click.UsageError as error:
        raise ValueError("not a time: 90s, 2m, 14:03:10 or a date and time") from error
    try:
        return number_at(entries, place)
    except ValueError as error:
        first, last = entries[0], entries[-1]
        length = format_elapsed(last.end_ns - first.end_ns + first.interval_ns)
        begin, end = (format_day_and_clock(entry.start_time_ns) for entry in (first, last))
        days = "" if begin[:10] == end[:10] else f"{end[5:10]} "
        raise ValueError(f"outside of {begin[5:]} to {days}{end[11:]}, {length} long") from error


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


def recorded_settings(recording: Recording, options: Mapping[str, Any], group: str = "thread") -> ViewSettings:
    """What is shown at first: what was asked for, else what the recording was made with, else by this group."""
    from schedtop.history.view import ViewSettings
    from schedtop.model.filters import Filter

    header = recording.header
    if options["comm"] or options["cpu"]:
        chosen = Filter(comms=options["comm"], cpus=options["cpu"])
    else:
        try:
            chosen = Filter.parse(header.chosen)
        except ValueError:  # of another version
            chosen = Filter()
    group = group_of(options) or _group(recording) or group
    return ViewSettings(filter=chosen, hidden_tgids=header.hidden_tgids, group=group)


def _group(recording: Recording) -> str:
    """The grouping that the recording has histograms for, empty without any."""
    from schedtop.model.rows import GROUPS
    from schedtop.model.source import SourceError

    try:
        groups = recording.frame(0).groups
    except SourceError:
        groups = None
    kinds = {kind: name for name, kind in GROUPS.items()}
    return kinds.get(groups.kind, "") if groups else ""
