"""Which pane shows what the verdict speaks of: it is marked in the colour of the level, and with its sign."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from schedtop.panes.levels import ALARM, NORMAL, NOTICE, Level
from schedtop.ui.layout.presets import BLAME, CPUS, INTERRUPTS, QUEUE, SHORT_LIVED, SLOW_WAITS, STEAL, TASKS
from schedtop.verdict.verdict import Verdict

FLAGS = {"notice": NOTICE, "alarm": ALARM}
"""How a pane is marked, by the level of the verdict that is about it."""

_QUOTAS, _PAIRS, _WAITS = (STEAL, TASKS), (BLAME, SLOW_WAITS, TASKS), (SLOW_WAITS, BLAME, TASKS)

OF_QUOTAS = ("throttled", "quota")

PANES_OF: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys((*OF_QUOTAS, "stolen", "steal", "pressure"), _QUOTAS),
    **dict.fromkeys(("blocker", "wakeups", "queueing", "behind-rt", "behind-deadline", "lower-weight"), _PAIRS),
    **dict.fromkeys(("mixed", "deadline-runtime", "rt-runtime", "pinned", "not-balanced", "idle-cpu"), _WAITS),
    **dict.fromkeys(("sched-ext", "yield", "rare", "left-out"), _WAITS),
    "starving": (TASKS,),
    "turns": (BLAME, TASKS),  # few slow waits, or none
    "waiting": (TASKS,),
    "saturated": (CPUS, QUEUE, TASKS),
    "forks": (SHORT_LIVED, TASKS),
    "interrupts": (INTERRUPTS, BLAME, SLOW_WAITS),
}
"""The panes that show what a rule of the verdict speaks of, by its id, the best one first."""


def flagged(verdict: Verdict | None, seen: Collection[str]) -> tuple[str, Level]:
    """The id of the pane to mark, empty for none, and how: the first one that is seen, else the best one."""
    level = FLAGS.get(verdict.level, NORMAL) if verdict is not None else NORMAL
    if verdict is None or level is NORMAL:
        return "", NORMAL
    if verdict.rule in OF_QUOTAS and verdict.live.kept:
        # The pane shows the largest of several, which is another one once the quota is raised.
        return "", NORMAL
    names = PANES_OF.get(verdict.rule, ())
    return next((name for name in names if name in seen), names[0] if names else ""), level
