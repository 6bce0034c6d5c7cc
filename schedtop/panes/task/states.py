"""State over time: what the task was doing, as a strip."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from textual.content import Content

from schedtop.base.units import NS_PER_S
from schedtop.panes.pane import Pane
from schedtop.panes.task.past import states_over_time
from schedtop.panes.task.scene import NOTHING_YET, Scene, Status
from schedtop.task import STATES
from schedtop.widgets.state_strip import State, StateStrip
from schedtop.widgets.strips import Spans

SHOWN = {
    "running": State("R", "running", "busy"),
    "runnable": State("w", "waits for CPU", "preemption"),
    "sleeping": State("s", "sleeping", "dim"),
    "uninterruptible": State("D", "uninterruptible", "steal"),
    "stopped": State("t", "stopped", "head"),
    "throttled": State("T", "throttled", "notice"),
}
"""Letter, word and style of each of `task.STATES`."""

PAST = (SHOWN["running"], SHOWN["runnable"], State("b", "neither", "dim"))
"""The History does not tell sleeping from the others."""

RARE = ("stopped", "throttled")
"""These have no line while there is nothing of them."""

MOST_SLOTS = 6000


class StatePane(Pane[Scene], can_focus=False):
    """The strip of the counts; before there are any, that of the History, by its intervals."""

    WAITING = NOTHING_YET
    TITLE = "State over time"
    READING = (
        "One column is the time that the axis says, 100 ms or more; its letter is what took most of it, and each "
        "state has its share as a bar. R: on a CPU. w: ready, but others have the CPU. s: sleeping, it waits for "
        "something. D: uninterruptible, mostly a disk. T: taken off its CPU by its cgroup's quota. Of a process all "
        "threads together. Before the task view has counted anything, and in a replay, whole intervals from the "
        "history stand here, and those do not tell why it was neither running nor waiting for a CPU; before the task "
        "began it is blank. Much R: it is busy, profile it. Much w: too little CPU, see 3, 4 and 6. Much s or D: see "
        "what it waits for in 2. T: raise the quota."
    )

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._drawers: dict[tuple[State, ...], StateStrip] = {}

    @property
    def page_rows(self) -> int:
        return max(1, self.total_rows)

    def set_title(self, detail: str = "", subtitle: str = "", *, title: str = "") -> None:
        super().set_title(detail, subtitle, title=title)
        # What is always there needs no key, and no short name.
        title = " · ".join(filter(None, (title or self.TITLE, detail)))
        if self.border_title is not None and str(self.border_title) != title:
            self.border_title = Content(title)

    def view_lines(self, scene: Scene) -> Sequence[Spans]:
        self.set_title(_of_threads(scene))
        width, height = self.inner
        if len(scene.strip):
            return self._counted(scene, width, height)
        if scene.past is None:
            return self.sentence(scene.missing("states"))
        times = states_over_time(scene.past.intervals, NS_PER_S, MOST_SLOTS, scene.past.begin_ns)
        return self._drawer(PAST).lines(times, NS_PER_S, width, height, _end(scene))

    def _counted(self, scene: Scene, width: int, height: int) -> Sequence[Spans]:
        times = scene.strip
        there = times.sum(axis=0) > 0
        kept = [place for place, name in enumerate(STATES) if name not in RARE or there[place]]
        states = tuple(SHOWN[STATES[place]] for place in kept)
        return self._drawer(states).lines(
            np.ascontiguousarray(times[:, kept]), scene.strip_ns, width, height, _end(scene)
        )

    def _drawer(self, states: tuple[State, ...]) -> StateStrip:
        return self._drawers.setdefault(states, StateStrip(states))


def _end(scene: Scene) -> str:
    """What the right end of the strip is."""
    return "now" if scene.status in (Status.COUNTING, Status.ATTACHING) and not scene.frozen else "end"


def _of_threads(scene: Scene) -> str:
    if not scene.subject.is_process:
        return "" if len(scene.strip) else "from the history, by interval"
    if not len(scene.strip):
        return "all threads, from the history, by interval"
    many = len(scene.counts.threads) if scene.counts else 0
    return "its only thread" if many == 1 else f"all {many} threads together" if many else "all threads together"
