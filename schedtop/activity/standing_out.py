"""What stands out in an activity: the facts that most likely delay something, in words, the most telling first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from schedtop.activity.activity import Activity
from schedtop.base.units import NS_PER_S, format_ns, format_rate, format_ratio
from schedtop.model.activity import Call
from schedtop.model.activity_rows import IO_KINDS, grouped
from schedtop.model.rows import Integers, Rows, text

MOST = 5
"""So many facts at most."""

LIMITS: dict[str, float] = {
    "file_io": 0.2,
    "fsync": 0.1,
    "failing_calls": 100.0,
    "tcp_failures": 5.0,
    "retransmits": 5.0,
    "major_faults": 20.0,
    "reclaim": 0.05,
    "fault_time": 0.2,
    "system_calls": 300_000.0,
}
"""From when on each kind of fact stands out: a share of the time of a process, or how often a second.

`file_io`: time in reads and writes of files; sockets, pipes and devices wait for work, and are left out. `fsync`: time
in fsync and the like. `failing_calls`: of one system call of all tasks, without EXPECTED. The others: of one process,
`retransmits` of the host."""

EXPECTED = frozenset(
    (
        *("EAGAIN", "EWOULDBLOCK", "EINTR", "EINPROGRESS", "EALREADY", "ETIMEDOUT", "ECHILD"),
        *("ERESTARTSYS", "ERESTARTNOINTR", "ERESTARTNOHAND", "ERESTART_RESTARTBLOCK"),
        *("ENOENT", "ENOTDIR", "ENOTTY", "ESPIPE", "ENODATA", "EOPNOTSUPP"),
    )
)
"""Errors that a program asks for: nothing is there yet, the time is over, a signal came, a file is looked for or asked
what it is."""

ASKING = frozenset(("readlink", "readlinkat"))
"""Calls that fail with EINVAL where the answer is no: a file that is no symbolic link."""

NAMED_SHARE = 0.8
"""A process is named for a call that fails if at least so much of that must be its own."""


@dataclass(frozen=True, slots=True)
class StandingOut:
    """One fact. `kind`: one of LIMITS; `value`: in its unit; `tgid`: the process, 0: it is of no single one."""

    kind: str
    value: float
    tgid: int
    comm: str
    words: str

    @property
    def weight(self) -> float:
        """How far it is beyond its limit."""
        return self.value / LIMITS[self.kind]


def standing_out(activity: Activity) -> tuple[StandingOut, ...]:
    """The facts of an interval, the one furthest beyond its limit first; at most one of each kind and process."""
    rows = grouped(activity.rows, "process", activity.cgroups)
    found = [*_of_processes(rows, activity.interval_ns), *_retransmits(rows, activity.interval_ns)]
    found += _failing_calls(rows, activity)
    beyond = [fact for fact in found if fact.weight >= 1]
    return tuple(sorted(beyond, key=lambda fact: (-fact.weight, fact.tgid, fact.kind))[:MOST])


def _of_processes(rows: Rows, interval_ns: int) -> Iterator[StandingOut]:
    """The facts that are of one process each."""
    seconds = interval_ns / NS_PER_S
    file, half = IO_KINDS.index("file"), len(IO_KINDS)
    times = rows["io_kind_ns"]
    read_ns, written_ns = times[:, file], times[:, half + file]
    for at in _beyond(read_ns + written_ns, LIMITS["file_io"] * interval_ns):
        way = "reads" if read_ns[at] > 2 * written_ns[at] else "writes" if written_ns[at] > 2 * read_ns[at] else "I/O"
        yield _share("file_io", rows[at], int(read_ns[at] + written_ns[at]), interval_ns, f"in {way} of files")
    for kind, field, what in (
        ("fsync", "fsync_ns", "waiting for the disk (fsync)"),
        ("reclaim", "reclaim_ns", "freeing memory (reclaim)"),
        ("fault_time", "fault_ns", "in page faults"),
    ):
        for at in _beyond(rows[field], LIMITS[kind] * interval_ns):
            yield _share(kind, rows[at], int(rows[field][at]), interval_ns, what)
    for kind, field, what in (
        ("major_faults", "major_faults", "major faults: memory is read from the disk"),
        ("tcp_failures", "tcp_failures", "failed connects"),
        ("system_calls", "syscalls", "system calls"),
    ):
        for at in _beyond(rows[field], LIMITS[kind] * seconds):
            value = int(rows[field][at]) / seconds
            yield _fact(kind, value, rows[at], f"{_name(rows[at])}: {format_rate(value)} {_a_second(what)}")


def _retransmits(rows: Rows, interval_ns: int) -> Iterator[StandingOut]:
    """Of all tasks, with the process that has most of them, if it is known."""
    counts = rows["tcp_retransmits"]
    every = int(counts.sum())
    if not every:
        return
    first = rows[int(np.argmax(counts))]
    value, words = every * NS_PER_S / interval_ns, ""
    if first["tgid"]:
        words = f"{' by' if int(counts.max()) >= NAMED_SHARE * every else ', most by'} {_name(first)}"
    yield _fact("retransmits", value, first if words else None, f"retransmits {format_rate(value)}/s{words}")


def _failing_calls(rows: Rows, activity: Activity) -> Iterator[StandingOut]:
    """System calls that fail, each with its errors; the process if nearly all of it must be its own."""
    errors = rows["syscall_errors"]
    every = int(errors.sum())
    first = rows[int(np.argmax(errors))] if every else None
    others = every - int(errors.max(initial=0))
    for call in activity.syscalls:
        failed, names = _unexpected(call)
        value = failed * NS_PER_S / activity.interval_ns
        if value < LIMITS["failing_calls"]:
            continue
        # Errors are counted by task and by call: what is not of the others must be of the first.
        own = first is not None and first["tgid"] and failed - others >= NAMED_SHARE * failed
        row = first if own else None
        name = f"{_name(row)}: " if row is not None else ""
        yield _fact("failing_calls", value, row, f"{name}{format_rate(value)} failing {call.name} a second ({names})")


def _unexpected(call: Call) -> tuple[int, str]:
    """How often a call failed with errors that say something, and the names of the two most frequent."""
    expected = EXPECTED | {"EINVAL"} if call.name in ASKING else EXPECTED
    errors = sorted(((count, name) for name, count in call.errors.items() if name not in expected), reverse=True)
    return sum(count for count, _ in errors), ", ".join(name for _, name in errors[:2])


def _beyond(values: Integers, limit: float) -> list[int]:
    """The places of what is beyond a limit, the largest first; at most MOST."""
    places = np.flatnonzero(values >= max(limit, 1))
    found: list[int] = places[np.argsort(-values[places], kind="stable")][:MOST].tolist()
    return found


def _share(kind: str, row: Rows, ns: int, interval_ns: int, what: str) -> StandingOut:
    """A share of the time of a process; of several threads the sum may be more than all of it."""
    value = ns / interval_ns
    how_much = f"{format_ratio(value)} of its time" if value <= 1 else f"{format_ns(round(value * NS_PER_S))} a second"
    return _fact(kind, value, row, f"{_name(row)}: {how_much} {what}")


def _fact(kind: str, value: float, row: Rows | None, words: str) -> StandingOut:
    if row is None:
        return StandingOut(kind, value, 0, "", words)
    return StandingOut(kind, value, int(row["tgid"]), text(bytes(row["comm"])), words)


def _name(row: Rows) -> str:
    """A process in a sentence."""
    comm = text(bytes(row["comm"]))
    return f"{comm} ({int(row['tgid'])})" if row["tgid"] else comm or "no known task"


def _a_second(what: str) -> str:
    """`major faults a second: memory is ...`."""
    thing, colon, rest = what.partition(":")
    return f"{thing} a second{colon}{rest}"
