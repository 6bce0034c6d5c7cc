"""Activity as a part of a Frame: bounded, merged, recorded, thinned."""

from __future__ import annotations

import json
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from schedtop.activity.activity import Activity
from schedtop.activity.devices import by_device
from schedtop.activity.recorded import BY_PROCESS, activity_of, table_of
from schedtop.activity.standing_out import standing_out
from schedtop.activity.view import NO_TASK, ActivitySettings, view_of
from schedtop.history.thinning import DETAILS, SPARSE, thinned
from schedtop.model.activity import Call
from schedtop.model.activity_devices import MOST_DEVICES
from schedtop.model.activity_rows import DEVICE_COUNTS, DEVICE_DTYPE, SUMS
from schedtop.model.activity_table import (
    MOST_CALLS,
    MOST_ERRORS,
    MOST_PROCESSES,
    OTHERS,
    ActivityTable,
    decode_activity,
    encode_activity,
    merge_activity,
)
from schedtop.model.frame import Frame, frame_bytes, merge
from schedtop.model.tcp_changes import MOST_RECORDED, TcpChange
from schedtop.recording.lines import RecordingError, frame_line, read_frame
from schedtop.sources.synthetic.scheduler import Scenario, make_frame
from tests.unit.activity.made import HOST, activity, io, row


def frame_with(found: Activity | None, number: int = 0) -> Frame:
    frame = make_frame(Scenario(), number, np.random.default_rng(number))
    return replace(frame, activity=found and table_of(found))


def busy(processes: int, **more: Any) -> Activity:
    """Processes with as many system calls as their number, two threads each; 5000 has the only retransmits."""
    rows = [row(10 * tgid + thread, tgid, process=b"p%d" % tgid, syscalls=tgid, io_bytes=io(file_read=tgid))
            for tgid in range(1, processes + 1) for thread in (0, 1)]  # fmt: skip
    return activity(*rows, row(5000, 5000, process=b"rsync", tcp_retransmits=3), **more)


def table(found: Activity) -> ActivityTable:
    return table_of(found)


def test_threads_are_added_up_by_process() -> None:
    made = table(busy(2))
    assert [(int(one["tgid"]), int(one["syscalls"])) for one in made.rows] == [(1, 2), (2, 4), (5000, 0)]
    assert made.loss.processes_folded == 0


def test_of_many_processes_the_first_in_any_number_have_a_name_and_the_sums_are_exact() -> None:
    found = busy(300)
    made = table(found)
    assert len(made.rows) == MOST_PROCESSES + 1
    names = {bytes(one["comm"]) for one in made.rows}
    assert {b"rsync", b"p300", b"p299", OTHERS.encode()} <= names and b"p1" not in names
    assert made.loss.processes_folded == 301 - MOST_PROCESSES
    for name in SUMS:
        assert (made.rows[name].sum(axis=0) == found.rows[name].sum(axis=0)).all()


def test_connections_of_no_known_task_stay_apart_from_all_others() -> None:
    unknown = row(0, 0, comm=b"", process=b"", start_ns=0, tcp_retransmits=7)
    found = busy(200)
    made = table(replace(found, rows=np.concatenate([found.rows, unknown])))
    view = view_of([activity_of(replace(frame_with(None), activity=made), HOST) or found], ActivitySettings())
    names = view.names(view.rows)
    assert names.count(OTHERS) == names.count(NO_TASK) == 1
    assert view.rows["tcp_retransmits"][names.index(NO_TASK)] == 7


def test_calls_and_errors_are_bounded_and_their_sums_exact() -> None:
    errors = MappingProxyType({f"E{number}": number for number in range(1, 31)})
    calls = tuple(Call(f"call{number}", number, 0, number, 1) for number in range(200, 0, -1))
    rare = Call("failing", 500, 465, 0, 1, errors)
    made = table(busy(1, syscalls=(*calls, rare)))
    names = [call.name for call in made.syscalls]
    assert len(names) == MOST_CALLS + 1 and {"call200", "failing", OTHERS} <= set(names)
    assert sum(call.count for call in made.syscalls) == sum(range(201)) + 500
    kept = next(call for call in made.syscalls if call.name == "failing").errors
    assert len(kept) == MOST_ERRORS + 1 and sum(kept.values()) == 465 and kept["E30"] == 30


