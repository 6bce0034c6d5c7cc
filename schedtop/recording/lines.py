"""Frames as lines of JSON, and back: the format `schedtop.recording/1`, described in docs/recording.md.

The first line is a header, every other one a Frame, an event between two Frames, or the end. A Frame's line begins with
what an index needs of it; the rest is its parts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import Any

from schedtop import __version__
from schedtop.base.limits import TEXT_CHARS, is_parsable
from schedtop.base.units import iso_time, printable
from schedtop.model.encoded_rows import encode_rows, encoded_columns
from schedtop.model.frame import Frame
from schedtop.model.host import Host, Topology
from schedtop.recording.fields import frame_of

SCHEMA = "schedtop.recording/1"

HIDDEN, HIDE_SELF = "not_tgid:", "--hide-self"
"""How `Header.filters` begins to name what is left out of tables, and the words for that on a screen."""

_ENTRY_START = '{"interval":'
_TIMES = ("start_time_ns", "end_ns", "interval_ns", "threshold_ns")
_MOST_NS = 1 << 62  # the year 2116
_MOST_WORDS = 300
_MOST_DIGITS = 20
"""Of a number of 64 bits."""


class RecordingError(ValueError):
    """A line is not what this version can read; the text says why."""


class OtherVersion(RecordingError):
    """It is a recording, but of a format that this version does not know."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a recording says of itself: which host it is of, when it began, and what was asked for.

    `filters`: what was chosen beside the kernel's scope (`Host.scope`), as it is typed, the processes that tables leave
    out last (`not_tgid:N`); `triggers`: conditions, in words. In the file `filters` begins with the scope.
    """

    host: Host
    start_time_ns: int
    tool_version: str = __version__
    filters: str = ""
    triggers: tuple[str, ...] = ()

    @property
    def hidden_tgids(self) -> tuple[int, ...]:
        """The processes that tables leave out."""
        numbers = [number for word in self._hidden for number in word.removeprefix(HIDDEN).split(",")]
        return tuple(int(number) for number in numbers if number.isdecimal())

    @property
    def chosen(self) -> str:
        """`filters` without the processes that are left out: a filter as it is typed."""
        return " ".join(word for word in self.filters.split() if word not in self._hidden)

    @property
    def asked(self) -> str:
        """All that the recorder was asked for, in people's words; empty: everything."""
        return " ".join(filter(None, (self.host.scope, self.chosen, HIDE_SELF if self._hidden else "")))

    @property
    def _hidden(self) -> list[str]:
        return [word for word in self.filters.split() if word.startswith(HIDDEN)]


