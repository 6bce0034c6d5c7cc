"""Frames as lines of a recording, and back."""

import json
import threading
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedtop.model.counts import Pressure
from schedtop.model.frame import Frame, merge
from schedtop.model.host import Host, Topology
from schedtop.recording.lines import SCHEMA, Header, RecordingError, frame_line, header_line, read_frame, read_header
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource

HOST = Host("web-1", "6.1.0", "btf", True, ("a note",), Topology((0, 0, 2), (0, 0, 1), (0, 0, 2)), "comm:nginx")


def frames(grouping: str = "", **scenario: Any) -> list[Frame]:
    source = SyntheticSource(Scenario(**({"frames": 3, "cpus": 3} | scenario)))
    source.set_grouping(grouping)
    return list(source.frames(threading.Event()))


def same(one: Frame, other: Frame) -> bool:
    """Whether two Frames hold the same, to the last count."""
    arrays = [
        *((one.cpus.counters, other.cpus.counters), (one.cpus.online, other.cpus.online)),
        *((one.latency.counts, other.latency.counts), (one.latency.max_ns, other.latency.max_ns)),
        *((getattr(one, name), getattr(other, name)) for name in ("tasks", "slow_waits", "pairs", "throttling")),
    ]
    plain = ("start_time_ns", "end_ns", "interval_ns", "threshold_ns", "kernel_switches", "pressure", "loss")
    return all(np.array_equal(*pair) for pair in arrays) and all(
        getattr(one, name) == getattr(other, name) for name in (*plain, "attribution", "overhead", "unavailable")
    )


def test_a_header_without_cores_is_read() -> None:
    data = json.loads(header_line(Header(HOST, 1)))
    del data["host"]["topology"]["cores"]
    assert read_header(json.dumps(data)).host.topology == Topology((0, 0, 2), (0, 0, 1))


def test_a_frame_comes_back_as_it_was() -> None:
    for frame in frames("tgid"):
        line = frame_line(frame)
        assert line.endswith("}\n")
        assert line.count("\n") == 1
        again = read_frame(line)
        assert same(frame, again)
        assert again.groups is not None and frame.groups is not None
        assert np.array_equal(again.groups.counts, frame.groups.counts)
        assert frame_line(again) == line


def test_windows_of_what_was_read_are_those_of_what_was_written() -> None:
    live = frames()
    assert same(merge(live), merge([read_frame(frame_line(frame)) for frame in live]))


def test_missing_part_stays_missing_in_a_recording() -> None:
    bare = replace(frames()[0], pressure=None, kernel_switches=None, unavailable=MappingProxyType({"steal": "no"}))
    again = read_frame(frame_line(bare))
    assert (again.pressure, again.kernel_switches, again.groups) == (None, None, None)
    assert again.ratio("steal_ns") is None
    assert read_frame(frame_line(replace(bare, pressure=Pressure(0, 0)))).pressure == Pressure(0, 0)


@given(st.binary(max_size=16))
def test_names_are_any_bytes(name: bytes) -> None:
    frame = frames(frames=1, tasks=2)[0]
    frame.tasks["comm"][1] = name
    assert read_frame(frame_line(frame)).tasks["comm"][1] == frame.tasks["comm"][1]


def test_a_cgroup_is_named_once() -> None:
    frame = replace(frames()[0], cgroups=MappingProxyType({5: "/a\udcff", 6: "/b"}))
    assert dict(read_frame(frame_line(frame)).cgroups) == {5: "/a\udcff", 6: "/b"}
    line = frame_line(frame, frame.cgroups)
    assert json.loads(line)["interval"]["cgroups"] == {}
    assert read_frame(line, frame.cgroups).cgroups == frame.cgroups


def test_the_header_names_the_host() -> None:
    header = Header(HOST, 10**18, "0.1", "cpu:1", ("p99 > 10ms",))
    line = header_line(header)
    assert read_header(line) == header
    assert json.loads(line)["schema"] == SCHEMA
    assert json.loads(line)["start_time"] == "2001-09-09T01:46:40.000000Z"
    assert read_header(header_line(Header(replace(HOST, topology=None), 0))).host.topology is None


def test_the_header_holds_all_that_was_asked_for() -> None:
    header = Header(HOST, 0, filters="cpu:1 not_tgid:42")
    line = header_line(header)
    assert json.loads(line)["filters"] == "comm:nginx cpu:1 not_tgid:42"
    assert "recorded_source" not in line
    again = read_header(line)
    assert again.filters == "cpu:1 not_tgid:42", "what the kernel has filtered needs no filter any more"
    assert (again.asked, again.chosen, again.hidden_tgids) == ("comm:nginx cpu:1 --hide-self", "cpu:1", (42,))
    # What an earlier version wrote lacks the scope.
    assert read_header(json.dumps(json.loads(line) | {"filters": "comm:nginxes"})).filters == "comm:nginxes"
    assert Header(replace(HOST, scope=""), 0).asked == ""


@pytest.mark.parametrize(
    "line", ["", "{", "[]", "3", '{"schema": "other/1"}', "{}", '{"schema": "schedtop.recording/1"}']
)
def test_a_foreign_header_is_refused_with_a_reason(line: str) -> None:
    with pytest.raises(RecordingError):
        read_header(line)


def test_a_damaged_frame_is_refused_and_never_half_read() -> None:
    good = json.loads(frame_line(frames()[0]))
    for key in good:
        for value in ([], "x", -1, {"a": 1}, None):
            damaged = good | {key: value}
            if damaged != good:
                # Some are harmless: another time is a time.
                with suppress(RecordingError):
                    read_frame(json.dumps(damaged))
    for key in ("cpus", "tasks", "latency"):
        with pytest.raises(RecordingError):
            read_frame(json.dumps({name: value for name, value in good.items() if name != key}))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("loss", "ring_dropped"), "x"),
        (("loss", "ring_dropped"), 1.5),
        (("pressure", "some_ns"), "a"),
        (("overhead", "cpu_ns"), [1]),
        (("attribution", "idle_ns"), None),
        (("interval", "start_time_ns"), 10**30),
        (("interval", "start_time_ns"), -1),
        (("interval", "interval_ns"), 0),
        (("cpus", "counters", "switches"), [-1, 0, 0]),
        *((("slow_waits", name), [200] * 6) for name in ("cause", "evidence", "kind", "domain")),
        (("slow_waits", "wait_ns"), [2**63 - 1] * 6),
    ],
)
def test_impossible_line_is_refused(path: tuple[str, ...], value: Any) -> None:
    data = json.loads(frame_line(frames()[0]))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(RecordingError):
        read_frame(json.dumps(data))


@settings(deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_any_json_is_a_frame_or_an_error(value: Any) -> None:
    good = json.loads(frame_line(frames(frames=1, tasks=2, slow_waits=1)[0]))
    for key in ("cpus", "latency", "tasks", "loss", "interval"):
        try:
            read_frame(json.dumps(good | {key: value}))
        except RecordingError:
            continue
