"""Short-lived tasks added up: how many by command, what started them, and how they ended.

A fork storm is thousands of tasks a second, each too short to be seen in a table of tasks. Rows here are of all those
that are alike, so that their counts stay exact however many there are.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from schedtop.base.units import format_rate, rate
from schedtop.model.rows import Integers, Rows, join_rows, name_words, neighbours, take_rows, text

SHORT_LIVED_DTYPE = np.dtype(
    [
        ("comm", "S16"),
        ("parent", "S16"),
        ("cgroup_id", "<u8"),
        ("exit_code", "<i4"),
        ("parent_tgid", "<u4"),
        ("pid_namespace", "<u4"),
        ("is_thread", "<u4"),
        ("session_weight", "<u4"),
        ("count", "<i8"),
        ("run_ns", "<i8"),
        ("run_delay_ns", "<i8"),
        ("max_wait_ns", "<i8"),
        ("lived_ns", "<i8"),
        ("switches", "<i8"),
    ]
)
"""Tasks that ended in an interval and had lived no longer than one interval, those that are alike added up.

`comm`: their name at the end. `parent`: the process that started them, `parent_tgid` its number (0: several, or not
known); of threads (`is_thread`) that is their own process. `exit_code` is a wait status: the exit status times 256, or
a signal; EXIT_UNKNOWN for threads and where it cannot be told. A row of exit_code FOLDED has the tasks of many
commands, which were too many to be kept apart. `session_weight`: that of the parents' session (autogroup), the most of
several, in shares; 0: they are in none, or it is not known. `lived_ns` is the sum of their lives, `max_wait_ns` the
longest wait of any."""

SUMS = ("count", "run_ns", "run_delay_ns", "lived_ns", "switches")
"""The counters: they add."""

EXIT_UNKNOWN, FOLDED = -1, -2

MANY = 10
"""Of so many of one name in a window, tables have a line for all."""

MOST_ROWS = 512
"""How many rows an interval keeps; the tasks of the others are in a row for all of them."""

_SIGNAL_BITS, _STATUS_SHIFT = 0x7F, 8

COMMAND_DTYPE = np.dtype(
    [("comm", "S16"), ("parent", "S16"), ("parent_tgid", "<u4"), ("is_thread", "<u4"), ("is_folded", "<u4")]
    + [("parents", "<u4"), ("name_low", "<u8"), ("name_high", "<u8")]
    + [(name, "<i8") for name in (*SUMS, "max_wait_ns", "succeeded", "failed", "killed", "unknown")]
)
"""The short-lived tasks of one command: `parent` started most of them, one of `parents` (names); `name_low` and
`name_high` are `comm` as two numbers. How they ended: `succeeded` with exit status 0, `failed` with another, `killed`
by a signal, or `unknown`."""

SORTS = {
    "count": "most first",
    "run_ns": "run time",
    "run_delay_ns": "run delay",
    "max_wait_ns": "longest wait",
    "failed": "failed first",
}
"""Sort keys of the commands with their words, all descending."""


def no_short_lived() -> Rows:
    """No short-lived tasks."""
    return np.zeros(0, SHORT_LIVED_DTYPE)


def merge_short_lived(tables: Sequence[Rows]) -> Rows:
    """Rows of SHORT_LIVED_DTYPE merged by all that tells them apart, counters added."""
    tables = [table for table in tables if len(table)]
    if not tables:
        return no_short_lived()
    rows = join_rows(tables) if len(tables) > 1 else tables[0]
    keys = [*name_words(rows, "comm"), *name_words(rows, "parent")]
    order, starts = neighbours(
        [*keys, *(rows[name] for name in ("cgroup_id", "exit_code", "pid_namespace", "is_thread"))]
    )
    rows = take_rows(rows, order)
    merged = take_rows(rows, starts)
    for name in SUMS:
        merged[name] = np.add.reduceat(rows[name], starts)
    for name in ("max_wait_ns", "session_weight"):
        merged[name] = np.maximum.reduceat(rows[name], starts)
    least, most = (extreme.reduceat(rows["parent_tgid"], starts) for extreme in (np.minimum, np.maximum))
    merged["parent_tgid"] = np.where(least == most, most, 0)
    return merged


def folded(rows: Rows, most: int = MOST_ROWS) -> Rows:
    """Rows of SHORT_LIVED_DTYPE, at most so many and two: the tasks of the least are added up, processes and threads.

    Least are those that ran least. Nothing but their names and exit codes is lost.
    """
    if len(rows) <= most + 2:
        return rows
    order = np.argsort(-rows["run_ns"], kind="stable")
    rest = take_rows(rows, order[most:])
    rest["comm"], rest["parent"], rest["exit_code"] = b"", b"", FOLDED
    for name in ("cgroup_id", "pid_namespace", "parent_tgid", "session_weight"):
        rest[name] = 0
    return merge_short_lived([take_rows(rows, order[:most]), rest])


def by_command(rows: Rows) -> Rows:
    """Rows of COMMAND_DTYPE, processes and threads apart, most first, from rows of SHORT_LIVED_DTYPE."""
    is_folded = rows["exit_code"] == FOLDED
    order, starts = neighbours([*name_words(rows, "comm"), rows["is_thread"], is_folded])
    commands = np.zeros(len(starts), COMMAND_DTYPE)
    if not len(starts):
        return commands
    rows = take_rows(rows, order)
    for name in ("comm", "is_thread"):
        commands[name] = rows[name][starts]
    commands["is_folded"] = is_folded[order][starts]
    commands["name_low"], commands["name_high"] = name_words(commands, "comm")
    for name in SUMS:
        commands[name] = np.add.reduceat(rows[name], starts)
    commands["max_wait_ns"] = np.maximum.reduceat(rows["max_wait_ns"], starts)
    for name, ended_so in endings(rows["exit_code"]).items():
        commands[name] = np.add.reduceat(np.where(ended_so, rows["count"], 0), starts)
    for place, own in enumerate(np.split(rows, starts[1:])):
        parents = by_parent(own)
        commands["parent"][place] = parents[0].comm
        commands["parent_tgid"][place] = parents[0].tgid
        commands["parents"][place] = len(parents)
    return sort_commands(commands, "count")


def names_of_many(rows: Rows) -> list[bytes]:
    """The names of which there are MANY, from rows of SHORT_LIVED_DTYPE; of those that are kept apart."""
    counts: dict[bytes, int] = {}
    apart = rows[rows["exit_code"] != FOLDED]
    for name, count in zip(apart["comm"].tolist(), apart["count"].tolist(), strict=True):
        counts[name] = counts.get(name, 0) + count
    return [name for name, count in counts.items() if count >= MANY]


def sort_commands(commands: Rows, key: str) -> Rows:
    """Rows of COMMAND_DTYPE by one of SORTS, largest first; equals by count, then by name."""
    return commands[np.lexsort((commands["comm"], -commands["count"], -commands[key]))]


@dataclass(frozen=True, slots=True)
class Parent:
    """A parent and how many it started; `tgid` 0: several of that name, or it is not known."""

    comm: bytes
    tgid: int
    count: int


def by_parent(rows: Rows) -> list[Parent]:
    """The parents of these (rows of SHORT_LIVED_DTYPE), most first."""
    parents: dict[bytes, Parent] = {}
    for comm, tgid, count in zip(*(rows[name].tolist() for name in ("parent", "parent_tgid", "count")), strict=True):
        known = parents.get(comm)
        same = known is None or known.tgid == tgid
        parents[comm] = Parent(comm, tgid if same else 0, count + (known.count if known else 0))
    return sorted(parents.values(), key=lambda parent: (-parent.count, parent.comm))


def by_exit_code(rows: Rows) -> list[tuple[int, int]]:
    """Wait statuses that are known and how many ended so, most first."""
    codes, places = np.unique(rows["exit_code"], return_inverse=True)
    counts = np.bincount(places, rows["count"], len(codes)).astype(np.int64).tolist()
    known = [pair for pair in zip(codes.tolist(), counts, strict=True) if pair[0] >= 0]
    return sorted(known, key=lambda pair: (-pair[1], pair[0]))


def endings(codes: Integers) -> dict[str, Integers]:
    """Which of these wait statuses mean what: masks by the fields of COMMAND_DTYPE."""
    known = codes >= 0
    killed = known & (codes & _SIGNAL_BITS != 0)
    return {
        "succeeded": codes == 0,
        "failed": known & ~killed & (codes != 0),
        "killed": killed,
        "unknown": ~known,
    }


def exit_status(code: int) -> int | None:
    """The exit status (0 to 255) in a wait status, `None` if a signal ended it or it is not known."""
    return None if code < 0 or code & _SIGNAL_BITS else code >> _STATUS_SHIFT & 0xFF


def exit_signal(code: int) -> int | None:
    """The number of the signal in a wait status, `None` if none ended it or it is not known."""
    return code & _SIGNAL_BITS or None if code >= 0 else None


def ending_words(status: int | None, number: int | None) -> str:
    """`exit 1`, `SIGKILL`, or `?`, by exit status and number of the signal."""
    if number is None:
        return "?" if status is None else f"exit {status}"
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def often(count: int, interval_ns: int) -> str:
    """How often a second so many in an interval are, as it is spoken: `×1,200/s`."""
    return f"×{spoken_rate(count, interval_ns)}/s"


def spoken_rate(count: int, interval_ns: int) -> str:
    """So many in an interval, as a number a second: `1,200`, `120k`."""
    per_second = rate(count, interval_ns)
    is_read_whole = per_second is not None and 999.5 <= per_second < 99_999.5
    return f"{per_second:,.0f}" if is_read_whole else format_rate(per_second)


def command_name(command: np.void) -> str:
    """What a row of COMMAND_DTYPE is called: its name, or that it is many."""
    return "(other commands)" if command["is_folded"] else text(command["comm"]) or "?"


def parent_name(command: np.void) -> str:
    """`make (1234)`, `make` where there are several of that name, `make +2` with others; empty if it is not known."""
    name = text(command["parent"])
    if not name:
        return ""
    number = f" ({int(command['parent_tgid'])})" if command["parent_tgid"] else ""
    more = int(command["parents"]) - 1
    return f"{name}{number}{f' +{more}' if more else ''}"
