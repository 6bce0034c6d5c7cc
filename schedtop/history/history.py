"""History: the Frames of the last minutes, bounded in time and memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from schedtop.base.breath import keep_on
from schedtop.base.units import NS_PER_S
from schedtop.history.sorting import sort_pairs, sort_slow_waits, sort_tasks
from schedtop.history.thinning import SPARSE, THINNED, WHOLE, with_detail
from schedtop.history.view import View, ViewSettings
from schedtop.history.windows import WindowMerger, window_of
from schedtop.model.frame import Frame, frame_bytes, merge
from schedtop.model.host import Host

KEEP_NS = 600 * NS_PER_S
"""How far back a History reaches at most."""


KEEP_BYTES, KEEP_BYTES_PER_CPU = 10 << 20, 256 << 10
"""Above this (at most 512 CPUs count) the span stays, and old Frames get coarser, in this order: first they lose
rows where they have thousands, then they are merged in pairs up to SHORT_STEP_NS, then they keep few rows, and at last
they get longer. Of the newest Frame, which is kept as it came, no more than half of this counts."""


SHORT_STEP_NS = 10 * NS_PER_S
"""Old Frames that are together no longer than this are merged before more of their rows are given up."""


OLD_SHARE = 1 / 2
"""Of the Frames those that may be merged, or lose most of their rows: what is recent keeps its resolution."""


SHRINK_STEPS = 16
"""How much of the shrinking one more Frame may cost: the screen waits for it. What is left is done with the next ones.

