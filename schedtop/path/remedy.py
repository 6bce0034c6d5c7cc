"""What to do about a priority inversion, with one command to type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from schedtop.base.cpu_lists import cpus_text
from schedtop.base.pgrep import pgrep_words
from schedtop.base.units import printable
from schedtop.path.profile import Task
from schedtop.path.segments import Behind
from schedtop.path.traits import Traits

LOW_NICE, LEAST_NICE, HIGH_NICE = 10, 19, -10
"""A tenth of the weight of nice 0, next to none, and nine times of it."""

_REAL_TIME = {"SCHED_FIFO": "-f", "SCHED_RR": "-r"}
_DEADLINE, _IDLE = "SCHED_DEADLINE", "SCHED_IDLE"


@dataclass(frozen=True, slots=True)
class Remedy:
    """Why, and what to type."""

    reason: str
    command: str


def remedy(
    late: Task, holder: Task, behind: tuple[Behind, ...], traits: Mapping[int, Traits], online: Iterable[int]
) -> Remedy:
    """The command that most likely helps, of what is known of the tasks: `traits`, by tid, and the CPUs.

    What priority inheritance would do, where the holder is less urgent than the late task. Else the task that had the
    CPU goes to other CPUs, if it has been bound to this one, or gets less weight; the holder gets more, if it cannot.
    """
    of_late, of_holder = (traits.get(task.tid) if task.tid is not None else None for task in (late, holder))
    if of_late and of_holder and (priority := _like(of_late, of_holder)):
        return Remedy(f"Run {printable(holder.comm)} like {printable(late.comm)}", f"{priority} {holder.tid}")
    first = behind[0]
    comm, had = printable(first.comm), traits.get(first.tid)
    if had is None:
        named = f"renice -n {LOW_NICE} -p {pgrep_words(comm)}"
        return Remedy(f"Give {comm} less weight", named)
    others = [cpu for cpu in online if cpu not in had.cpus] if had.cpus else []
    if others:
        return Remedy(f"Move {comm} to other CPUs", f"taskset -cp {cpus_text(others)} {first.tid}")
    if had.policy in _REAL_TIME or had.policy == _DEADLINE:
        return Remedy(f"Make {comm} an ordinary task", f"chrt -o -p 0 {first.tid}")
    if (had.policy != _IDLE and had.nice < LEAST_NICE) or holder.tid is None:
        nice = LOW_NICE if had.nice < LOW_NICE else LEAST_NICE
        return Remedy(f"Give {comm} less weight", f"renice -n {nice} -p {first.tid}")
    return Remedy(f"Give {printable(holder.comm)} more weight", f"renice -n {HIGH_NICE} -p {holder.tid}")


def _like(late: Traits, holder: Traits) -> str:
    """The command, without the task, that makes the holder as urgent as the late task; empty: it is, or cannot be."""
    if late.policy in _REAL_TIME:
        less = holder.policy not in _REAL_TIME and holder.policy != _DEADLINE
        if less or (holder.rt_priority < late.rt_priority and holder.policy in _REAL_TIME):
            return f"chrt {_REAL_TIME[late.policy]} -p {late.rt_priority}"
        return ""
    if late.policy in (_DEADLINE, _IDLE) or holder.policy in (*_REAL_TIME, _DEADLINE):
        return ""
    if holder.policy == _IDLE:
        return "chrt -o -p 0"
    return f"renice -n {late.nice} -p" if late.nice < holder.nice else ""
