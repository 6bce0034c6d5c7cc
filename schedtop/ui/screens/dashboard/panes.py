"""The panes of the dashboard."""

from __future__ import annotations

from schedtop.history.view import View
from schedtop.panes.pane import Pane
from schedtop.panes.scheduler.blame.pane import BlamePane
from schedtop.panes.scheduler.cpus.pane import CpusPane
from schedtop.panes.scheduler.cpus.strips import CpuStripsPane
from schedtop.panes.scheduler.interrupts.pane import InterruptsPane
from schedtop.panes.scheduler.latency.over_time import OverTimePane
from schedtop.panes.scheduler.latency.pane import LatencyPane
from schedtop.panes.scheduler.queue.pane import QueuePane
from schedtop.panes.scheduler.short_lived.pane import ShortLivedPane
from schedtop.panes.scheduler.slow_waits.pane import SlowWaitsPane
from schedtop.panes.scheduler.steal.pane import StealPane
from schedtop.panes.scheduler.tasks.pane import TasksPane
from schedtop.panes.scheduler.trends.pane import TrendsPane
from schedtop.ui.layout import presets


def panes_of(own_pid: int | None) -> tuple[Pane[View], ...]:
    """The panes of the dashboard, in the order in which Tab goes through them."""
    return (
        OverTimePane(id=presets.OVER_TIME),
        LatencyPane(id=presets.LATENCY),
        CpusPane(id=presets.CPUS),
        CpuStripsPane(id=presets.CPU_STRIPS),
        StealPane(id=presets.STEAL),
        QueuePane(id=presets.QUEUE),
        SlowWaitsPane(id=presets.SLOW_WAITS),
        BlamePane(id=presets.BLAME),
        TasksPane(own_pid, id=presets.TASKS),
        ShortLivedPane(id=presets.SHORT_LIVED),
        # Last: where the strip has no room for all, it is the one that shows nothing unasked.
        InterruptsPane(id=presets.INTERRUPTS),
        TrendsPane(id=presets.TRENDS),
    )