@dataclass(frozen=True, slots=True)
class Entry:
    """What the line of a Frame says first, to find one among many without reading them whole.

    `p99_ns` is the 99th percentile of all waits, `None` without any; `cgroups` are names that no earlier line has told.
    """

    start_time_ns: int
    end_ns: int
    interval_ns: int
    threshold_ns: int
    slow_waits: int
    max_wait_ns: int
    p99_ns: int | None
    cgroups: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at the end of a Frame: `kind` is `trigger` or `note`, `text` says what, for people."""

    end_ns: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class End:
    """The last line of a recording that was closed: how many Frames it holds, and why it ended, in words."""

    frames: int
    reason: str


def filters_of(chosen: str, hidden_tgids: tuple[int, ...]) -> str:
    """`Header.filters`: a filter as it is typed, and the processes that tables leave out."""
    return f"{chosen} {HIDDEN}{','.join(map(str, hidden_tgids))}".strip() if hidden_tgids else chosen


def header_line(header: Header) -> str:
    """The first line of a recording, with its end."""
    data = {
        "schema": SCHEMA,
        "tool_version": header.tool_version,
        "start_time": iso_time(header.start_time_ns),
        "start_time_ns": header.start_time_ns,
        "host": {key: value for key, value in asdict(header.host).items() if key != "recorded_source"},
        "filters": f"{header.host.scope} {header.filters}".strip(),
        "triggers": list(header.triggers),
    }
    return _line(data)


def event_line(event: Event) -> str:
    """The line of an event, with its end."""
    return _line({"event": asdict(event) | {"text": event.text[:TEXT_CHARS]}})


def end_line(end: End) -> str:
    """The last line, with its end."""
    return _line({"end": asdict(end) | {"reason": end.reason[:TEXT_CHARS]}})


def frame_line(frame: Frame, known_cgroups: Mapping[int, str] = MappingProxyType({})) -> str:
    """The line of a Frame, with its end. `known_cgroups`: names that earlier lines have told."""
    return "".join(frame_pieces(frame, known_cgroups))


def frame_pieces(frame: Frame, known_cgroups: Mapping[int, str]) -> Iterator[str]:
    """The same in pieces, tables column by column: the encoder holds up all other threads while it works."""
    yield f"{_ENTRY_START}{_json(_entry(frame, known_cgroups))}"
    for part in frame.parts:
        if part.encode is encode_rows:
            yield f",{_json(part.name)}:{{"
            for place, (name, values) in enumerate(encoded_columns(getattr(frame, part.name))):
                yield f"{',' if place else ''}{_json(name)}:{_json(values)}"
            yield "}"
        elif part.encode:
            yield f",{_json(part.name)}:{_json(part.encode(getattr(frame, part.name)))}"
    yield "}\n"


def read_header(line: str | bytes) -> Header:
    """The Header that a line holds. Raises RecordingError."""
    data = _parsed(line)
    if data.get("schema") != SCHEMA:
        schema = data.get("schema")
        if isinstance(schema, str) and schema.startswith(SCHEMA.partition("/")[0]):
            raise OtherVersion(f"{_named(schema)}: this version reads {SCHEMA}")
        raise RecordingError("its first line names no schema" if schema is None else f"it is {_named(schema)}")
    header: Header = _checked(lambda: _header(data))
    return header


def _header(data: dict[str, Any]) -> Header:
    host, filters = _host(data["host"]), _words(data["filters"])
    # A word of its own: `comm:a` is no beginning of `comm:ab`.
    if host.scope and f"{filters} ".startswith(f"{host.scope} "):
        filters = filters[len(host.scope) + 1 :]
    triggers = tuple(map(_words, data["triggers"]))
    start_time_ns = int(data["start_time_ns"])
    if not 0 <= start_time_ns < _MOST_NS:
        raise ValueError("a time that cannot be")
    return Header(host, start_time_ns, _words(data["tool_version"]), filters, triggers)


def read_entry(line: str | bytes) -> Entry | Event | End:
    """What kind of line it is; of a Frame only its beginning is read. Raises RecordingError."""
    _check_size(line)
    text = line.decode("ascii", "replace") if isinstance(line, bytes) else line
    if not text.startswith(_ENTRY_START):
        data = _parsed(text)
        kind = next((name for name in ("event", "end") if name in data), None)
        if kind is None:
            raise RecordingError("a line is neither an interval nor an event")
        thing: Event | End = _checked(lambda: _event(data["event"]) if kind == "event" else _end(data["end"]))
        return thing
    try:
        data, _ = json.JSONDecoder().raw_decode(text, len(_ENTRY_START))
    except (ValueError, RecursionError) as error:
        raise RecordingError("a line is not JSON") from error
    entry: Entry = _checked(lambda: _read_interval(data))
    return entry


def read_frame(line: str | bytes, known_cgroups: Mapping[int, str] = MappingProxyType({})) -> Frame:
    """The Frame of a line; `known_cgroups`: names from earlier lines. Raises RecordingError."""
    data = _parsed(line)
    frame: Frame = _checked(lambda: _frame(data, known_cgroups))
    return frame


def _frame(data: dict[str, Any], known_cgroups: Mapping[int, str]) -> Frame:
    interval = data["interval"]
    fresh = {key: path for key, path in _read_cgroups(interval["cgroups"]).items() if known_cgroups.get(key) != path}
    cgroups = MappingProxyType({**known_cgroups, **fresh}) if fresh else known_cgroups
    return frame_of(data, _times(interval), cgroups)


def _times(data: dict[str, Any]) -> dict[str, int]:
    times = {name: int(data[name]) for name in _TIMES}
    if not all(0 <= ns < _MOST_NS for ns in times.values()) or not times["interval_ns"]:
        raise ValueError("a time that cannot be")
    return times


def _entry(frame: Frame, known_cgroups: Mapping[int, str]) -> dict[str, Any]:
    return {name: getattr(frame, name) for name in _TIMES} | {
        "slow_waits": len(frame.slow_waits),
        "max_wait_ns": max(int(frame.latency.max_ns.max(initial=0)), int(frame.slow_waits["wait_ns"].max(initial=0))),
        "p99_ns": frame.latency.histogram().percentile_ns(0.99),
        "cgroups": {str(key): path for key, path in frame.cgroups.items() if known_cgroups.get(key) != path},
    }


def _read_interval(data: dict[str, Any]) -> Entry:
    numbers = _times(data) | {name: _number(data[name]) for name in ("slow_waits", "max_wait_ns")}
    p99_ns = None if data["p99_ns"] is None else _number(data["p99_ns"])
    return Entry(**numbers, p99_ns=p99_ns, cgroups=_read_cgroups(data["cgroups"]))


def _number(data: Any) -> int:
    """A whole number of 64 bits: one of thousands of digits takes kilobytes. Raises ValueError, TypeError."""
    number = int(data)
    if not -_MOST_NS < number < _MOST_NS:
        raise ValueError("a number that cannot be")
    return number


def _event(data: dict[str, Any]) -> Event:
    return Event(_number(data["end_ns"]), _short(data["kind"]), _short(data["text"]))


def _end(data: dict[str, Any]) -> End:
    return End(_number(data["frames"]), _short(data["reason"]))


def _read_cgroups(data: dict[str, Any]) -> dict[int, str]:
    if not all(type(path) is str and len(path) <= TEXT_CHARS for path in data.values()):
        raise ValueError(f"a name of a cgroup is longer than {TEXT_CHARS} characters, or no text")
    if max(map(len, data), default=0) > _MOST_DIGITS:
        raise ValueError("an id of a cgroup that cannot be")
    return {int(key): path for key, path in data.items()}


_HOST_WORDS = ("name", "kernel", "source", "scope", "weight_file", "boot_id")


def _host(data: dict[str, Any]) -> Host:
    known = {field.name for field in fields(Host)} - {"recorded_source"}
    topology = data["topology"]
    values = {key: value for key, value in data.items() if key in known} | {
        "notes": tuple(map(_words, data["notes"])),
        "topology": _topology(topology) if topology else None,
    }
    for later in ("weight_file", "boot_id"):
        values.setdefault(later, "")
    if not all(isinstance(values[key], str) for key in _HOST_WORDS):
        raise TypeError("a name is not text")
    ratio = values.get("rt_ratio")
    if ratio is not None and not (type(ratio) in (int, float) and 0 <= ratio <= 1):
        raise ValueError("a share of real-time tasks that cannot be")
    return Host(**values | {key: _words(values[key]) for key in _HOST_WORDS})


def _topology(data: dict[str, Any]) -> Topology:
    """Older versions did not write `cores`."""
    caches, nodes = (tuple(map(int, data[key])) for key in ("caches", "nodes"))
    return Topology(caches, nodes, tuple(map(int, data.get("cores", ()))))


def _words(data: Any) -> str:
    """Text for people. It may come from anywhere, so what could steer a terminal becomes `?`. Raises TypeError."""
    if not isinstance(data, str):
        raise TypeError("a text is none")
    return printable(data)


def _short(data: Any) -> str:
    """Text for people that is not long. Raises TypeError, ValueError."""
    if len(data) > TEXT_CHARS:
        raise ValueError(f"a text is longer than {TEXT_CHARS} characters")
    return _words(data)


def _named(schema: Any) -> str:
    """A schema that is not ours, for a message."""
    return repr(printable(schema[:_MOST_WORDS])) if isinstance(schema, str) else "no text"


def _line(data: dict[str, Any]) -> str:
    return f"{_json(data)}\n"


_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode


def _check_size(line: str | bytes) -> None:
    """Raises RecordingError if the objects in the line would take too much memory."""
    if not is_parsable(line):
        raise RecordingError("a line holds too many things")


def _parsed(line: str | bytes) -> dict[str, Any]:
    _check_size(line)
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RecordingError("a line is not JSON") from error
    if not isinstance(data, dict):
        raise RecordingError("a line is no JSON object")
    return data


def _checked(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
        # A key, of any length and with anything in it, may be in the error's words.
        why = printable(str(error)[:_MOST_WORDS])
        raise RecordingError(f"a line lacks something or has it wrong ({type(error).__name__}: {why})") from error
