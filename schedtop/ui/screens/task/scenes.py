"""What the task view makes its Scenes of: what the dashboard shows, and its own counts."""

from __future__ import annotations

from schedtop.base.units import NS_PER_S
from schedtop.history.view import View
from schedtop.panes.task.past import Past, PastReader, Subject
from schedtop.panes.task.scene import Scene, Status
from schedtop.task import TaskFrame
from schedtop.ui.screens.task.log import STRIP_NS, TaskLog

WINDOWS_NS = (None, NS_PER_S, 10 * NS_PER_S, 60 * NS_PER_S)
"""What the key for the window chooses from; None: since the task view was opened, and all of the history."""


class Scenes:
    """Makes the Scene of a subject; while it is held, its counts are those of that moment."""

    def __init__(self, subject: Subject, view: View, *, counts: bool) -> None:
        """`counts`: whether any are to come."""
        self.subject = subject
        self.view = view
        self.counted = TaskLog()
        self.arrivals = 0
        self._counts = counts
        self._reader = PastReader(subject)
        self._window_ns: int | None = None
        self._held: TaskLog | None = None
        self.past: Past | None = None
        self.take_view(view)

    def take_view(self, view: View) -> None:
        """Takes what the dashboard shows."""
        self.view = view
        self.past = self._reader.read(view.series, self._window_ns)

    def add(self, item: TaskFrame) -> None:
        """Takes counts."""
        self.arrivals += 1
        self.counted.add(item)

    def status(self, failure: str) -> Status:
        """How it is with the counts, if nothing more comes because of a `failure`."""
        counts = self.counted.counts(None)
        if not self._counts:
            return Status.RECORDED
        if counts is not None and counts.ended:
            return Status.ENDED
        if failure:
            return Status.FAILED
        return Status.COUNTING if counts is not None else Status.ATTACHING

    def scene(self, failure: str, *, frozen: bool) -> Scene:
        """What is to be shown now."""
        log = self.counted if self._held is None else self._held
        return Scene(
            subject=self.subject,
            status=self.status(failure),
            past=self.past,
            counts=log.counts(self._window_ns),
            strip=log.strip(self._window_ns),
            strip_ns=STRIP_NS,
            window_ns=self._window_ns,
            threshold_ns=self.view.frame.threshold_ns,
            reason=failure,
            frozen=frozen,
            anew=log.is_anew,
        )

    @property
    def has_process(self) -> bool:
        """Whether it is a thread whose process is known."""
        return not self.subject.is_process and bool(self.subject.tgid)

    @property
    def process_name(self) -> str:
        """What its process calls itself, if that is known."""
        counts = self.counted.counts(None)
        return (counts.process if counts is not None else "") or self.subject.name

    def hold(self, held: bool) -> None:
        """Keeps the counts as they are now, or follows them again."""
        self._held = self.counted.copy() if held else None

    def next_window(self) -> None:
        """The next of WINDOWS_NS."""
        self._window_ns = WINDOWS_NS[(WINDOWS_NS.index(self._window_ns) + 1) % len(WINDOWS_NS)]
        self.take_view(self.view)

    def begin_anew(self) -> None:
        """Begins the counts anew."""
        self.counted.begin_anew()
        self._held = None if self._held is None else self.counted.copy()
