"""The table of the parts of a Frame: each field has its line there, and a new line is enough for all that loops."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from schedtop.history.thinning import DETAILS, SPARSE, WHOLE, thinned
from schedtop.model.counts import Loss
from schedtop.model.detail import Detail, Thinned, heaviest
from schedtop.model.encoded_rows import decode_rows, encode_rows
from schedtop.model.frame import Frame, frame_bytes, merge
from schedtop.model.parts import PARTS, Part
from schedtop.model.rows import Rows
from schedtop.recording.fields import frame_of
from schedtop.recording.lines import frame_line, read_entry, read_frame
from schedtop.sources.scheduler.reading import Reading, SinceLast, difference
from schedtop.sources.synthetic.scheduler import Scenario, make_frame
from tests.unit.sources.scheduler.test_reading import reading

MARK_DTYPE = np.dtype([("number", "<i8"), ("count", "<i8")])


def marks(*counts: tuple[int, int]) -> Rows:
    return np.array(list(counts), MARK_DTYPE)


def merge_marks(tables: Sequence[Rows]) -> Rows:
    rows = np.concatenate(tables)
    return marks(*((n, rows["count"][rows["number"] == n].sum()) for n in np.unique(rows["number"]).tolist()))


def subtract_marks(earlier: Rows, later: Rows) -> Rows:
    before = dict(earlier.tolist())
    return marks(*((number, count - before.get(number, 0)) for number, count in later.tolist()))


def thin_marks(rows: Rows, keep: Detail) -> Thinned[Rows]:
    left = heaviest(rows, rows["count"], keep.pairs)
    return Thinned(left, Loss(events_missed=len(rows) - len(left)))


MARKS: Part[Rows] = Part(
    "marks",
    merge_marks,
    difference=subtract_marks,
    encode=encode_rows,
    decode=lambda data, cpus: decode_rows(data, MARK_DTYPE),
    missing="the recording was made by a schedtop that did not count them",
    thin=thin_marks,
    size=lambda rows: rows.nbytes,
)


@dataclass(frozen=True, slots=True, eq=False)
class WiderFrame(Frame):
    """A Frame with one more part: what a new part adds to model/frame.py and model/parts.py."""

    parts: ClassVar[tuple[Part[Any], ...]] = (*PARTS, MARKS)
    marks: Rows = field(default_factory=marks)


@dataclass(slots=True, eq=False)
class WiderReading(Reading):
    """A Reading with its counters: what it adds to reading.py."""

    marks: Rows = field(default_factory=marks)


@dataclass(frozen=True, slots=True, eq=False)
class WiderSinceLast(SinceLast):
    """The same for a part that is of the interval already."""

    marks: Rows = field(default_factory=marks)


def values(thing: object) -> dict[str, Any]:
    return {each.name: getattr(thing, each.name) for each in fields(thing) if each.init}  # type: ignore[arg-type]


def wider(number: int, *counts: tuple[int, int]) -> WiderFrame:
    frame = make_frame(Scenario(), number, np.random.default_rng(number))
    return WiderFrame(**values(frame), marks=marks(*counts))


@pytest.mark.parametrize("kind", [Frame, WiderFrame])
def test_every_field_of_a_frame_has_one_part_and_every_part_a_field(kind: type[Frame]) -> None:
    assert sorted(part.name for part in kind.parts) == sorted(each.name for each in fields(kind))


def test_a_part_that_is_encoded_is_decoded_too() -> None:
    assert all((part.encode is None) == (part.decode is None) for part in PARTS)


def test_parts_without_encoding_stand_at_the_beginning_of_a_line() -> None:
    frame = wider(0)
    told = json.loads(frame_line(frame))["interval"]
    assert {part.name for part in PARTS if part.encode is None} <= set(told)


@pytest.mark.parametrize("lightly", [False, True])
def test_a_new_part_merges(lightly: bool) -> None:
    whole = merge([wider(0, (1, 5)), wider(1, (1, 2), (7, 1)), wider(2)], lightly=lightly)
    assert isinstance(whole, WiderFrame)
    assert whole.marks.tolist() == [(1, 7), (7, 1)]


def test_a_new_part_is_recorded_and_read() -> None:
    frame = wider(0, (1, 5), (7, 1))
    line = frame_line(frame)
    times = {name: getattr(frame, name) for name in ("start_time_ns", "end_ns", "interval_ns", "threshold_ns")}
    again = frame_of(json.loads(line), times, frame.cgroups, WiderFrame)
    assert isinstance(again, WiderFrame)
    assert again.marks.tolist() == [(1, 5), (7, 1)]
    assert frame_line(again) == line


def test_a_recording_from_before_a_new_part_says_that_it_lacks_it() -> None:
    frame = make_frame(Scenario(), 0, np.random.default_rng(0))
    times = {name: getattr(frame, name) for name in ("start_time_ns", "end_ns", "interval_ns", "threshold_ns")}
    old = frame_of(json.loads(frame_line(frame)), times, frame.cgroups, WiderFrame)
    assert isinstance(old, WiderFrame)
    assert len(old.marks) == 0
    assert old.unavailable == {"marks": MARKS.missing}


def test_a_schedtop_from_before_a_new_part_reads_its_recordings() -> None:
    frame = wider(0, (1, 5))
    line = frame_line(frame)
    read_entry(line)
    narrow = Frame(**{name: value for name, value in values(frame).items() if name != "marks"})
    assert frame_line(read_frame(line)) == frame_line(narrow)


def test_a_new_part_is_thinned_and_what_is_lost_of_it_is_counted() -> None:
    frame = wider(0, *((number, number) for number in range(300)))
    recent, old = (thinned(frame, DETAILS[detail]) for detail in (WHOLE, SPARSE))
    assert isinstance(recent, WiderFrame) and isinstance(old, WiderFrame)
    assert (len(recent.marks), len(old.marks)) == (DETAILS[WHOLE].pairs, DETAILS[SPARSE].pairs)
    assert old.marks["number"].tolist() == list(range(250, 300))
    assert old.loss.events_missed == frame.loss.events_missed + 250


def test_a_new_part_counts_in_the_memory_of_a_frame() -> None:
    assert frame_bytes(wider(0, (1, 5), (7, 1))) - frame_bytes(wider(0)) == 2 * MARK_DTYPE.itemsize


def test_a_new_part_is_the_difference_of_two_readings() -> None:
    earlier = WiderReading(**values(reading(0)), marks=marks((1, 5)))
    later = WiderReading(**values(reading(1_000_000)), marks=marks((1, 8), (7, 2)))
    frame = difference(earlier, later, WiderFrame)
    assert isinstance(frame, WiderFrame)
    assert frame.marks.tolist() == [(1, 3), (7, 2)]


def test_a_new_part_of_the_interval_alone_is_not_differenced() -> None:
    events = WiderSinceLast(marks=marks((1, 8)))
    frame = difference(reading(0), replace(reading(1_000_000), since_last=events), WiderFrame)
    assert isinstance(frame, WiderFrame)
    assert frame.marks.tolist() == [(1, 8)]
