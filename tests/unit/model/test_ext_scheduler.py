"""The sched_ext scheduler of a Frame: merged over a window, written and read."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from schedtop.model.ext_scheduler import EXT_STATES, ExtScheduler, decode_ext, encode_ext
from schedtop.model.frame import merge
from schedtop.recording.fields import frame_of
from schedtop.recording.lines import frame_line
from schedtop.sources.synthetic.scheduler import Scenario, make_frame

RUSTY = ExtScheduler("rusty", "enabled", True)
RANDOM = np.random.default_rng(1)


@pytest.mark.parametrize(
    ("seen", "found"),
    [
        ((None, None), None),
        ((RUSTY, RUSTY), RUSTY),
        ((None, RUSTY), RUSTY),
        ((RUSTY, ExtScheduler("layered")), ExtScheduler("layered")),
        ((RUSTY, None), replace(RUSTY, state="disabled")),
    ],
)
def test_a_window_has_the_last_one_and_says_if_it_has_gone(
    seen: tuple[ExtScheduler | None, ...], found: ExtScheduler | None
) -> None:
    frames = [replace(make_frame(Scenario(), index, RANDOM), sched_ext=ext) for index, ext in enumerate(seen)]
    assert merge(frames).sched_ext == found


@pytest.mark.parametrize("ext", [None, RUSTY, ExtScheduler("", "enabling")])
def test_a_recording_keeps_it(ext: ExtScheduler | None) -> None:
    frame = replace(make_frame(Scenario(), 0, RANDOM), sched_ext=ext)
    data = json.loads(frame_line(frame))
    times = {name: getattr(frame, name) for name in ("start_time_ns", "end_ns", "interval_ns", "threshold_ns")}
    assert frame_of(data, times, frame.cgroups).sched_ext == ext
    del data["sched_ext"]
    assert frame_of(data, times, frame.cgroups).sched_ext is None, "one of an older version"
    assert decode_ext(encode_ext(ext), 1) == ext


@pytest.mark.parametrize(
    "data",
    [
        {"name": "rusty", "state": "gone", "takes_all": None},
        {"name": 5, "state": "enabled", "takes_all": None},
        {"name": "rusty", "state": "enabled", "takes_all": 1},
        {"name": "rusty", "state": ["enabled"], "takes_all": None},
        {"name": "rusty"},
        "rusty",
    ],
)
def test_what_cannot_be_is_refused(data: Any) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        decode_ext(data, 1)


def test_a_name_steers_no_terminal_and_is_no_longer_than_the_kernels() -> None:
    assert ExtScheduler("a\x1b[2Jb" + "x" * 500).name == "a?[2Jb" + "x" * 122


def test_words_say_what_it_does() -> None:
    assert [ExtScheduler("rusty", state).words for state in EXT_STATES] == [
        "rusty (enabling)", "rusty", "rusty (disabling)", "rusty (disabled)",
    ]  # fmt: skip
    assert ExtScheduler("").words == "unnamed"
