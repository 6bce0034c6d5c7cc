"""Commands that write as they go: something of each interval, until they are stopped."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.frame import Frame, merge
from schedtop.model.source import Source, SourceError
from schedtop.outputs.scheduler.stream import Stream
from schedtop.run.garbage import set_aside
from schedtop.run.progress import progress
from schedtop.run.signals import Signals
from schedtop.run.stdout import check_reader, write_stdout
from schedtop.run.threads import in_thread


@dataclass(frozen=True, slots=True)
class Streaming:
    """What to write of which source. `count`: of how many intervals (`None`: without end).

    `interval_ns`: Frames are added up to this length; 0: each by itself. `is_live`: its source never ends by itself.
    """

    source: Source
    opening: str
    settings: ViewSettings
    stream: Stream
    count: int | None = None
    interval_ns: int = 0
    is_live: bool = True

    def run(self, signals: Signals) -> int:
        """Streams, and gives the exit status: stopping what has no end is no failure.

        Raises SourceError, OutputError; Interrupted if standard output has no reader any more.
        """
        done = in_thread(lambda: self._work(signals.stop), signals)
        asked = self.count is None and done and signals.status in (128 + signal.SIGINT, 128 + signal.SIGTERM)
        return 0 if asked else signals.status

    def _work(self, stop: threading.Event) -> int:
        """Gives how many intervals there were."""
        with progress(self.opening):
            self.source.__enter__()
        done = 0
        try:
            set_aside()
            for frame in self._intervals(stop):
                text = self.stream.text(History(self.source.host, [frame]).view(self.settings))
                # A slow reader holds up the readings: what that loses is counted as loss.
                write_stdout(text) if text else check_reader()
                done += 1
                if done == self.count:
                    break
        finally:
            self.source.__exit__(None, None, None)
        if self.is_live and done != self.count and not stop.is_set():
            raise SourceError("the source ended by itself")
        return done

    def _intervals(self, stop: threading.Event) -> Iterator[Frame]:
        gathered: list[Frame] = []
        length_ns = 0
        for frame in self.source.frames(stop):
            gathered.append(frame)
            length_ns += frame.interval_ns
            if length_ns + frame.interval_ns / 2 > self.interval_ns:
                yield merge(gathered)
                gathered, length_ns = [], 0
        if gathered and not self.is_live:
            yield merge(gathered)
