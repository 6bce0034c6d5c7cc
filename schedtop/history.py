"""History: the Frames of the last minutes. View: an immutable cut of it, filtered and sorted, ready to be shown."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np

from schedtop.histogram import Histogram
from schedtop.model import Frame, Host, Loss, merge
from schedtop.rows import Rows, text
from schedtop.units import NS_PER_S

KEEP_NS = 600 * NS_PER_S
"""How far back a History reaches at most. At least half of it stays at full resolution memory permitting."""

KEEP_BYTES, KEEP_BYTES_PER_CPU = 8 << 20, 256 << 10
"""Above this (at most 512 CPUs count) old Frames are merged in pairs: the span stays, its old part gets coarser."""

KEEP_OLD_TASKS, KEEP_OLD_SLOW_WAITS = 1000, 250
"""How many a merged Frame keeps of those that lived or happened only once; the others are counted in its loss."""

FRAME_BYTES = 4 << 10
"""What a Frame costs besides its arrays, about."""

BLOCKS_A_WINDOW = 8

TASK_SORTS = {
    "run_delay_ns": "run delay",
    "max_wait_ns": "longest wait",
    "switches": "switches",
    "involuntary_switches": "involuntary switches",
    "run_ns": "run time",
    "migrations": "migrations",
}
"""Sort keys of the task table with their words, all descending."""

SLOW_WAIT_SORTS = {"wait_ns": "slowest first", "time_ns": "newest first"}


@dataclass(frozen=True, slots=True)
class Filter:
    """Which tasks, slow waits and CPUs are shown. Every given part must hold; within a part one value is enough."""

    comms: tuple[str, ...] = ()
    tids: tuple[int, ...] = ()
    tgids: tuple[int, ...] = ()
    cpus: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()
    """Bare numbers: a tid or a tgid."""

    @classmethod
    def parse(cls, source: str) -> Filter:
        """A filter from text: words `comm:NAME`, `tid:N`, `tgid:N` (or `pid:N`), `cpu:N`; a bare word is part of a
        comm, a bare number a tid or tgid. `=` does for `:`; commas separate alternatives.

        Raises ValueError with a sentence for the user.
        """
        parts: dict[str, list[str]] = {}
        for word in source.split():
            match = re.fullmatch(r"(\w+)[:=](.+)", word)
            key, value = (match[1].lower(), match[2]) if match else ("number" if word.isdecimal() else "comm", word)
            key = "tgid" if key == "pid" else key
            if key not in ("comm", "tid", "tgid", "cpu", "number"):
                raise ValueError(f"{key!r} is not a filter: comm: tid: tgid: cpu:")
            parts.setdefault(key, []).extend(item for item in value.split(",") if item)
        for key in ("tid", "tgid", "cpu"):
            for item in parts.get(key, []):
                if not item.isdecimal():
                    raise ValueError(f"{key}:{item} is not a number")
        numbers = {key: tuple(int(item) for item in parts.get(key, ())) for key in ("tid", "tgid", "cpu", "number")}
        return cls(tuple(parts.get("comm", ())), numbers["tid"], numbers["tgid"], numbers["cpu"], numbers["number"])

    def __bool__(self) -> bool:
        return bool(self.comms or self.tids or self.tgids or self.cpus or self.numbers)

    def __str__(self) -> str:
        """Text that `parse` reads back."""
        parts = [("comm", self.comms), ("tid", self.tids), ("tgid", self.tgids), ("cpu", self.cpus)]
        words = [f"{key}:{','.join(map(str, values))}" for key, values in parts if values]
        return " ".join(words + [str(number) for number in self.numbers])

    @property
    def names_tasks(self) -> bool:
        """Whether it tells tasks apart, so that per-CPU data cannot follow it."""
        return bool(self.comms or self.tids or self.tgids or self.numbers)

    def rows(self, rows: Rows, cpu_field: str) -> Rows:
        """The task or slow-wait rows that it lets through; `cpu_field` names their CPU column."""
        if not self or not len(rows):
            return rows
        keep = np.ones(len(rows), bool)
        if self.tids:
            keep &= np.isin(rows["tid"], self.tids)
        if self.tgids:
            keep &= np.isin(rows["tgid"], self.tgids)
        if self.numbers:
            keep &= np.isin(rows["tid"], self.numbers) | np.isin(rows["tgid"], self.numbers)
        if self.cpus:
            keep &= np.isin(rows[cpu_field], self.cpus)
        if self.comms:
            wanted = [comm.lower() for comm in self.comms]
            names, inverse = np.unique(rows["comm"], return_inverse=True)
            keep &= np.array([any(part in text(name).lower() for part in wanted) for name in names])[inverse]
        return rows[keep]

    def cpu_ids(self, ids: Iterable[int]) -> list[int]:
        """The CPUs that it lets through."""
        return [cpu for cpu in ids if not self.cpus or cpu in self.cpus]


@dataclass(frozen=True, slots=True)
class ViewSettings:
    """What the user chose to see: window, filter, sort orders."""

    window_ns: int = NS_PER_S
    filter: Filter = field(default_factory=Filter)
    hidden_tgids: tuple[int, ...] = ()
    """Processes that no table shows: schedtop itself, on request."""
    task_sort: str = "run_delay_ns"
    slow_wait_sort: str = "wait_ns"

    def rows(self, rows: Rows, cpu_field: str) -> Rows:
        """The task or slow-wait rows that are to be seen; `cpu_field` names their CPU column."""
        if self.hidden_tgids:
            rows = rows[~np.isin(rows["tgid"], self.hidden_tgids)]
        return self.filter.rows(rows, cpu_field)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What is shown: the Frame of the window, the Frames behind it for plots over time, tasks and slow waits in order.

    `series` ends with the newest Frame of the window; `tasks` and `slow_waits` are filtered and sorted rows;
    `latest_ns` is the `end_ns` of the newest Frame collected, so that a frozen View knows its age.
    """

    host: Host
    settings: ViewSettings
    frame: Frame
    series: tuple[Frame, ...]
    tasks: Rows
    slow_waits: Rows
    frozen: bool = False
    latest_ns: int = 0

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
        self._merger = _Merger()
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
        while len(self._frames) > 1 and frame.end_ns - self._frames[0].end_ns > KEEP_NS:
            self._bytes -= frame_bytes(self._frames.popleft())
        while self._bytes > self.keep_bytes and len(self._frames) > 2:
            self._shrink()

    def copy(self) -> History:
        """A History that stays as this one is now (it shares the Frames, which never change)."""
        twin = History(self.host, keep_bytes=self._keep_bytes)
        twin._frames, twin._bytes = deque(self._frames), self._bytes
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
        frame = self._merger.merge(_window(frames, settings.window_ns), settings.window_ns)
        return View(
            host=self.host,
            settings=settings,
            frame=frame,
            series=tuple(frames),
            tasks=sort_tasks(settings.rows(frame.tasks, "last_cpu"), settings.task_sort),
            slow_waits=sort_slow_waits(settings.rows(frame.slow_waits, "cpu"), settings.slow_wait_sort),
            frozen=end_ns is not None,
            latest_ns=self.latest_ns if latest_ns is None else latest_ns,
        )

    def _shrink(self) -> None:
        """Merges the two neighbours of the older half that are shortest together, or else drops the oldest Frame.

        One pair at a time, because the screen waits for it. What is recent keeps its resolution.
        """
        frames = self._frames
        index = min(
            range(max(1, len(frames) // 2 - 1)),
            key=lambda place: frames[place].interval_ns + frames[place + 1].interval_ns,
        )
        one, other = frames[index], frames[index + 1]
        merged = thinned(merge((one, other)))
        saved = frame_bytes(one) + frame_bytes(other) - frame_bytes(merged)
        if saved >= frame_bytes(other) / 2:
            frames[index] = merged
            del frames[index + 1]
            self._bytes -= saved
        else:
            # Tasks that lived once do not add up to less; then the memory bound wins over the span.
            self._bytes -= frame_bytes(frames.popleft())


class _Merger:
    """Merges windows, keeping what the next one will need again: a long window is redrawn each second.

    Frames that end in the same eighth of a window (counted from time zero, so that blocks stay where they are while
    the window moves on) are merged once, and the whole blocks of a window once for all of them. Only what belongs to
    the latest window is kept.
    """

    def __init__(self) -> None:
        self._blocks: dict[tuple[Frame, ...], Frame] = {}
        self._middle: dict[tuple[Frame, ...], Frame] = {}
        self._latest: tuple[tuple[Frame, ...], Frame] | None = None

    def merge(self, frames: Sequence[Frame], window_ns: int) -> Frame:
        """The Frame of consecutive Frames, as `model.merge` gives it; the same one again for the same Frames."""
        wanted = tuple(frames)
        if self._latest is None or self._latest[0] != wanted:
            block_ns = max(1, window_ns // BLOCKS_A_WINDOW)
            groups = [tuple(group) for _, group in groupby(wanted, lambda frame: frame.end_ns // block_ns)]
            # The window cuts the first block, and the last one still grows.
            whole = groups[1:-1]
            self._blocks = {group: self._blocks.get(group) or merge(group) for group in whole}
            blocks = tuple(self._blocks.values())
            self._middle = {blocks: self._middle.get(blocks) or merge(blocks)} if blocks else {}
            last = groups[-1] if len(groups) > 1 else ()
            self._latest = wanted, merge((*groups[0], *self._middle.values(), *last))
        return self._latest[1]


def frame_bytes(frame: Frame) -> int:
    """What a Frame takes, in bytes."""
    arrays = (frame.cpus.counters, frame.latency.counts, frame.tasks, frame.slow_waits)
    return FRAME_BYTES + sum(array.nbytes for array in arrays)


def thinned(frame: Frame) -> Frame:
    """The Frame without its least tasks and slow waits, where it has many; they are counted in its loss.

    Least are those with the least run delay and run time together, and the shortest waits.
    """
    tasks, slow_waits = frame.tasks, frame.slow_waits
    if len(tasks) > KEEP_OLD_TASKS:
        weight = tasks["run_delay_ns"] + tasks["run_ns"]
        tasks = tasks[np.sort(np.argsort(-weight, kind="stable")[:KEEP_OLD_TASKS])]
    if len(slow_waits) > KEEP_OLD_SLOW_WAITS:
        longest = np.argsort(-slow_waits["wait_ns"], kind="stable")[:KEEP_OLD_SLOW_WAITS]
        slow_waits = slow_waits[np.sort(longest)]
    forgotten = Loss(
        tasks_forgotten=len(frame.tasks) - len(tasks), slow_waits_forgotten=len(frame.slow_waits) - len(slow_waits)
    )
    if not forgotten.any:
        return frame
    return replace(frame, tasks=tasks, slow_waits=slow_waits, loss=frame.loss + forgotten)


def sort_tasks(rows: Rows, key: str) -> Rows:
    """Task rows by one of TASK_SORTS, largest first; equals by tid."""
    values = rows["voluntary_switches"] + rows["involuntary_switches"] if key == "switches" else rows[key]
    return rows[np.lexsort((rows["tid"], -values))]


def sort_slow_waits(rows: Rows, key: str) -> Rows:
    """Slow-wait rows by one of SLOW_WAIT_SORTS, largest (or newest) first."""
    return rows[np.lexsort((-rows["time_ns"], -rows[key]))]


def _window(frames: Sequence[Frame], window_ns: int) -> list[Frame]:
    """The newest Frames that fill the window: at least one, and none that is mostly outside of it."""
    chosen: list[Frame] = []
    length = 0
    for frame in reversed(frames):
        if chosen and length + frame.interval_ns / 2 > window_ns:
            break
        chosen.append(frame)
        length += frame.interval_ns
    return chosen[::-1]
