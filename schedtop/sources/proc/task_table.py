"""The tasks that are polled, by tid, and which of their files stay open."""

from __future__ import annotations

import errno
import os
import resource
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from schedtop.sources.proc.task_files import SCHEDSTAT_BYTES, Schedstat, parse_schedstat, read_all, read_file

MOST_OPEN = 12_288
"""Files kept open: each takes about 5 KB of the kernel's memory."""

RESERVED = 256
"""Descriptors that are left to the rest of the program."""

MOST_TASKS = 200_000
"""More are not looked at, and counted."""

UNREAD = b"?"
"""As the text of a schedstat: none was taken yet."""


@dataclass(slots=True, eq=False)
class Task:
    """A task, and what it had when its counters were last taken. `text` is its schedstat of then.

    `descriptor`: its open schedstat, -1 if it is not kept open. `fresh`: its whole life counts, if it began after the
    source was opened. `voluntary` is -1 while its switches are not known. `quiet`: in how many looks it did nothing.
    `cgroup_until_ns`: when its group is to be looked up again (CLOCK_MONOTONIC).
    """

    tid: int
    tgid: int
    fresh: bool
    descriptor: int = -1
    text: bytes = UNREAD
    counters: Schedstat = (0, 0, 0)
    voluntary: int = -1
    involuntary: int = 0
    start_ns: int = -1
    comm: bytes = b""
    cgroup_id: int = 0
    cgroup_until_ns: int = 0
    quiet: int = 0


class TaskTable:
    """Tasks by tid. At most `most_open` schedstat files are kept open, fewer where the limit of this process is lower.

    `refused`: how many tasks found no room, in all.
    """

    def __init__(self, most_open: int = MOST_OPEN, most_tasks: int = MOST_TASKS) -> None:
        self.tasks: dict[int, Task] = {}
        self.refused = 0
        self._threads: Counter[int] = Counter()
        self._most = most_tasks
        self._limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._room = _raise_limit(most_open, *self._limit)

    def close(self) -> None:
        """Gives all descriptors back, and the limit as it was."""
        for task in list(self.tasks.values()):
            self.forget(task)
        resource.setrlimit(resource.RLIMIT_NOFILE, self._limit)

    def threads(self, tgid: int) -> int:
        """How many threads of a process are known."""
        return self._threads[tgid]

    def enter(self, tid: int, tgid: int = 0, *, fresh: bool = True) -> Task | None:
        """The task of a tid that is not known yet; `None` if there is none, or no room."""
        if len(self.tasks) >= self._most:
            self.refused += 1
            return None
        task = Task(tid, tgid, fresh)
        if not self.keep_open(task):
            task.text = read_file(f"/proc/{tid}/schedstat", SCHEDSTAT_BYTES)
            if not task.text:
                return None
            task.text = UNREAD
        if known := self.tasks.get(tid):
            self.forget(known)
        self.tasks[tid] = task
        self._threads[tgid] += 1
        return task

    def belongs(self, task: Task, tgid: int) -> None:
        """Notes the process of a task."""
        if task.tgid != tgid:
            self._threads[task.tgid] -= 1
            self._threads[tgid] += 1
            task.tgid = tgid

    def forget(self, task: Task) -> None:
        """Takes a task out."""
        self.close_file(task)
        if self.tasks.get(task.tid) is task:
            del self.tasks[task.tid]
            self._threads[task.tgid] -= 1
            if not self._threads[task.tgid]:
                del self._threads[task.tgid]

    def keep_open(self, task: Task) -> bool:
        """Opens a task's schedstat for good, if there is room; whether it did."""
        if self._room <= 0:
            return False
        try:
            task.descriptor = os.open(f"/proc/{task.tid}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._room = 0
            return False
        self._room -= 1
        return True

    def close_file(self, task: Task) -> None:
        """Keeps a task's file open no longer."""
        if task.descriptor >= 0:
            os.close(task.descriptor)
            task.descriptor = -1
            self._room += 1

    def read(self, tasks: list[Task]) -> Iterator[tuple[Task, bytes]]:
        """The schedstat of some tasks, empty of those that have ended: first of those with an open file."""
        opened = [task for task in tasks if task.descriptor >= 0]
        yield from zip(opened, read_all([task.descriptor for task in opened]), strict=True)
        if len(opened) < len(tasks):
            for task in tasks:
                if task.descriptor < 0:
                    yield task, read_file(f"/proc/{task.tid}/schedstat", SCHEDSTAT_BYTES)

    def take(self, task: Task, text: bytes) -> Schedstat:
        """Makes a text the counters of a task: what was added to them, never negative.

        A thread that calls exec takes its process's tid over, with lower counters (de_thread in fs/exec.c).
        """
        before, task.counters, task.text = task.counters, parse_schedstat(text), text
        run, delay, slices = (max(0, now - then) for now, then in zip(task.counters, before, strict=True))
        return run, delay, slices


def _raise_limit(most_open: int, soft: int, hard: int) -> int:
    """How many files may be kept open; the process's own limit is raised for them, up to the hard one."""
    known_soft = soft if soft != resource.RLIM_INFINITY else most_open + RESERVED
    wanted = most_open + RESERVED
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if wanted > known_soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(0, min(most_open, max(wanted, known_soft) - RESERVED))
