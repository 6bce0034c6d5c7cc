"""View: an immutable cut of a History, filtered and sorted, ready to be shown; and what the user chose to see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from schedtop.base.histogram import Histogram
from schedtop.base.units import NS_PER_S
from schedtop.history.windows import window_of
from schedtop.model.filters import NO_CGROUPS, Filter
from schedtop.model.folding import cpus_words
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.model.rows import PAIR_DTYPE, Rows
from schedtop.model.short_lived import no_short_lived


@dataclass(frozen=True, slots=True)
class ViewSettings:
    """What the user chose to see: window, filter, sort orders, one of GROUPS, and the side to blame (of PAIR_SORTS)."""

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
    cpu_sort: str = "cpu"
    """One of CPU_SORTS."""
    selected_cpus: tuple[int, ...] = ()
    """CPUs that the user has chosen among all: what is not about CPUs shows these alone; none: all."""
    selected_task: tuple[int, ...] | None = None
    """The selected row of the tasks: tid and start of a thread, the id of a group."""

    @property
    def selects(self) -> bool:
        """Whether the selected CPUs say what is shown: the filter lets some of them through."""
        return bool(self.filter.cpu_ids(self.selected_cpus))

    @property
    def shown_filter(self) -> Filter:
        """The filter, on the selected CPUs."""
        return self.filter.on_cpus(self.selected_cpus) if self.selected_cpus else self.filter

    @property
    def unselected(self) -> ViewSettings:
        """The same without which row is selected, which changes nothing of what is shown."""
        return replace(self, selected_task=None) if self.selected_task is not None else self

    def rows(self, rows: Rows, cpu_field: str, cgroups: Mapping[int, str] = NO_CGROUPS, role: str = "") -> Rows:
        """The rows that are to be seen, see `Filter.rows`."""
        if self.hidden_tgids:
            rows = rows[~np.isin(rows[f"{role}tgid"], self.hidden_tgids)]
        return self.shown_filter.rows(rows, cpu_field, cgroups, role)

    def short_lived(self, rows: Rows, cgroups: Mapping[int, str] = NO_CGROUPS) -> Rows:
        """The rows of SHORT_LIVED_DTYPE that are to be seen: numbers are those of their parents."""
        if self.hidden_tgids:
            rows = rows[~np.isin(rows["parent_tgid"], self.hidden_tgids)]
        return self.filter.rows(rows, "", cgroups, number_field="parent_tgid")


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What is shown: the Frame of the window, the Frames behind it for plots over time, and rows in order.

    `series` ends with the newest Frame of the window, `later` are those after it (if it is frozen); `tasks`,
    `slow_waits` and `pairs` (by victim) are filtered and sorted rows, `short_lived` filtered ones; `latest_ns` is the
    `end_ns` of the newest Frame collected, so that a frozen View knows its age.
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
    later: tuple[Frame, ...] = ()

    @property
    def cpu_ids(self) -> list[int]:
        """The online CPUs that the filter lets through, of the selected ones if there are some."""
        return self.settings.shown_filter.cpu_ids(self.frame.cpus.ids)

    @property
    def all_cpu_ids(self) -> list[int]:
        """The online CPUs that the filter lets through, selected or not: what a list to select from shows."""
        return self.settings.filter.cpu_ids(self.frame.cpus.ids)

    @property
    def cpus_words(self) -> str:
        """Which CPUs alone are shown, as `CPU 3` or `CPUs 0-7 (node 0)`; empty: all."""
        chosen = self.settings.shown_filter.cpus
        return cpus_words(chosen, self.host.topology, tuple(self.frame.cpus.ids)) if chosen else ""

    @property
    def begin_ns(self) -> int:
        """When the window begins, by the clock of `end_ns`. The Frame of a window with gaps does not tell."""
        oldest = window_of(self.series, self.settings.window_ns)[0]
        return oldest.end_ns - oldest.interval_ns

    @property
    def end_time_ns(self) -> int:
        """When it ends by wall clock; nor does the Frame tell this."""
        newest = self.series[-1]
        return newest.start_time_ns + newest.interval_ns

    @property
    def age_ns(self) -> int:
        """How far behind the newest Frame this View ends."""
        return max(0, self.latest_ns - self.frame.end_ns)

    def missing(self, part: str) -> str:
        """Why a part of the Frame is not there, in words; empty if it is."""
        unavailable = self.frame.unavailable
        return f"not available: {unavailable[part]}" if part in unavailable else ""

    def latency(self, kind: str | None = None) -> Histogram:
        """Runqueue latency of the window on the CPUs that the filter lets through."""
        return self.frame.latency.histogram(kind, self.settings.shown_filter.cpus or None)
