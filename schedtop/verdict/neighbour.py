"""Tasks that compete for one CPU, and would only take another service's room on the next one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from schedtop.model.rows import Rows, rows_where
from schedtop.verdict.advice import typed
from schedtop.verdict.facts import Facts
from schedtop.verdict.limits import BUSY, DELAYED_SHARE, MUCH_ROOM
from schedtop.verdict.parts import Part, are_alike, longest_runner
from schedtop.verdict.phrases import of_one_name
from schedtop.verdict.rule import Finding
from schedtop.verdict.words import task_names


class Neighbour(NamedTuple):
    """The CPU that has room, and who needs it."""

    cpu: int
    service: str


def neighbour_of(f: Facts, moved: Part) -> Neighbour | None:
    """The CPU that has room, and who needs it, where a task that would run all the time has none for itself.

    The others of its queue are no better off there, and a service that was helped a moment ago would wait again.
    """
    tasks = f.frame.tasks
    own = rows_where(tasks, tasks["tid"] == moved.tid)
    others = {cpu: share for cpu, share in f.idle.items() if cpu not in own["last_cpu"]}
    if f.names_tasks or not others or not _runs_always(f, own):
        return None
    cpu = max(others, key=lambda each: others[each])
    there = longest_runner(rows_where(tasks, tasks["last_cpu"] == cpu))
    if others[cpu] >= MUCH_ROOM or not there or there[0].ns < DELAYED_SHARE * f.frame.interval_ns:
        return None
    return Neighbour(cpu, there[0].name)


class Competition(NamedTuple):
    """Tasks that have one CPU, and how they compete for it: `(p99 4 ms)`."""

    cpu: int
    tasks: Sequence[Part]
    how: str

    @property
    def words(self) -> str:
        """Of several of one name how many: which waits longest is another one each second."""
        parts = self.tasks
        names = of_one_name(parts[0].name, len(parts)) if are_alike(parts) else task_names(parts)
        return f"CPU {self.cpu}: {names} compete {self.how}"


def left_together(
    them: Competition, there: Neighbour, moved: Part, command: str, evidence: tuple[str, ...], hidden: tuple[str, ...]
) -> Finding:
    """That they may stay as they are; `command` lets one of them, `moved`, run elsewhere, too."""
    # On a narrow screen the command stands alone: it must do no harm.
    also = f"Or let {moved.name} share CPU {there.cpu} with {there.service}: {command}"
    headline = f"{them.words}; one of them on CPU {there.cpu} would delay {there.service}"
    look = typed(f"Leave {moved.name} there unless it must be fast; to look closer", f"schedtop task {moved.tid}")
    return Finding(headline, evidence, *look, "notice", (*hidden, also), may_stay=True)


def _runs_always(f: Facts, own: Rows) -> bool:
    """Whether a task uses all that it gets: it hardly sleeps, and leaves its CPU only when it is taken off it."""
    wanted = int(own["run_ns"].sum() + own["run_delay_ns"].sum())
    forced, given = int(own["involuntary_switches"].sum()), int(own["voluntary_switches"].sum())
    return wanted >= BUSY * f.frame.interval_ns and forced >= BUSY * (forced + given)
