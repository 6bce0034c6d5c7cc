"""What each task did since it was last looked at, polled from /proc: all tasks where there is time, else in turns.

Reading 10,000 tasks each second must not be what keeps the others waiting. So their schedstat files stay open, which
takes a fifth of the time of opening them (2.5 instead of 12.4 µs where this was written), and only tasks that ran are
asked for more. What a look may take is bounded; a task without a turn is looked at later, and nothing of what it did
is lost by then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import nlargest

import numpy as np

from schedtop.base.units import NS_PER_S
from schedtop.model.rows import TASK_DTYPE, TREATMENT, Rows
from schedtop.sources.proc.births import Births
from schedtop.sources.proc.task_files import TICK_NS, Stat, Status, parse_schedstat, read_stat, read_status
from schedtop.sources.proc.task_table import MOST_OPEN, UNREAD, Task, TaskTable

HOT = 5
"""A task that ran within so many looks is looked at first."""

CHUNK = 256
"""So many tasks are read between two looks at the clock."""

LEAST_ASKED = 20
"""At least so many are asked for more, whatever that takes."""

CGROUP_NS = 30 * NS_PER_S
"""How long it holds in which cgroup a task is: it may be moved."""

FIRST_STATUS_NS = NS_PER_S
"""Time for the first status of all the tasks there are; of the others switches are known from their second run on."""

_FIRST_GUESS_NS = 50_000

Row = tuple[int, int, int, bytes, int, int, int, int, int, int, int, int, int, int, int, int]
_FIELDS = (
    "tid",
    "tgid",
    "start_ns",
    "comm",
    "run_ns",
    "run_delay_ns",
    "timeslices",
    "voluntary_switches",
    "involuntary_switches",
    "last_cpu",
    "allowed_cpus",
    "cgroup_id",
    *(name for name, _ in TREATMENT),
)


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What one look at all tasks found.

    `rows`: those that did something (TASK_DTYPE, yet without the names of their processes). `late`: tasks that had
    to wait for a later look, whole or in part; `ended`: tasks that ended, what they did last is not known; `born`: new
    ones; `untracked`: tasks that found no room.
    """

    rows: Rows
    late: int = 0
    ended: int = 0
    born: int = 0
    untracked: int = 0


