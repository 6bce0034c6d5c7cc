"""History: the Frames of the last minutes. View: an immutable cut of it, filtered and sorted, ready to be shown."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from schedtop.filters import NO_CGROUPS
from schedtop.filters import Filter as Filter
from schedtop.histogram import Histogram
from schedtop.model import Attribution, Frame, Host, Loss, merge
from schedtop.rows import PAIR_DTYPE, Integers, Rows, take_rows
from schedtop.short_lived import folded, no_short_lived
from schedtop.units import NS_PER_S
from schedtop.windows import WindowMerger, window_of

KEEP_NS = 600 * NS_PER_S
"""How far back a History reaches at most. At least half of it stays at full resolution memory permitting."""

KEEP_BYTES, KEEP_BYTES_PER_CPU = 9 << 20, 256 << 10
"""Above this (at most 512 CPUs count) old Frames are merged in pairs: the span stays, its old part gets coarser."""

KEEP_OLD_TASKS, KEEP_OLD_SLOW_WAITS, KEEP_OLD_PAIRS = 1000, 250, 250
"""How many a merged Frame keeps of those that lived or happened only once; the others are counted in its loss, the
waits of pairs among the others of its attribution."""

KEEP_OLD_SHORT_LIVED = 100
"""How many rows of short-lived tasks a merged Frame keeps; the tasks of the others are counted without a name."""

KEEP_OLD_ENDED = 100
"""How many of the tasks that ended in it a Frame keeps one by one, when a fork storm leaves too little room for the
time before it; the others are counted as forgotten. They stay among the short-lived ones."""

SHRINK_STEPS = 16
"""How much of the shrinking one more Frame may cost: the screen waits for it. What is left is done with the next ones.

The first second of a fork storm takes the room of hundreds of small Frames, and gives it back with the next one."""

KEEP_GROUPS_NS = 60 * NS_PER_S
"""How far back histograms by group are kept: the longest window. They are large, and only looked at live."""

FRAME_BYTES = 4 << 10
"""What a Frame costs besides its arrays, about."""

TASK_SORTS = {
    "run_delay_ns": "run delay",
    "max_wait_ns": "longest wait",
    "switches": "switches",
    "involuntary_switches": "involuntary switches",
    "run_ns": "run time",
    "migrations": "migrations",
}
"""Sort keys of the task table with their words, all descending."""

PAIR_SORTS = {"blocker": "blocked_ns", "preemptor": "preempted_ns"}
"""Who is blamed in a pair, and the time that counts then."""

PAIR_ORDERS = {"time": "most time first", "count": "most often first"}
"""Orders of the pairs, when they are grouped, with their words."""

SLOW_WAIT_SORTS = {"wait_ns": "slowest first", "time_ns": "newest first"}


@dataclass(frozen=True, slots=True)
class ViewSettings:
    """What the user chose to see: window, filter, sort orders, one of GROUPS, and whom to blame (of PAIR_SORTS)."""

    window_ns: int = NS_PER_S
    filter: Filter = field(default_factory=Filter)
    hidden_tgids: tuple[int, ...] = ()
    """Processes that no table shows: schedtop itself, on request."""
    task_sort: str = "run_delay_ns"
    slow_wait_sort: str = "wait_ns"
    group: str = "thread"
    blame: str = "blocker"
    pair_sort: str = "time"
    short_lived_sort: str = "count"

    def rows(self, rows: Rows, cpu_field: str, cgroups: Mapping[int, str] = NO_CGROUPS, role: str = "") -> Rows:
        """The rows that are to be seen, see `Filter.rows`."""
        if self.hidden_tgids:
            rows = rows[~np.isin(rows[f"{role}tgid"], self.hidden_tgids)]
        return self.filter.rows(rows, cpu_field, cgroups, role)

    def short_lived(self, rows: Rows, cgroups: Mapping[int, str] = NO_CGROUPS) -> Rows:
        """The rows of SHORT_LIVED_DTYPE that are to be seen: numbers are those of who started them."""
        if self.hidden_tgids:
            rows = rows[~np.isin(rows["parent_tgid"], self.hidden_tgids)]
        return self.filter.rows(rows, "", cgroups, number_field="parent_tgid")


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What is shown: the Frame of the window, the Frames behind it for plots over time, and rows in order.

    `series` ends with the newest Frame of the window; `tasks`, `slow_waits` and `pairs` (by victim) are filtered and
    sorted rows, `short_lived` filtered ones; `latest_ns` is the `end_ns` of the newest Frame collected, so that a
    frozen View knows its age.
    """

    host: Host
    settings: ViewSettings
    frame: Frame
    series: tuple[Frame, ...]
    tasks: Rows
    slow_waits: Rows
    frozen: bool = False
    latest_ns: int = 0
    pairs: Rows = field(default_factory=lambda: np.empty(0, PAIR_DTYPE))
    short_lived: Rows = field(default_factory=no_short_lived)

    @property
    def cpu_ids(self) -> list[int]:
        """The online CPUs that the filter lets through."""
        return self.settings.filter.cpu_ids(self.frame.cpus.ids)

    @property
    def age_ns(self) -> int:
        """How far behind the newest Frame this View ends."""
        return max(0, self.latest_ns - self.frame.end_ns)

    def latency(self, kind: str | None = None) -> Histogram:
        """Runqueue latency of the window on the CPUs that the filter lets through."""
        wanted = self.settings.filter.cpus
        if not wanted:
            return self.frame.latency.histogram(kind)
        width = self.frame.latency.counts.shape[1]
        chosen = [self.frame.latency.histogram(kind, cpu) for cpu in wanted if cpu < width]
        return sum(chosen, Histogram.empty())


