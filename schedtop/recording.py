"""Frames as lines of JSON, and back: the format `schedtop.recording/1`, described in docs/recording.md.

The first line is a header, every other one a Frame, an event between two Frames, or the end. A Frame's line begins with
what an index needs of it. Rows are columns of values; counters that are mostly zero are lists of places and values.
Nothing is rounded: a Frame that was written and read is the same Frame.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from schedtop import __version__
from schedtop.histogram import BUCKETS
from schedtop.model import Attribution, Frame, Host, Loss, Overhead, Pressure, Topology
from schedtop.rows import PAIR_DTYPE, SLOW_WAIT_DTYPE, TASK_DTYPE, THROTTLING_DTYPE, WAIT_KINDS, Rows
from schedtop.tables import CPU_COUNTERS, CpuTable, GroupLatency, LatencyTable
from schedtop.units import iso_time, printable

SCHEMA = "schedtop.recording/1"

NAME_CODE = "latin-1"
"""Names are bytes of any value: each becomes the character of that number."""

HIDDEN, HIDE_SELF = "not_tgid:", "--hide-self"
"""How `Header.filters` begins to name who is left out of tables, and what that is for people."""

_ENTRY_START = '{"interval":'
_SKIPPED = ("padding",)
_TIMES = ("start_time_ns", "end_ns", "interval_ns", "threshold_ns")
_ROWS = {"tasks": TASK_DTYPE, "slow_waits": SLOW_WAIT_DTYPE, "pairs": PAIR_DTYPE, "throttling": THROTTLING_DTYPE}


class RecordingError(ValueError):
    """A line is not what this version can read; the text says why."""


class OtherVersion(RecordingError):
    """It is a recording, but of a format that this version does not know."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a recording says of itself: whose it is, when it began, and what was asked for.

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
    return _line({"event": asdict(event)})


def end_line(end: End) -> str:
    """The last line, with its end."""
    return _line({"end": asdict(end)})


def frame_line(frame: Frame, known_cgroups: Mapping[int, str] = MappingProxyType({})) -> str:
    """The line of a Frame, with its end. `known_cgroups`: names that earlier lines have told."""
    data: dict[str, Any] = {"interval": _entry(frame, known_cgroups), "kernel_switches": frame.kernel_switches}
    data |= {name: _columns(getattr(frame, name)) for name in _ROWS}
    data |= {
        "cpus": {
            "counters": dict(zip(CPU_COUNTERS, frame.cpus.counters.T.tolist(), strict=True)),
            "online": np.flatnonzero(frame.cpus.online).tolist(),
            "queue_length": frame.cpus.queue_length.tolist(),
        },
        "latency": {
            "counts": _sparse(frame.latency.counts),
            "sum_ns": frame.latency.sum_ns.tolist(),
            "max_ns": frame.latency.max_ns.tolist(),
        },
        "groups": _groups(frame.groups),
        "pressure": asdict(frame.pressure) if frame.pressure else None,
        "loss": _without_zeros(asdict(frame.loss)),
        "attribution": _without_zeros(asdict(frame.attribution)),
        "overhead": asdict(frame.overhead),
        "unavailable": dict(frame.unavailable),
    }
    return _line(data)


def read_header(line: str | bytes) -> Header:
    """The Header that a line holds. Raises RecordingError."""
    data = _parsed(line)
    if data.get("schema") != SCHEMA:
        schema = data.get("schema")
        if str(schema).startswith(SCHEMA.partition("/")[0]):
            raise OtherVersion(f"{_words(schema)!r}: this version reads {SCHEMA}")
        raise RecordingError("its first line names no schema" if schema is None else f"it is {_words(schema)!r}")
    header: Header = _checked(lambda: _header(data))
    return header


def _header(data: dict[str, Any]) -> Header:
    host, filters = _host(data["host"]), _words(data["filters"])
    # A word of its own: `comm:a` is no beginning of `comm:ab`.
    if host.scope and f"{filters} ".startswith(f"{host.scope} "):
        filters = filters[len(host.scope) + 1 :]
    triggers = tuple(map(_words, data["triggers"]))
    return Header(host, int(data["start_time_ns"]), _words(data["tool_version"]), filters, triggers)


def read_entry(line: str | bytes) -> Entry | Event | End:
    """What kind of line it is; of a Frame only its beginning is read. Raises RecordingError."""
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
    cpus = _cpu_table(data["cpus"])
    width = len(cpus.online)
    pressure, interval = data["pressure"], data["interval"]
    fresh = _read_cgroups(interval["cgroups"])
    times: dict[str, Any] = {name: int(interval[name]) for name in _TIMES}
    rows: dict[str, Any] = {name: _rows(data[name], dtype) for name, dtype in _ROWS.items()}
    return Frame(
        **times,
        **rows,
        kernel_switches=None if data["kernel_switches"] is None else int(data["kernel_switches"]),
        cpus=cpus,
        latency=LatencyTable(
            _dense(data["latency"]["counts"], (len(WAIT_KINDS), width, BUCKETS)),
            _integers(data["latency"]["sum_ns"], (len(WAIT_KINDS), width)),
            _integers(data["latency"]["max_ns"], (len(WAIT_KINDS), width)),
        ),
        pressure=Pressure(**pressure) if pressure else None,
        loss=Loss(**data["loss"]),
        attribution=Attribution(**data["attribution"]),
        overhead=Overhead(**data["overhead"]),
        groups=_read_groups(data["groups"]),
        cgroups=MappingProxyType({**known_cgroups, **fresh}) if fresh else known_cgroups,
        unavailable=MappingProxyType({str(key): _words(why) for key, why in data["unavailable"].items()}),
    )