The first second of a fork storm takes the room of hundreds of small Frames, and gives it back with the next one."""


KEEP_GROUPS_NS = 60 * NS_PER_S
"""How far back histograms by group are kept: the longest window. They are large, and only looked at live."""


class History:
    """The Frames of the last minutes, bounded in time and memory. Not shared between threads."""

    def __init__(self, host: Host, frames: Iterable[Frame] = (), keep_bytes: int | None = None) -> None:
        """`keep_bytes`: how much it may hold, by default as much as suits the number of CPUs."""
        self.host = host
        self._keep_bytes = keep_bytes
        self._frames: list[Frame] = []
        self._sizes: list[int] = []
        self._details: list[int] = []
        """How far each Frame is thinned, an index of DETAILS."""
        self._beginning = "schedtop began to collect here"
        self._merger = WindowMerger()
        self.breathe: Callable[[], object] = keep_on
        """Called in between while a View is made."""
        for frame in frames:
            self.append(frame)

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def frames(self) -> Sequence[Frame]:
        """The Frames from oldest to newest."""
        return self._frames

    @property
    def latest_ns(self) -> int:
        """The `end_ns` of the newest Frame, 0 without Frames."""
        return self._frames[-1].end_ns if self._frames else 0

    @property
    def beginning(self) -> str:
        """Why it reaches back no further, in words."""
        return self._beginning

    @property
    def keep_bytes(self) -> int:
        """How much it may hold."""
        if self._keep_bytes is not None:
            return self._keep_bytes
        cpus = len(self._frames[-1].cpus.online) if self._frames else 0
        return KEEP_BYTES + KEEP_BYTES_PER_CPU * min(cpus, 512)

    def append(self, frame: Frame) -> None:
        """Adds the newest Frame; drops what is too old and coarsens what is too large."""
        self._frames.append(frame)
        self._sizes.append(frame_bytes(frame))
        self._details.append(WHOLE)
        if frame.groups is not None:
            self._forget_groups(frame.end_ns - KEEP_GROUPS_NS)
        while len(self._frames) > 1 and frame.end_ns - self._frames[0].end_ns > KEEP_NS:
            self._drop_oldest(f"{KEEP_NS // (60 * NS_PER_S)} minutes are kept")
        for _ in range(SHRINK_STEPS):
            if len(self._frames) <= 2 or self._counted(self._sizes) <= self.keep_bytes:
                break
            self._shrink()

    def copy(self) -> History:
        """A History that stays as this one is now (it shares the Frames, which never change)."""
        twin = History(self.host, keep_bytes=self._keep_bytes)
        twin._frames, twin._sizes, twin._details = self._frames.copy(), self._sizes.copy(), self._details.copy()
        twin._beginning, twin.breathe = self._beginning, self.breathe
        return twin

    def step(self, end_ns: int, steps: int) -> int:
        """The `end_ns` of the Frame `steps` after (or before) the one that ends at `end_ns`, kept within bounds."""
        ends = [frame.end_ns for frame in self._frames]
        index = bisect_right(ends, end_ns) - 1 + steps
        return ends[min(max(index, 0), len(ends) - 1)]

    def view(self, settings: ViewSettings, end_ns: int | None = None, latest_ns: int | None = None) -> View:
        """The View of the window that ends at `end_ns` (`None`: now). Raises ValueError without Frames."""
        frames = self._frames
        if end_ns is not None:
            frames = [frame for frame in frames if frame.end_ns <= end_ns] or frames[:1]
        if not frames:
            raise ValueError("there is no data yet")
        frame = self._merger.merge(window_of(frames, settings.window_ns), settings.window_ns, self.breathe)
        slow_waits = settings.rows(frame.slow_waits, "cpu", frame.cgroups)
        return View(
            host=self.host,
            settings=settings,
            frame=frame,
            series=tuple(frames),
            tasks=sort_tasks(settings.rows(frame.tasks, "last_cpu", frame.cgroups), settings.task_sort),
            slow_waits=sort_slow_waits(slow_waits, settings.slow_wait_sort, self.breathe),
            frozen=end_ns is not None,
            latest_ns=self.latest_ns if latest_ns is None else latest_ns,
            pairs=sort_pairs(settings.rows(frame.pairs, "", frame.cgroups, "victim_"), settings.blame),
            short_lived=settings.short_lived(frame.short_lived, frame.cgroups),
            later=tuple(self._frames[len(frames) :]) if end_ns is not None else (),
        )

    def _forget_groups(self, before_ns: int) -> None:
        for index, frame in enumerate(self._frames):
            if frame.end_ns >= before_ns:
                return
            if frame.groups is not None:
                self._put(index, replace(frame, groups=None), self._details[index])

    def _put(self, index: int, frame: Frame, detail: int) -> bool:
        """Puts a Frame in the place of another; whether it takes less room."""
        before = self._sizes[index]
        self._frames[index], self._sizes[index], self._details[index] = frame, frame_bytes(frame), detail
        return self._sizes[index] < before

    def _counted(self, sizes: Sequence[int]) -> int:
        """What counts of these sizes up to the newest Frame's: one second of a fork storm may take all the room."""
        return sum(sizes) - max(0, self._sizes[-1] - self.keep_bytes // 2)

    def _shrink(self) -> None:
        """One step, because the screen waits for it: detail goes before time does."""
        if not (self._thin_recent() or self._merge_two(SHORT_STEP_NS) or self._thin_old() or self._merge_two(KEEP_NS)):
            self._drop_oldest("older time was dropped, because there is too much in each second")

    def _thin_recent(self) -> bool:
        """Takes most rows out of the oldest Frame that has them all, where such Frames take half of the room."""
        whole = [place for place, detail in enumerate(self._details) if detail == WHOLE]
        sizes = [self._sizes[place] for place in whole]
        for number, place in enumerate(whole[:-1]):
            if self._counted(sizes[number:]) <= self.keep_bytes / 2:
                break
            frame = self._frames[place]
            if self._put(place, replace(with_detail(frame, THINNED), groups=frame.groups), THINNED):
                return True
        return False

    def _thin_old(self) -> bool:
        """Leaves few rows of the oldest Frame that has more."""
        for place in range(int(len(self._frames) * OLD_SHARE)):
            if self._details[place] < SPARSE and self._put(place, with_detail(self._frames[place], SPARSE), SPARSE):
                return True
        return False

    def _merge_two(self, most_ns: int) -> bool:
        """Merges the two old neighbours that are shortest together, if they are no longer than this."""
        frames = self._frames
        lengths = [frame.interval_ns for frame in frames[: max(2, int(len(frames) * OLD_SHARE))]]
        place = min(range(len(lengths) - 1), key=lambda place: lengths[place] + lengths[place + 1])
        if lengths[place] + lengths[place + 1] > most_ns:
            return False
        detail = max(self._details[place : place + 2])
        merged = with_detail(merge(frames[place : place + 2]), detail)
        # Tasks that lived once do not add up to less: there is another way to save room, but for the last one.
        saved = sum(self._sizes[place : place + 2]) - frame_bytes(merged)
        if saved <= 0 or (detail < SPARSE and saved < self._sizes[place + 1] / 2):
            return False
        self._put(place, merged, detail)
        del self._frames[place + 1], self._sizes[place + 1], self._details[place + 1]
        return True

    def _drop_oldest(self, why: str) -> None:
        self._beginning = why
        del self._frames[0], self._sizes[0], self._details[0]
