"""What /proc tells at one moment. `difference` of two of them is a Frame; nothing in it is ever negative."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schedtop.model.counts import Loss
from schedtop.model.ext_scheduler import ExtScheduler
from schedtop.model.frame import Frame
from schedtop.model.rows import Rows, subtract_throttling
from schedtop.sources.host.reading import HostReading, host_frame
from schedtop.sources.proc.polling import Look


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ProcReading(HostReading):
    """A HostReading with what /proc tells of tasks.

    `begun`: how many tasks have begun. Not cumulative, but of the interval that ends here: `look`, `tasks` (rows of
    TASK_DTYPE) and `lives_unseen` (tasks that came and went without being seen).
    """

    begun: int
    throttling: Rows
    cgroups: Mapping[int, str]
    sched_ext: ExtScheduler | None = None
    look: Look | None = None
    tasks: Rows | None = None
    lives_unseen: int = 0


def difference(earlier: ProcReading, later: ProcReading, threshold_ns: int, unavailable: Mapping[str, str]) -> Frame:
    """The Frame between two readings of one source; its own threshold is only carried along."""
    tasks: dict[str, Any] = {} if later.tasks is None else {"tasks": later.tasks}
    return host_frame(
        earlier,
        later,
        threshold_ns=threshold_ns,
        loss=_loss(earlier, later),
        throttling=subtract_throttling(earlier.throttling, later.throttling),
        sched_ext=later.sched_ext,
        cgroups=later.cgroups,
        unavailable=unavailable,
        **tasks,
    )


def _loss(earlier: ProcReading, later: ProcReading) -> Loss:
    late_ticks = later.late_ticks - earlier.late_ticks
    if later.look is None:
        return Loss(late_ticks=late_ticks)
    look = later.look
    return Loss(
        tasks_untracked=look.untracked,
        late_ticks=late_ticks,
        tasks_late=look.late,
        ends_unseen=look.ended,
        lives_unseen=later.lives_unseen,
    )