def test_tables_merge_with_gauges_of_the_last_one() -> None:
    def second(count: int, open_ones: int) -> Activity:
        return busy(1, connections=row(10, 1, process=b"p1", tcp_connections=open_ones), syscalls=(
            Call("read", count, 0, count, count), ))  # fmt: skip

    both = merge([frame_with(second(3, 5)), frame_with(None, 1), frame_with(second(4, 2), 2)]).activity
    assert both is not None
    assert (both.interval_ns, both.syscalls[0].count, both.syscalls[0].max_ns) == (2_000_000_000, 7, 4)
    assert (int(both.rows["syscalls"].sum()), int(both.rows["tcp_connections"].sum())) == (4, 2)
    assert both.transitions[("SYN_SENT", "ESTABLISHED")] == 8
    assert merge([frame_with(None), frame_with(None, 1)]).activity is None


def test_others_of_several_intervals_are_one_row() -> None:
    both = merge_activity([table(busy(200)), table(busy(300))])
    assert both is not None
    assert [bytes(one["comm"]) for one in both.rows].count(OTHERS.encode()) == 1


def test_activity_is_recorded_and_read() -> None:
    frame = frame_with(busy(120, connections=row(10, 1, tcp_connections=4)))
    again = read_frame(frame_line(frame))
    assert frame_line(again) == frame_line(frame)
    assert frame.activity is not None and again.activity is not None
    assert (again.activity.rows == frame.activity.rows).all()
    assert again.activity.syscalls == frame.activity.syscalls
    assert again.activity.loss == frame.activity.loss


def moved(changes: int, processes: int, disks: int) -> Activity:
    """With changes of connections, and reads of each process from each disk, the last ones longest."""
    ends = ("LISTEN", "CLOSE", "::1", 80, "10.0.0.7")
    latest = tuple(TcpChange(1_764_000_000_000_000_000 + number, *ends, number) for number in range(changes))
    devices = np.zeros(processes * disks, DEVICE_DTYPE)
    devices["tgid"], devices["device"] = np.divmod(np.arange(len(devices)), disks)
    devices["tgid"] += 1
    devices["reads"], devices["read_bytes"], devices["read_ns"] = 1, 10, np.arange(len(devices))
    names = MappingProxyType({number: f"disk{number}" for number in range(disks)})
    return busy(1, latest=latest, devices=devices, device_names=names)


@pytest.mark.parametrize(("processes", "disks"), [(3, 2), (200, 2), (1, 300)])
def test_devices_and_the_latest_changes_are_recorded_bounded_and_their_sums_exact(processes: int, disks: int) -> None:
    found = moved(40, processes, disks)
    frame = frame_with(found)
    again = read_frame(frame_line(frame)).activity
    assert again is not None and frame.activity is not None
    assert again.latest == found.latest[-MOST_RECORDED:]
    assert (again.devices == frame.activity.devices).all()
    assert len(again.devices) <= 2 * MOST_DEVICES + 1
    for name in DEVICE_COUNTS:
        assert again.devices[name].sum() == found.devices[name].sum()
    shown = activity_of(replace(frame, activity=again), HOST)
    assert shown is not None and shown.latest == again.latest
    told = by_device(shown)
    assert sum(counts["reads"] for counts in told.values()) == processes * disks
    assert (OTHERS in told) is (disks > 2 * MOST_DEVICES)
    if disks == 2:
        assert {name: counts["reads"] for name, counts in told.items()} == {"disk0": processes, "disk1": processes}
    both = merge_activity([again, again])
    assert both is not None and both.devices["reads"].sum() == 2 * processes * disks


