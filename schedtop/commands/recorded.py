"""A recording that a command line names: its file, a place in it, and what is shown of it at first."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from schedtop.base.units import format_day_and_clock, format_elapsed
from schedtop.commands.grouping import group_of
from schedtop.commands.place import Place, parse_place
from schedtop.history.view import ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.rows import GROUPS
from schedtop.model.source import SourceError
from schedtop.outputs.files import reason
from schedtop.outputs.schemas import PEEK_BYTES, READABLE, schema_of
from schedtop.recording.lines import Entry
from schedtop.sources.replay.pieces import open_regular
from schedtop.sources.replay.recorded import Recording


def open_recording(path: Path) -> Recording:
    """The recording in a file. Raises SourceError that names the command for what is none, if there is one."""

    try:
        with open_regular(path) as file:
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


def place_of(entries: tuple[Entry, ...], text: str) -> int:
    """The number of the interval at a moment that was typed on the screen.

    Raises ValueError with a few words that fit beside what was typed.
    """
    try:
        place = parse_place(text)
    except ValueError as error:
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

    try:
        groups = recording.frame(0).groups
    except SourceError:
        groups = None
    kinds = {kind: name for name, kind in GROUPS.items()}
    return kinds.get(groups.kind, "") if groups else ""
