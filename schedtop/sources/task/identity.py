"""Which task it is that is looked at: its name and process, and whether it is there at all."""

from __future__ import annotations

import os
import select
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from schedtop.model.rows import text
from schedtop.model.source import SourceError
from schedtop.sources.host.pid_numbers import shows_host
from schedtop.sources.kernel.pid_numbers import pid_numbers
from schedtop.sources.task.proc import comm, exit_code, read_stat, read_status, thread_ids
from schedtop.task import exit_words


class NoSuchTask(SourceError):
    """No task has the number that was asked for."""


@dataclass(frozen=True, slots=True)
class TaskName:
    """A task: `tid` is `tgid` for a leader. `threads`: how many its process has."""

    tid: int
    tgid: int
    comm: str
    process: str
    command_line: str
    threads: int


def identify(tid: int, proc: Path = Path("/proc")) -> TaskName:
    """The task of that number. Raises NoSuchTask if there is none, SourceError if it has ended."""
    try:
        fields = read_status(proc / str(tid))
        tgid = int(fields["Tgid"])
        command = (proc / str(tgid) / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ")
        name = TaskName(tid, tgid, comm(tgid, tid, proc), comm(tgid, tgid, proc), text(command), int(fields["Threads"]))
    except (OSError, KeyError, ValueError) as error:
        raise NoSuchTask(f"there is no task {tid} on this host") from error
    if fields.get("State", "").startswith(("Z", "X")) and name.threads <= 1:
        raise SourceError(f"task {tid} ({name.comm}) has ended: only its parent has not asked how")
    return name


def has_gone(name: TaskName, proc: Path = Path("/proc")) -> bool:
    """Whether it has ended, whoever may still have to ask how."""
    return read_stat(name.tgid, name.tid, proc) is None


def ended_before(name: TaskName, proc: Path = Path("/proc")) -> SourceError:
    """To be raised if it ended while programs were compiled and attached for it."""
    how = exit_words(exit_code(name.tgid, name.tid, proc))
    return SourceError(f"task {name.tid} ({name.comm}) ended while the task view was attached{how}")


def require_host_numbers() -> None:
    """Raises SourceError where /proc has the tids of a container: the kernel programs know the host's alone."""
    if not shows_host():
        raise SourceError("tids are other numbers in this pid namespace: run it in the host's (docker run --pid=host)")


class Ending:
    """Tells when a thread, or with `whole_process` its process, has ended. `watch` begins; `close` may come before."""

    def __init__(self, name: TaskName, whole_process: bool) -> None:
        self._name = name
        self._whole = whole_process
        self._pidfd = -1

    def watch(self) -> None:
        """From now on the kernel tells of the end of the process, where it can."""
        if pid_numbers().for_calls:
            with suppress(OSError):  # before 5.3
                self._pidfd = os.pidfd_open(self._name.tgid)

    def close(self) -> None:
        """Watches no more."""
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    def has_come(self) -> bool:
        """Whether it is gone."""
        if self._pidfd >= 0 and select.select([self._pidfd], [], [], 0)[0]:
            return True
        if self._whole:
            return self._pidfd < 0 and not thread_ids(self._name.tgid)
        return not os.path.exists(f"/proc/{self._name.tgid}/task/{self._name.tid}")
