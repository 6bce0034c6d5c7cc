"""What happened, from a file: a recording, or a snapshot or report as JSON. `report` and `diff` begin here."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedtop.base.limits import SAVED_BYTES
from schedtop.base.units import format_ns, iso_time, plural, printable
from schedtop.commands.place import Place
from schedtop.commands.recorded import recorded_settings
from schedtop.history.view import ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame
from schedtop.model.source import SourceError
from schedtop.outputs.files import reason
from schedtop.outputs.fleet.blame import service_pairs
from schedtop.outputs.fleet.together import Blame
from schedtop.outputs.report.contents import Gatherer, report, view_of
from schedtop.outputs.saved import read_saved
from schedtop.outputs.schemas import PEEK_BYTES, schema_of
from schedtop.recording.lines import SCHEMA as RECORDING_SCHEMA
from schedtop.recording.lines import Entry
from schedtop.sources.replay.pieces import open_regular
from schedtop.sources.replay.recorded import Recording


@dataclass(frozen=True, slots=True)
class Part:
    """Which part of a recording is wanted: `begin` and `end` are `None` where it begins and ends."""

    begin: Place | None = None
    end: Place | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A file's report; of a recording the kernel's number of the boot (`None`: not known), and which service
    waited for which.
    """

    data: dict[str, Any]
    boot_id: str | None = None
    blame: tuple[Blame, ...] = ()


def read_evidence(path: Path, chosen: Filter, part: Part = Part(), **wanted: Any) -> dict[str, Any]:
    """The report of a file; `wanted` as in `outputs.report.contents.report`. Raises SourceError.

    `chosen`: as in `schedtop replay` it takes the place of what the recording was made with; empty: that is kept.
    """
    return read_with_blame(path, chosen, part, **wanted).data


def read_with_blame(path: Path, chosen: Filter, part: Part = Part(), **wanted: Any) -> Evidence:
    """The same, and what a report of many hosts needs besides."""
    try:
        with open_regular(path) as file:
            schema = schema_of(file.read(PEEK_BYTES))
            if schema and schema != RECORDING_SCHEMA:
                if chosen or part != Part():
                    raise SourceError(f"{path} is no recording: it cannot be filtered or cut afterwards")
                file.seek(0)
                return Evidence(read_saved(file.read(SAVED_BYTES + 1), str(path)))
    except OSError as error:
        raise SourceError(f"cannot read {path}: {reason(error)}") from error
    with Recording(path) as recording:
        options = {"comm": chosen.comms, "cpu": chosen.cpus, "group": None}
        return _report_of(recording, recorded_settings(recording, options), part, wanted)


def _report_of(recording: Recording, settings: ViewSettings, part: Part, wanted: dict[str, Any]) -> Evidence:
    numbers = _chosen(recording, part)
    intervals = [recording.intervals[number].entry for number in numbers]
    begin_ns = intervals[0].end_ns - intervals[0].interval_ns
    usual_ns = sorted(entry.interval_ns for entry in intervals)[len(intervals) // 2]
    gatherer = Gatherer(recording.header.host, settings, intervals[-1].end_ns - begin_ns, usual_ns * 9 // 10)
    unread: list[str] = []
    for frame in _frames(recording, numbers, unread):
        gatherer.add(frame)
    if not gatherer.intervals:
        raise SourceError(unread[0])
    for cpu in settings.filter.cpus:
        if cpu >= gatherer.cpus:
            raise SourceError(f"there is no CPU {cpu} in {recording.path}: it has 0 to {gatherer.cpus - 1}")
    data = _about(recording, part, len(unread), _left_out(recording, numbers))
    view = view_of(gatherer.host, gatherer.finish(), settings)
    return Evidence(
        report(gatherer, recording=data, events=_events(recording, numbers), **wanted),
        recording.header.host.boot_id or None,
        tuple(service_pairs(view)),
    )


def _left_out(recording: Recording, numbers: range) -> int:
    """How many damaged lines there were before, between and after these intervals."""
    return sum(numbers.start <= before <= numbers.stop for before in recording.gaps)


def _frames(recording: Recording, numbers: range, unread: list[str]) -> Iterator[Frame]:
    """The Frames that can be read; why the others cannot goes into `unread`."""
    for number in numbers:
        try:
            yield recording.frame(number)
        except SourceError as error:
            unread.append(str(error))


def _chosen(recording: Recording, part: Part) -> range:
    """The numbers of the intervals that lie mostly within the part. Raises SourceError if there is none."""
    entries = [indexed.entry for indexed in recording.intervals]
    first, last = entries[0], entries[-1]
    length_ns = last.end_ns - first.end_ns + first.interval_ns
    begin = next((at for at, entry in enumerate(entries) if _reaches(entry, first, part.begin)), len(entries))
    end = len(entries)
    if part.end is not None:
        end = next((at for at, entry in enumerate(entries) if _reaches(entry, first, part.end)), len(entries))
    if begin < end:
        return range(begin, end)
    where = f"it begins at {iso_time(first.start_time_ns)} and is {format_ns(length_ns)} long"
    raise SourceError(f"{recording.path} has no interval between --from and --to: {where}")


def _reaches(entry: Entry, first: Entry, place: Place | None) -> bool:
    """Whether the middle of an interval is at that place or after it."""
    if place is None:
        return True
    if place.offset_ns is not None:
        # On the clock that orders the intervals: that of the wall may have been set meanwhile.
        return entry.end_ns - entry.interval_ns // 2 >= first.end_ns - first.interval_ns + place.offset_ns
    return entry.start_time_ns + entry.interval_ns // 2 >= place.time_ns(first.start_time_ns)


def _events(recording: Recording, numbers: range) -> list[dict[str, Any]]:
    """The events of these intervals, with their times."""
    entries = [recording.intervals[number].entry for number in numbers]
    begin_ns = entries[0].end_ns - entries[0].interval_ns
    ends = [entry.end_ns for entry in entries]
    events = []
    for event in recording.events:
        if begin_ns < event.end_ns <= entries[-1].end_ns:
            nearest = entries[min(bisect_left(ends, event.end_ns), len(entries) - 1)]
            time_ns = nearest.start_time_ns + nearest.interval_ns + event.end_ns - nearest.end_ns
            offset_ns = event.end_ns - begin_ns
            events.append({"time": iso_time(time_ns), "offset_ns": offset_ns, "kind": event.kind, "text": event.text})
    return events


def _about(recording: Recording, part: Part, unread: int, left_out: int) -> dict[str, Any]:
    header, entries = recording.header, [indexed.entry for indexed in recording.intervals]
    within = f"{unread} {plural(unread, 'interval is', 'intervals are')} damaged within and left out" if unread else ""
    return {
        "file": printable(recording.path.name),
        "tool_version": header.tool_version,
        "start_time": iso_time(header.start_time_ns),
        "filters": header.asked,
        "triggers": list(header.triggers),
        "notes": list(header.host.notes),
        "intervals": len(entries),
        "ended": recording.end.reason if recording.end else None,
        "intervals_damaged": unread + left_out,
        "damage": "; ".join(filter(None, (recording.damage, within))) or None,
        "from": part.begin.text if part.begin else None,
        "to": part.end.text if part.end else None,
    }