class TaskPolling:
    """All tasks that this process may see; `begin` looks at them for the first time.

    `cgroup_of`: gives the id of the cgroup of a tid.
    """

    def __init__(self, cgroup_of: Callable[[int], int], most_open: int = MOST_OPEN) -> None:
        self._cgroup_of = cgroup_of
        self.table = TaskTable(most_open)
        self._births = Births()
        self._turn = 0
        self._ask_ns: float = _FIRST_GUESS_NS
        self._opened_ns = 0
        self._ended = 0
        self._partly = 0

    def begin(self, begun: int) -> None:
        """Takes the counters that all tasks have now: what was before does not count."""
        self._opened_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        table, deadline = self.table, time.thread_time_ns() + FIRST_STATUS_NS
        entered = [
            task
            for tid, tgid in self._births.candidates(begun, table.tasks, table.threads)
            if tid not in table.tasks and (task := table.enter(tid, tgid, fresh=False))
        ]
        for task, text in table.read(entered):
            if not text:
                table.forget(task)
                continue
            table.take(task, text)
            task.quiet = HOT
            if time.thread_time_ns() < deadline and (status := read_status(task.tid)):
                task.voluntary, task.involuntary = status.voluntary, status.involuntary

    def close(self) -> None:
        """Gives all files back."""
        self.table.close()

    def look(self, begun: int, budget_ns: int) -> Look:
        """What all tasks did since they were last looked at; it takes about so much CPU time of this thread."""
        begin_ns, refused = time.thread_time_ns(), self.table.refused
        self._ended = self._partly = 0
        born = self._find_new(begun)
        changed, unread = self._read_all(begin_ns + budget_ns * 2 // 3)
        left_ns = begin_ns + budget_ns - time.thread_time_ns()
        asked = self._most_urgent(changed, max(LEAST_ASKED, int(left_ns / self._ask_ns)))
        begin_ns = time.thread_time_ns()
        rows = [row for task, text in asked if (row := self._settle(task, text))]
        if asked:
            each_ns = (time.thread_time_ns() - begin_ns) / len(asked)
            self._ask_ns += (each_ns - self._ask_ns) * min(1, len(asked) / 100)
        late = unread + len(changed) - len(asked) + self._partly
        return Look(_rows(rows), late, self._ended, born, self.table.refused - refused)

    def _find_new(self, begun: int) -> int:
        table, count = self.table, 0
        for tid, tgid in self._births.candidates(begun, table.tasks, table.threads):
            if known := table.tasks.get(tid):
                # Another task may have its tid by now. An open file tells that (it ends), and else the start will.
                known.text, known.quiet = UNREAD if known.descriptor < 0 else known.text, 0
                if not any(text for _, text in table.read([known])):
                    self._end(known)
            if tid not in table.tasks and table.enter(tid, tgid):
                count += 1
        return count

    def _end(self, task: Task) -> None:
        self._ended += 1
        self.table.forget(task)

    def _read_all(self, deadline_ns: int) -> tuple[list[tuple[Task, bytes]], int]:
        """The tasks that ran since their counters were taken, and how many could not be read in time."""
        tasks = self.table.tasks.values()
        hot = [task for task in tasks if task.quiet < HOT]
        cold = [task for task in tasks if task.quiet >= HOT]
        turn = self._turn % max(1, len(cold))
        order, changed, place = [*hot, *cold[turn:], *cold[:turn]], [], 0
        # Those that ran lately are all read.
        while place < len(order) and (place < len(hot) or time.thread_time_ns() < deadline_ns):
            for task, text in self.table.read(order[place : place + CHUNK]):
                if text == task.text:
                    task.quiet += 1
                elif text:
                    task.quiet = 0
                    changed.append((task, text))
                else:
                    self._end(task)
            place += CHUNK
        unread = max(0, len(order) - place)
        self._turn = turn + len(cold) - unread if unread else 0
        self._keep_open(hot, cold)
        return changed, unread

    def _keep_open(self, hot: Sequence[Task], cold: list[Task]) -> None:
        """Gives the files of tasks that have been quiet for long to those that run."""
        closed = [task for task in hot if task.descriptor < 0 and task.quiet < HOT][:CHUNK]
        for task in closed:
            if self.table.tasks.get(task.tid) is task and not self.table.keep_open(task):
                while cold and cold[-1].descriptor < 0:
                    cold.pop()
                if not cold:
                    return
                self.table.close_file(cold.pop())
                self.table.keep_open(task)

    def _most_urgent(self, changed: list[tuple[Task, bytes]], most: int) -> list[tuple[Task, bytes]]:
        """Those that did most since, if not all can be asked."""
        if len(changed) <= most:
            return changed

        def done_ns(item: tuple[Task, bytes]) -> int:
            run_ns, run_delay_ns, _ = parse_schedstat(item[1])
            return run_ns + run_delay_ns - sum(item[0].counters[:2])

        return nlargest(most, changed, done_ns)

    def _settle(self, task: Task, text: bytes) -> Row | None:
        """The row of a task that ran, with its switches; `None` where there is nothing to tell, or it is gone."""
        status = read_status(task.tid)
        stat = read_stat(status.tgid, task.tid) if status else None
        if status is None or stat is None:
            self._end(task)
            return None
        if self._is_another(task, stat):
            self._end(task)
            self.table.enter(task.tid, status.tgid)  # its whole life is told by the next look
            return None
        first = task.start_ns < 0
        task.start_ns, task.comm = stat.start_ns, stat.comm
        self.table.belongs(task, status.tgid)
        switches = self._switches(task, status, first)
        done = self.table.take(task, text)
        if first and task.fresh and stat.start_ns + TICK_NS < self._opened_ns:
            return None  # it was there before, and could not be seen then
        if not any((*done, *switches)):
            return None
        names = (task.tid, status.tgid, stat.start_ns, stat.comm)
        told = stat.treatment
        treated = (told.sched_class, told.policy, told.priority, told.nice)
        return *names, *done, *switches, stat.last_cpu, status.allowed_cpus, self._cgroup(task), *treated

    def _cgroup(self, task: Task) -> int:
        now_ns = time.monotonic_ns()
        if task.cgroup_until_ns <= now_ns:
            task.cgroup_id, task.cgroup_until_ns = self._cgroup_of(task.tid), now_ns + CGROUP_NS
        return task.cgroup_id

    def _is_another(self, task: Task, stat: Stat) -> bool:
        """Whether the tid has been given to another task."""
        if task.start_ns >= 0:
            return task.start_ns != stat.start_ns
        return not task.fresh and stat.start_ns > self._opened_ns

    def _switches(self, task: Task, status: Status, first: bool) -> tuple[int, int]:
        """Voluntary and involuntary switches since the last look, which are then those of now."""
        if first and task.fresh:
            task.voluntary = 0
        if task.voluntary < 0:
            self._partly += 1
            task.voluntary, task.involuntary = status.voluntary, status.involuntary
        before = task.voluntary, task.involuntary
        task.voluntary, task.involuntary = status.voluntary, status.involuntary
        return max(0, status.voluntary - before[0]), max(0, status.involuntary - before[1])


def _rows(rows: Sequence[Row]) -> Rows:
    table = np.zeros(len(rows), TASK_DTYPE)
    for name, column in zip(_FIELDS, zip(*rows, strict=True), strict=False):
        table[name] = column
    return table