def _entry(frame: Frame, known_cgroups: Mapping[int, str]) -> dict[str, Any]:
    return {name: getattr(frame, name) for name in _TIMES} | {
        "slow_waits": len(frame.slow_waits),
        "max_wait_ns": int(frame.latency.max_ns.max(initial=0)),
        "p99_ns": frame.latency.histogram().percentile_ns(0.99),
        "cgroups": {str(key): path for key, path in frame.cgroups.items() if known_cgroups.get(key) != path},
    }


def _read_interval(data: dict[str, Any]) -> Entry:
    numbers = {name: int(data[name]) for name in (*_TIMES, "slow_waits", "max_wait_ns")}
    p99_ns = None if data["p99_ns"] is None else int(data["p99_ns"])
    return Entry(**numbers, p99_ns=p99_ns, cgroups=_read_cgroups(data["cgroups"]))


def _event(data: dict[str, Any]) -> Event:
    return Event(int(data["end_ns"]), _words(data["kind"]), _words(data["text"]))


def _end(data: dict[str, Any]) -> End:
    return End(int(data["frames"]), _words(data["reason"]))


def _read_cgroups(data: dict[str, Any]) -> dict[int, str]:
    return {int(key): str(path) for key, path in data.items()}


def _host(data: dict[str, Any]) -> Host:
    known = {field.name for field in fields(Host)} - {"recorded_source"}
    topology = data["topology"]
    values = {key: value for key, value in data.items() if key in known} | {
        "notes": tuple(map(_words, data["notes"])),
        "topology": Topology(*(tuple(map(int, topology[key])) for key in ("caches", "nodes"))) if topology else None,
    }
    if not all(isinstance(values[key], str) for key in ("name", "kernel", "source", "scope")):
        raise TypeError("a name is not text")
    return Host(**values | {key: _words(values[key]) for key in ("name", "kernel", "source", "scope")})


def _cpu_table(data: dict[str, Any]) -> CpuTable:
    columns = [data["counters"][name] for name in CPU_COUNTERS]
    cpus = len(columns[0])
    online = np.zeros(cpus, bool)
    online[np.array(data["online"], np.int64)] = True
    counters = _integers(columns, (len(CPU_COUNTERS), cpus)).T
    return CpuTable(np.ascontiguousarray(counters), online, _integers(data["queue_length"], (cpus,)))


def _groups(groups: GroupLatency | None) -> dict[str, Any] | None:
    if groups is None:
        return None
    return {
        "kind": groups.kind,
        "ids": groups.ids.tolist(),
        "sum_ns": groups.sum_ns.tolist(),
        "counts": _sparse(groups.counts),
    }


def _read_groups(data: dict[str, Any] | None) -> GroupLatency | None:
    if data is None:
        return None
    ids = np.array(data["ids"], np.int64)
    counts = _dense(data["counts"], (len(ids), BUCKETS))
    return GroupLatency(str(data["kind"]), ids, counts, _integers(data["sum_ns"], (len(ids),)))


def _columns(rows: Rows) -> dict[str, Any]:
    """Rows as a list for each field that is not zero everywhere; none at all has no fields."""
    columns = {}
    for name in rows.dtype.names or ():
        values = rows[name]
        if name not in _SKIPPED and len(rows) and values.any():
            columns[name] = np.char.decode(values, NAME_CODE).tolist() if values.dtype.kind == "S" else values.tolist()
    return {"rows": len(rows), **columns} if len(rows) else {}


def _rows(data: dict[str, Any], dtype: np.dtype[np.void]) -> Rows:
    if not data:
        return np.zeros(0, dtype)
    rows = np.zeros(int(data["rows"]), dtype)
    for name in dtype.names or ():
        if name in data:
            text = rows[name].dtype.kind == "S"
            rows[name] = np.char.encode(np.array(data[name], str), NAME_CODE) if text else data[name]
    return rows


def _sparse(counts: npt.NDArray[Any]) -> list[list[int]]:
    """Places in the flattened array, each as the distance from the one before, and the values there."""
    places = np.flatnonzero(counts)
    return [np.diff(places, prepend=0).tolist(), counts.ravel()[places].tolist()]


def _dense(data: list[list[int]], shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    counts = np.zeros(int(np.prod(shape)), np.int64)
    places = np.cumsum(np.array(data[0], np.int64))
    if len(places) and (places[0] < 0 or places[-1] >= len(counts)):
        raise IndexError("a bucket that does not exist")
    counts[places] = data[1]
    return counts.reshape(shape)


def _words(data: Any) -> str:
    """Text for people. It may come from anywhere, so what could steer a terminal becomes `?`."""
    return printable(str(data))


def _integers(data: Any, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    return np.array(data, np.int64).reshape(shape)


def _without_zeros(data: dict[str, int]) -> dict[str, int]:
    return {name: value for name, value in data.items() if value}


def _line(data: dict[str, Any]) -> str:
    # Part by part: the encoder holds up all other threads while it works, and the screen is one of them.
    return "{" + ",".join(f"{_json(key)}:{_json(value)}" for key, value in data.items()) + "}\n"


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _parsed(line: str | bytes) -> dict[str, Any]:
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
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError, MemoryError) as error:
        raise RecordingError(f"a line lacks something or has it wrong ({type(error).__name__}: {error})") from error
