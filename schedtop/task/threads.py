"""The threads of a task, with their page faults, and how one ended."""

from __future__ import annotations

from dataclasses import dataclass, replace

from schedtop.task.states import StateTimes


@dataclass(frozen=True, slots=True)
class Faults:
    """Page faults as getrusage counts them. `time_ns`: spent in handling them, `None` where it is not known."""

    minor: int = 0
    major: int = 0
    time_ns: int | None = None

    def __add__(self, later: Faults) -> Faults:
        known = self.time_ns is not None and later.time_ns is not None
        time_ns = (self.time_ns or 0) + (later.time_ns or 0) if known else None
        return Faults(self.minor + later.minor, self.major + later.major, time_ns)


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread. `state`: which of STATES it is in at the end, or `ended`; `state_ns`: since when, at least.

    `cpu`: where it runs or ran last, -1 if not known. `exit_code` as wait() gives it, if it has ended and it is known.
    """

    tid: int
    comm: str
    states: StateTimes
    state: str
    state_ns: int = 0
    cpu: int = -1
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    migrations: int = 0
    faults: Faults = Faults()
    exit_code: int | None = None

    def __add__(self, later: Thread) -> Thread:
        sums = ("states", "voluntary_switches", "involuntary_switches", "migrations", "faults")
        return replace(later, **{name: getattr(self, name) + getattr(later, name) for name in sums})


def thread_order(thread: Thread) -> tuple[int, int]:
    """The most run time first."""
    return (-thread.states.running_ns, thread.tid)


def exit_words(code: int | None) -> str:
    """How it ended, to be put behind "ended": ` with status 3`, ` by signal 9`, or nothing if that is not known."""
    if code is None:
        return ""
    return f" with status {code}" if code >= 0 else f" by signal {-code}"
