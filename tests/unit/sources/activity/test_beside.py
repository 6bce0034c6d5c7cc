"""Frames with activity: opened, read and closed together."""

from __future__ import annotations

import threading
from typing import Any, Self

import pytest

from schedtop.model.source import SourceError
from schedtop.sources.activity.beside import WithActivity
from schedtop.sources.synthetic.activity import SyntheticActivity
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource


class Noted(SyntheticSource):
    """Says when it is opened and closed."""

    def __init__(self, frames: int = 3) -> None:
        super().__init__(Scenario(frames=frames))
        self.notes: list[str] = []

    def __enter__(self) -> Self:
        self.notes.append("open")
        return super().__enter__()

    def __exit__(self, *exc: Any) -> None:
        self.notes.append("close")
        super().__exit__(*exc)


class Refused(SyntheticActivity):
    """The kernel refuses it."""

    def __enter__(self) -> Self:
        raise SourceError("the kernel refuses it")


def test_each_frame_has_the_activity_since_the_one_before() -> None:
    with WithActivity(Noted(), SyntheticActivity()) as source:
        frames = list(source.frames(threading.Event()))
    alone = SyntheticActivity()
    for frame in frames:
        assert frame.activity is not None
        assert int(frame.activity.rows["syscalls"].sum()) == int(alone.latest().rows["syscalls"].sum())
        assert "/system.slice/nginx.service" in frame.cgroups.values()
    assert len(frames) == 3


def test_both_are_closed_and_a_refusal_closes_the_first() -> None:
    first = Noted()
    with WithActivity(first, SyntheticActivity()):
        pass
    assert first.notes == ["open", "close"]
    second = Noted()
    with pytest.raises(SourceError, match="refuses"), WithActivity(second, Refused()):
        pass
    assert second.notes == ["open", "close"]


def test_what_is_asked_for_reaches_the_source() -> None:
    inner = Noted(frames=1)
    source = WithActivity(inner, SyntheticActivity())
    source.set_sampling(False)
    source.set_interrupts(True)
    source.set_grouping("tgid")
    source.set_threshold(7_000_000)
    source.set_measuring(True)
    with source:
        (frame,) = source.frames(threading.Event())
    assert frame.queue is None and frame.interrupts is not None and frame.groups is not None
    assert frame.threshold_ns == 7_000_000
