"""Activity beside what the scheduler does: a source of Frames that have it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Protocol, Self

from schedtop.activity.activity import Activity
from schedtop.activity.recorded import table_of
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.model.source import Source


class Reader(Protocol):
    """What counts activity: a context manager; `latest`: what was done since the last time, or since the opening."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: Any) -> None: ...

    def latest(self) -> Activity:
        """What was done since the last time, or since the opening."""
        ...


class WithActivity:
    """The Frames of a source, each with the activity of the same time (`Frame.activity`).

    Opening raises SourceError if either cannot be opened. The activity is read right after each Frame, so that its
    interval, which it has by itself, lies up to some milliseconds later.
    """

    def __init__(self, source: Source, reader: Reader) -> None:
        self._source = source
        self._reader = reader
        self.host: Host

    def __enter__(self) -> Self:
        self._source.__enter__()
        self.host = self._source.host
        try:
            self._reader.__enter__()
        except BaseException:
            self._source.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *exc: Any) -> None:
        try:
            self._reader.__exit__(*exc)
        finally:
            self._source.__exit__(*exc)

    def frames(self, stop: threading.Event) -> Iterator[Frame]:
        """The Frames, each with its activity."""
        for frame in self._source.frames(stop):
            activity = self._reader.latest()
            cgroups = _with_names(frame.cgroups, activity)
            yield replace(frame, activity=table_of(activity), cgroups=cgroups)

    def set_threshold(self, threshold_ns: int) -> None:
        """Asks the source."""
        self._source.set_threshold(threshold_ns)

    def set_grouping(self, kind: str) -> None:
        """Asks the source."""
        self._source.set_grouping(kind)

    def set_sampling(self, on: bool) -> None:
        """Asks the source."""
        self._source.set_sampling(on)

    def set_interrupts(self, on: bool) -> None:
        """Asks the source."""
        self._source.set_interrupts(on)

    def set_measuring(self, on: bool) -> None:
        """Asks the source."""
        self._source.set_measuring(on)


def _with_names(cgroups: Mapping[int, str], activity: Activity) -> Mapping[int, str]:
    """The names of a Frame and those that only the activity has; nearly always there are none: Frames share theirs."""
    ids = set(activity.rows["cgroup_id"].tolist()) - cgroups.keys()
    more = {number: activity.cgroups[number] for number in ids if number in activity.cgroups}
    return MappingProxyType({**cgroups, **more}) if more else cgroups