class History:
    """The Frames of the last minutes, bounded in time and memory. Not shared between threads."""

    def __init__(self, host: Host, frames: Iterable[Frame] = (), keep_bytes: int | None = None) -> None:
        """`keep_bytes`: how much it may hold, by default as much as suits the number of CPUs."""
        self.host = host
        self._keep_bytes = keep_bytes
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self._thinned_ns = -1
        self._merger = WindowMerger()
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
    def keep_bytes(self) -> int:
        """How much it may hold."""
        if self._keep_bytes is not None:
            return self._keep_bytes
        cpus = len(self._frames[-1].cpus.online) if self._frames else 0
        return KEEP_BYTES + KEEP_BYTES_PER_CPU * min(cpus, 512)

    def append(self, frame: Frame) -> None:
        """Adds the newest Frame; drops what is too old and coarsens what is too large."""
        self._frames.append(frame)
        self._bytes += frame_bytes(frame)
        if frame.groups is not None:
            self._forget_groups(frame.end_ns - KEEP_GROUPS_NS)
        while len(self._frames) > 1 and frame.end_ns - self._frames[0].end_ns > KEEP_NS:
            self._bytes -= frame_bytes(self._frames.popleft())
        for _ in range(SHRINK_STEPS):
            if self._bytes <= self.keep_bytes or len(self._frames) <= 2:
                break
            self._shrink()

    def copy(self) -> History:
        """A History that stays as this one is now (it shares the Frames, which never change)."""
        twin = History(self.host, keep_bytes=self._keep_bytes)
        twin._frames, twin._bytes, twin._thinned_ns = deque(self._frames), self._bytes, self._thinned_ns
        return twin

    def step(self, end_ns: int, steps: int) -> int:
        """The `end_ns` of the Frame `steps` after (or before) the one that ends at `end_ns`, kept within bounds."""
        ends = [frame.end_ns for frame in self._frames]
        index = bisect_right(ends, end_ns) - 1 + steps
        return ends[min(max(index, 0), len(ends) - 1)]

    def view(self, settings: ViewSettings, end_ns: int | None = None, latest_ns: int | None = None) -> View:
        """The View of the window that ends at `end_ns` (`None`: now). Raises ValueError without Frames."""
        frames = [frame for frame in self._frames if end_ns is None or frame.end_ns <= end_ns] or list(self._frames)[:1]
        if not frames:
            raise ValueError("there is no data yet")
        frame = self._merger.merge(window_of(frames, settings.window_ns), settings.window_ns)
        return View(
            host=self.host,
            settings=settings,
            frame=frame,
            series=tuple(frames),
            tasks=sort_tasks(settings.rows(frame.tasks, "last_cpu", frame.cgroups), settings.task_sort),
            slow_waits=sort_slow_waits(settings.rows(frame.slow_waits, "cpu", frame.cgroups), settings.slow_wait_sort),
            frozen=end_ns is not None,
            latest_ns=self.latest_ns if latest_ns is None else latest_ns,
            pairs=sort_pairs(settings.rows(frame.pairs, "", frame.cgroups, "victim_"), settings.blame),
            short_lived=settings.short_lived(frame.short_lived, frame.cgroups),
        )

    def _forget_groups(self, before_ns: int) -> None:
        for index, frame in enumerate(self._frames):
            if frame.end_ns >= before_ns:
                return
            if frame.groups is not None:
                self._frames[index] = replace(frame, groups=None)
                self._bytes += frame_bytes(self._frames[index]) - frame_bytes(frame)

    def _shrink(self) -> None:
        """Merges the two neighbours of the older half that are shortest together, or else drops the oldest Frame.

        One pair at a time, because the screen waits for it. What is recent keeps its resolution.
        """
        if self._forget_ended():
            return
        frames = self._frames
        index = min(
            range(max(1, len(frames) // 2 - 1)),
            key=lambda place: frames[place].interval_ns + frames[place + 1].interval_ns,
        )
        one, other = frames[index], frames[index + 1]
        merged = thinned(merge((one, other)))
        if merged.end_ns <= self._thinned_ns:
            merged = without_ended(merged)
        saved = frame_bytes(one) + frame_bytes(other) - frame_bytes(merged)
        if saved >= frame_bytes(other) / 2:
            frames[index] = merged
            del frames[index + 1]
            self._bytes -= saved
        else:
            # Tasks that lived once do not add up to less; then the memory bound wins over the span.
            self._bytes -= frame_bytes(frames.popleft())

    def _forget_ended(self) -> bool:
        """Takes most of the tasks that ended out of the oldest Frame that has them all; false if that is no help.

        Without this a fork storm would leave a handful of Frames, each of a minute.
        """
        whole = [place for place, frame in enumerate(self._frames) if frame.end_ns > self._thinned_ns]
        if sum(frame_bytes(self._frames[place]) for place in whole) <= self.keep_bytes / 2:
            return False
        for place in whole[:-1]:
            frame = self._frames[place]
            self._thinned_ns = frame.end_ns
            fewer = without_ended(frame)
            if fewer is not frame:
                self._frames[place] = fewer
                self._bytes += frame_bytes(fewer) - frame_bytes(frame)
                return True
        return False


def frame_bytes(frame: Frame) -> int:
    """What a Frame takes, in bytes."""
    arrays = [frame.cpus.counters, frame.latency.counts, frame.tasks, frame.slow_waits, frame.pairs, frame.throttling]
    arrays.append(frame.short_lived)
    if frame.groups is not None:
        arrays.append(frame.groups.counts)
    if frame.queue is not None:
        arrays.append(frame.queue.counts)
    return FRAME_BYTES + sum(array.nbytes for array in arrays)


def thinned(
    frame: Frame,
    keep_tasks: int = KEEP_OLD_TASKS,
    keep_slow_waits: int = KEEP_OLD_SLOW_WAITS,
    keep_pairs: int = KEEP_OLD_PAIRS,
) -> Frame:
    """The Frame without its least tasks, slow waits and pairs, where it has many, and without histograms by group.

    Least are those with the least run delay and run time together, and the shortest waits. They are counted.
    """
    weight = frame.tasks["run_delay_ns"] + frame.tasks["run_ns"]
    tasks = _heaviest(frame.tasks, weight, keep_tasks)
    slow_waits = _heaviest(frame.slow_waits, frame.slow_waits["wait_ns"], keep_slow_waits)
    pairs = _heaviest(frame.pairs, frame.pairs["blocked_ns"] + frame.pairs["preempted_ns"], keep_pairs)
    forgotten = Loss(
        tasks_forgotten=len(frame.tasks) - len(tasks), slow_waits_forgotten=len(frame.slow_waits) - len(slow_waits)
    )
    unnamed = Attribution(others_ns=int(frame.pairs["blocked_ns"].sum() - pairs["blocked_ns"].sum()))
    return replace(
        frame,
        tasks=tasks,
        slow_waits=slow_waits,
        loss=frame.loss + forgotten,
        pairs=pairs,
        attribution=frame.attribution + unnamed,
        short_lived=folded(frame.short_lived, KEEP_OLD_SHORT_LIVED),
        groups=None,
    )


def without_ended(frame: Frame, keep: int = KEEP_OLD_ENDED) -> Frame:
    """The Frame with only so many of the tasks that ended in it, where there are more; the others are counted."""
    has_ended = frame.tasks["ended"] != 0
    if np.count_nonzero(has_ended) <= keep:
        return frame
    weight = np.where(has_ended, frame.tasks["run_delay_ns"] + frame.tasks["run_ns"], np.iinfo(np.int64).max)
    tasks = _heaviest(frame.tasks, weight, keep + int(np.count_nonzero(~has_ended)))
    forgotten = Loss(tasks_forgotten=len(frame.tasks) - len(tasks))
    return replace(frame, tasks=tasks, loss=frame.loss + forgotten)


def _heaviest(rows: Rows, weight: Integers, most: int) -> Rows:
    """The rows of the largest weights, in their order."""
    if len(rows) <= most:
        return rows
    return take_rows(rows, np.sort(np.argsort(-weight, kind="stable")[:most]))


def sort_tasks(rows: Rows, key: str) -> Rows:
    """Rows of tasks or of groups of them by one of TASK_SORTS, largest first; equals by tid or id."""
    values = rows["voluntary_switches"] + rows["involuntary_switches"] if key == "switches" else rows[key]
    number = "tid" if "tid" in (rows.dtype.names or ()) else "id"
    return rows[np.lexsort((rows[number], -values))]


def sort_slow_waits(rows: Rows, key: str) -> Rows:
    """Slow-wait rows by one of SLOW_WAIT_SORTS, largest (or newest) first."""
    return rows[np.lexsort((-rows["time_ns"], -rows[key]))]


def sort_pairs(rows: Rows, blame: str) -> Rows:
    """Pair rows by the time that counts for one of PAIR_SORTS, largest first; equals by victim."""
    return take_rows(rows, np.lexsort((rows["other_tid"], rows["victim_tid"], -rows[PAIR_SORTS[blame]])))
