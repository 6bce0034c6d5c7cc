"""The screens whose keys the user may change, and what can have the focus on each: this is all that there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from textual.screen import Screen
from textual.widget import Widget

from schedtop.panes.activity.calls import CallsPane
from schedtop.panes.activity.table import ActivityPane
from schedtop.panes.activity.tcp import TcpPane
from schedtop.panes.offcpu.stacks import StacksPane
from schedtop.panes.offcpu.threads import ThreadsPane as OffCpuThreadsPane
from schedtop.panes.path.episodes import EpisodesPane
from schedtop.panes.path.profile import ProfilePane
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
from schedtop.panes.task.overview import OverviewPane
from schedtop.panes.task.peers import PeersPane
from schedtop.panes.task.slow_waits import TaskSlowWaitsPane
from schedtop.panes.task.states import StatePane
from schedtop.panes.task.syscalls import SyscallsPane
from schedtop.panes.task.threads import ThreadsPane
from schedtop.panes.task.traffic import TrafficPane
from schedtop.panes.task.waits import TaskWaitsPane
from schedtop.ui.screens.activity.screen import ActivityScreen
from schedtop.ui.screens.dashboard.screen import Dashboard
from schedtop.ui.screens.offcpu.screen import OffCpuScreen
from schedtop.ui.screens.path.screen import PathScreen
from schedtop.ui.screens.replay.screen import ReplayDashboard
from schedtop.ui.screens.task.screen import TaskScreen
from schedtop.ui.screens.triggers.screen import TriggeredDashboard
from schedtop.widgets.canvas import Canvas

DASHBOARD_PANES: tuple[type[Widget], ...] = (
    *(Canvas, BlamePane, OverTimePane, CpuStripsPane, CpusPane, InterruptsPane, LatencyPane),
    *(QueuePane, ShortLivedPane, SlowWaitsPane, StealPane, TasksPane, TrendsPane),
)
"""In the order in which `schedtop config` tells of their keys: first what all panes have."""

TASK_PANES: tuple[type[Widget], ...] = (
    *(StatePane, OverviewPane, SyscallsPane, TaskWaitsPane, PeersPane, TrafficPane, TaskSlowWaitsPane, ThreadsPane),
)

OFFCPU_PANES: tuple[type[Widget], ...] = (OffCpuThreadsPane, StacksPane)

PATH_PANES: tuple[type[Widget], ...] = (ProfilePane, EpisodesPane)

ACTIVITY_PANES: tuple[type[Widget], ...] = (ActivityPane, CallsPane, TcpPane)


@dataclass(frozen=True, slots=True)
class Place:
    """A screen, and what can have the focus on it. What lies over it keeps its own keys."""

    screen: type[Screen[Any]]
    panes: tuple[type[Widget], ...]

    def __iter__(self) -> Iterator[type[Screen[Any]] | type[Widget]]:
        yield self.screen
        yield from self.panes


PLACES: Mapping[str, Place] = MappingProxyType(
    {
        "dashboard": Place(Dashboard, DASHBOARD_PANES),
        "dashboard with --on": Place(TriggeredDashboard, DASHBOARD_PANES),
        "replay": Place(ReplayDashboard, DASHBOARD_PANES),
        "task view": Place(TaskScreen, TASK_PANES),
        "off-CPU": Place(OffCpuScreen, OFFCPU_PANES),
        "path": Place(PathScreen, PATH_PANES),
        "activity": Place(ActivityScreen, ACTIVITY_PANES),
    }
)
"""Each by what users call it."""