def test_a_recording_of_before_says_that_it_has_no_devices() -> None:
    data = encode_activity(table(moved(3, 3, 2)))
    assert data is not None
    again = decode_activity({name: value for name, value in data.items() if name not in ("devices", "latest")}, 2)
    assert again is not None and "devices" in again.unavailable and not again.latest and not len(again.devices)


def test_recordings_without_it_are_read() -> None:
    line = frame_line(frame_with(None))
    assert read_frame(line).activity is None
    old = {name: value for name, value in json.loads(line).items() if name != "activity"}
    again = read_frame(json.dumps(old))
    assert again.activity is None and "activity" not in again.unavailable


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("interval_ns",), -1),
        (("interval_ns",), "1"),
        (("only",), ["x" * 5000]),
        (("only",), [7]),
        (("syscalls",), [["read", 0, 0, 0, 0, {}]]),
        (("syscalls",), [["read", 1, 0, 0, 0, {"E": -1}]]),
        (("syscalls",), [["read", 1, 0, 0, 0, {}]] * 5000),
        (("transitions",), [["A", "B", 1 << 60]]),
        (("latest",), [[1, "A", "B", "::1", 80, "::2", 70_000]]),
        (("latest",), [[1, "A", "B", "::1", -1, "::2", 7]]),
        (("latest",), [[1, "A", "B", 9, 80, "::2", 7]]),
        (("latest",), [[1 << 63, "A", "B", "::1", 80, "::2", 7]]),
        (("latest",), [[1, "A"]]),
        (("latest",), [[1, "A", "B", "::1", 80, "::2", 7]] * 65),
        (("devices", "names"), [[1, "x"]] * 5000),
        (("devices", "names"), [[1, 2]]),
        (("devices", "rows"), {"rows": 2, "tgid": [1]}),
        (("processes", "syscalls"), [1]),
        (("processes", "io_bytes"), [[1]] * 3),
        (("processes", "rows"), 1 << 40),
        (("loss",), {"events_missed": -3}),
    ],
)
def test_what_cannot_be_is_refused(path: tuple[str, ...], value: Any) -> None:
    data = json.loads(frame_line(frame_with(busy(2))))
    place = data["activity"]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(RecordingError):
        read_frame(json.dumps(data))


def test_a_line_of_text_cannot_steer_a_terminal() -> None:
    data = json.loads(json.dumps(encode_activity(table(busy(1)))))
    data["syscalls"][0][0] = "\x1b[2J"
    decoded = decode_activity(data, 2)
    assert decoded is not None and decoded.syscalls[0].name == "?[2J"


def test_long_past_keeps_fewer_processes_and_all_sums() -> None:
    frame = frame_with(busy(80))
    old = thinned(frame, DETAILS[SPARSE]).activity
    assert old is not None and frame.activity is not None
    assert len(old.rows) == DETAILS[SPARSE].pairs + 1 < len(frame.activity.rows)
    assert old.rows["syscalls"].sum() == frame.activity.rows["syscalls"].sum()
    assert old.loss.processes_folded == 81 - DETAILS[SPARSE].pairs
    assert thinned(frame_with(None), DETAILS[SPARSE]).activity is None


def test_activity_counts_in_the_memory_of_a_frame() -> None:
    frame = frame_with(busy(80))
    assert frame.activity is not None
    assert frame_bytes(frame) - frame_bytes(frame_with(None)) >= frame.activity.rows.nbytes


def test_activity_of_a_frame_is_what_was_measured() -> None:
    found = activity(
        row(10, 10, process=b"pg_dump", fsync_ns=620_000_000, syscalls=8),
        connections=row(10, 10, process=b"pg_dump", tcp_connections=4),
    )
    again = activity_of(frame_with(found), HOST)
    assert again is not None
    assert [fact.words for fact in standing_out(again)] == [fact.words for fact in standing_out(found)] != []
    assert (int(again.rows["syscalls"].sum()), int(again.rows["tcp_connections"].sum())) == (8, 0)
    assert int(again.connections["tcp_connections"].sum()) == 4
    assert BY_PROCESS in again.host.notes
    assert activity_of(frame_with(None), HOST) is None
