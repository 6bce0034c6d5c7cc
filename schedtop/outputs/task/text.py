"""A TaskFrame as a report to read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from itertools import groupby

from schedtop import __version__
from schedtop.base.units import (
    format_bytes,
    format_clock_ms,
    format_count,
    format_ns,
    format_ratio,
    format_round_ns,
    iso_time,
    printable,
)
from schedtop.model.host import Host
from schedtop.outputs.plain import blocks_text
from schedtop.outputs.tables import table
from schedtop.outputs.words import by_reason
from schedtop.task import STATES, Column, Peer, StateTimes, TaskFrame, counts_words, entered, exit_words
from schedtop.verdict.wait import explain

STRIP_COLUMNS = 60
SYSCALLS, PEERS, THREADS, WAITS, CHANGES = 25, 8, 20, 10, 10
"""How many rows of each are shown at most."""

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_COMMAND_CHARACTERS = 160


def to_text(task: TaskFrame, host: Host, threshold_ns: int | None, ended_early: str = "") -> str:
    """The report; the arguments as in `task_report`."""
    parts = [_head(task, host, ended_early), _states(task), _switches(task), _attributes(task), _threads(task)]
    sections: tuple[Callable[[TaskFrame], str], ...] = (
        _waits, _wakers, _preemptors, _cpus, _syscalls, _slow_calls, _ongoing, _faults, _io, _network, _connections,
    )  # fmt: skip
    parts += [section(task) for section in sections]
    parts += [_slow_waits(task, threshold_ns), _unavailable(task), _loss(task)]
    return blocks_text(parts)


def _head(task: TaskFrame, host: Host, ended_early: str) -> str:
    facts = [f"schedtop {__version__}", f"host {host.name}", f"kernel {host.kernel}", f"source {host.source}"]
    facts += [iso_time(task.start_time_ns), f"over {format_ns(task.interval_ns)}"]
    name = printable(task.comm)
    who = f"Process {task.tgid} ({name}), " if task.whole_process else f"Task {task.tid} ({name}), "
    lines = ["  ".join(facts), who + (_all_threads(task) if task.whole_process else _one_thread(task))]
    if task.command_line:
        command = printable(task.command_line)
        lines.append("  " + command[:_COMMAND_CHARACTERS] + ("..." if len(command) > _COMMAND_CHARACTERS else ""))
    if task.ended:
        lines.append(f"  It has ended{exit_words(task.exit_code)}; what follows is up to then.")
    elif ended_early:
        lines.append(f"  This is shorter than it was to be: {ended_early}.")
    return "\n".join(lines)


def _all_threads(task: TaskFrame) -> str:
    """How many threads are looked at."""
    count, started = _thread_count(task), task.threads_started
    threads = "its only thread" if count == 1 else f"all {count} threads"
    return f"{threads}, {started} of them started meanwhile" if started else threads


def _one_thread(task: TaskFrame) -> str:
    """That it is one alone, and how many others its process has."""
    inside = "" if task.tid == task.tgid else f" of process {task.tgid} ({printable(task.process)})"
    facts = [f"has {task.process_threads} threads"] if task.process_threads > 1 else []
    facts += [f"started {task.threads_started} meanwhile"] if task.threads_started else []
    return f"this thread{inside} alone" + (f": the process {' and '.join(facts)} (--process)" if facts else "")


def _states(task: TaskFrame) -> str:
    """A line for each state: its share, its time, and a bar for each piece of time."""
    columns = _fewer(task.strip, STRIP_COLUMNS)
    lines = []
    for state in STATES:
        ns = getattr(task.states, f"{state}_ns")
        if state == "throttled" and "throttled" in task.unavailable:
            continue
        if not ns and state in ("stopped", "throttled"):
            continue
        bars = "".join(_bar(column.states.ratio(state)) for column in columns)
        lines.append(f"  {state:<15}{format_ratio(task.states.ratio(state)):>7} {format_ns(ns):>8}  |{bars}|")
    piece = f"; each column is {format_ns(columns[0].duration_ns)}" if columns else ""
    of_threads = ", threads added up" if task.whole_process and _thread_count(task) != 1 else ""
    return f"State over time{of_threads}{piece}\n" + "\n".join(lines)


def _fewer(columns: Sequence[Column], most: int) -> list[Column]:
    """As many neighbours together as it takes."""
    each = -(-len(columns) // most)
    found = []
    for start in range(0, len(columns), max(each, 1)):
        part = columns[start : start + each]
        states = sum((column.states for column in part), StateTimes())
        found.append(Column(sum(column.duration_ns for column in part), states))
    return found


def _bar(ratio: float | None) -> str:
    if not ratio:
        return " "
    return _EIGHTHS[max(1, min(8, round(ratio * 8)))]


def _switches(task: TaskFrame) -> str:
    parts = [
        f"voluntary switches {format_count(task.voluntary_switches)}",
        f"involuntary {format_count(task.involuntary_switches)}",
    ]
    if "migrations" not in task.unavailable:
        parts.append(f"migrations {format_count(task.migrations)}")
    return "  ".join(parts)


def _attributes(task: TaskFrame) -> str:
    attributes = task.attributes
    if not attributes:
        return "Attributes: not available"
    cpus = "1 CPU" if attributes.allowed_cpus == 1 else f"{attributes.allowed_cpus} CPUs"
    words = [f"affinity {attributes.affinity} ({cpus})", f"policy {attributes.policy}"]
    words += [f"priority {attributes.rt_priority}"] if attributes.rt_priority else []
    words += [f"nice {attributes.nice}", f"cgroup {attributes.cgroup or '?'}"]
    lines = ["  ".join(words)]
    if quota := attributes.quota:
        used = f"throttled in {quota.throttled_periods} of {quota.periods} periods, for {format_ns(quota.throttled_ns)}"
        lines.append(
            f"quota {format_round_ns(quota.quota_ns)} in each {format_round_ns(quota.period_ns)} (cgroup "
            f"{quota.cgroup}): {used}, all of the group and its CPUs together"
        )
    return "\n".join(lines)


def _threads(task: TaskFrame) -> str:
    if not task.whole_process or len(task.threads) < 2:
        return ""
    header = (
        "tid",
        "comm",
        "now",
        "run time",
        "run delay",
        "running",
        "runnable",
        "sleeping",
        "uninterruptible",
        "switches",
        "cpu",
    )
    rows = [
        (
            str(thread.tid),
            printable(thread.comm),
            thread.state,
            format_ns(thread.states.running_ns),
            format_ns(thread.states.runnable_ns),
            *(format_ratio(thread.states.ratio(state)) for state in STATES[:4]),
            format_count(thread.voluntary_switches + thread.involuntary_switches),
            str(thread.cpu) if thread.cpu >= 0 else "-",
        )
        for thread in task.threads[:THREADS]
    ]
    return _titled("Threads by run time", _thread_count(task), header, rows, left=("comm", "now"))


def _thread_count(task: TaskFrame) -> int:
    return len(task.threads) + task.loss.threads_forgotten


def _waits(task: TaskFrame) -> str:
    waits = task.waits
    if not waits.count:
        return "Waits for a CPU: none ended"
    times = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
    words = [f"{name} {format_ns(waits.percentile_ns(ratio))}" for name, ratio in times.items()]
    return f"Waits for a CPU: {format_count(waits.count)}  " + "  ".join([*words, f"max {format_ns(waits.max_ns)}"])


def _wakers(task: TaskFrame) -> str:
    if "wakers" in task.unavailable:
        return ""
    return f"Woken by: {_peers(task.wakers)}\nWakes: {_peers(task.wakees)}"


def _peers(peers: Sequence[Peer]) -> str:
    words = [f"{_name(peer)} ×{format_count(peer.count)}" for peer in peers[:PEERS]]
    words += [f"{len(peers) - PEERS} more"] if len(peers) > PEERS else []
    return ", ".join(words) or "nobody"


def _name(peer: Peer) -> str:
    return f"{printable(peer.comm) or '?'} ({peer.tid})" if peer.tid else "an interrupt"


def _preemptors(task: TaskFrame) -> str:
    peers = [
        f"{_name(peer)} ×{format_count(peer.count)}, {format_ns(peer.wait_ns)}" for peer in task.preemptors[:PEERS]
    ]
    return "Preempted by (and for how long): " + "; ".join(peers) if peers else ""


def _cpus(task: TaskFrame) -> str:
    if not task.cpus:
        return "CPUs: it did not run"
    most = sorted(task.cpus, key=lambda use: -use.run_ns)
    words = [f"{use.cpu}: {format_ns(use.run_ns)} in {format_count(use.timeslices)} slices" for use in most[:PEERS]]
    words += [f"{len(most) - PEERS} more"] if len(most) > PEERS else []
    return "CPUs  " + "   ".join(words)


def _syscalls(task: TaskFrame) -> str:
    if "syscalls" in task.unavailable:
        return ""
    if not task.syscalls:
        return "System calls: none"
    header = ("call", "count", "time", "average", "longest", "blocked", "errors")
    rows = [
        (
            call.name,
            format_count(call.count),
            format_ns(call.total_ns),
            format_ns(call.total_ns / call.count if call.count else None),
            format_ns(call.max_ns if call.count else None),
            format_ns(call.blocked_ns),
            ", ".join(f"{name} ×{format_count(count)}" for name, count in call.errors.items()),
        )
        for call in task.syscalls[:SYSCALLS]
    ]
    return _titled("System calls by time", len(task.syscalls), header, rows, left=("call", "errors"))


def _slow_calls(task: TaskFrame) -> str:
    if not task.slow_calls:
        return ""
    header = ("time", "tid", "call", "took", "blocked", "result")
    rows = [
        (
            format_clock_ms(call.time_ns),
            str(call.tid),
            call.name,
            format_ns(call.duration_ns),
            format_ns(call.blocked_ns),
            call.error or str(call.result),
        )
        for call in task.slow_calls
    ]
    return _titled("Slowest single calls", len(rows), header, rows, left=("call", "result"))


def _ongoing(task: TaskFrame) -> str:
    if task.ended or "syscalls" in task.unavailable:
        return ""
    calls = sorted(task.ongoing, key=lambda call: call.name)
    parts = []
    for name, group in groupby(calls, key=lambda call: call.name):
        same = list(group)
        longest = max(same, key=lambda call: call.duration_ns)
        at_least = "at least " if longest.at_least else ""
        # 0: it has only just begun, within the reading.
        lasted = [f"{at_least}{format_ns(longest.duration_ns)} so far"] if longest.duration_ns else []
        facts = ", ".join([*([f"{len(same)} threads"] if len(same) > 1 else []), *lasted])
        parts.append(f"{name} ({facts})" if facts else name)
    return "Now in: " + (", ".join(parts) or "no system call")


def _faults(task: TaskFrame) -> str:
    if not task.faults:
        return ""
    time = "" if task.faults.time_ns is None else f", {format_ns(task.faults.time_ns)} to handle them"
    return f"Page faults: {format_count(task.faults.minor)} minor, {format_count(task.faults.major)} major{time}"


def _io(task: TaskFrame) -> str:
    if "io" in task.unavailable or "syscalls" in task.unavailable:
        return ""
    if not task.io:
        return "Reads and writes: none"
    rows = [
        (one.direction, one.kind, format_count(one.count), format_bytes(one.bytes), format_ns(one.time_ns),
         format_count(one.errors))
        for one in task.io
    ]  # fmt: skip
    return "Reads and writes\n" + table(("", "of", "count", "bytes", "time", "errors"), rows, left=("", "of"))


def _network(task: TaskFrame) -> str:
    if "network" in task.unavailable:
        return ""
    if not task.traffic:
        return "Network: nothing sent or received over TCP or UDP"
    words = [
        f"{one.protocol} over {one.family}: sent {format_bytes(one.sent_bytes)} in {format_count(one.sent_messages)}, "
        f"received {format_bytes(one.received_bytes)} in {format_count(one.received_messages)}"
        for one in task.traffic
    ]
    return "Network\n  " + "\n  ".join(words)


def _connections(task: TaskFrame) -> str:
    if not task.transitions:
        return ""
    by_state = ", ".join(f"{state} {format_count(count)}" for state, count in entered(task.transitions).items())
    whole = sum(one.count for one in task.transitions)
    sums = f"Connections: {counts_words(task.transitions) or 'none opened or closed'}\n  changes to {by_state}"
    header = ("time", "", "from", "to", "local", "remote")
    rows = [
        (format_clock_ms(c.time_ns), c.protocol, c.old, c.new, bound(c.local), bound(c.remote))
        for c in task.connections[-CHANGES:]
    ]
    left = ("", "from", "to", "local", "remote")
    return f"{sums}\n" + _titled("the last changes", whole, header, rows, left=left)


def bound(address: str) -> str:
    """An address with its port, nothing for one that has none yet."""
    return "-" if address.endswith(":0") else address


def _slow_waits(task: TaskFrame, threshold_ns: int | None) -> str:
    if threshold_ns is None or "slow waits" in task.unavailable:
        return ""
    rows = sorted(task.slow_waits, key=lambda row: -int(row["wait_ns"]))
    lines = [f"  {format_clock_ms(int(row['time_ns']))}  {explain(row)}" for row in rows[:WAITS]]
    title = f"Waits of {format_round_ns(threshold_ns)} and more: {_of(len(lines), len(rows))}"
    return "\n".join([title, *lines])


def _unavailable(task: TaskFrame) -> str:
    return "\n".join(f"not available: {parts}: {why}" for parts, why in by_reason(task.unavailable))


def _loss(task: TaskFrame) -> str:
    lost = [f"{name.replace('_', ' ')}: {count}" for name, count in asdict(task.loss).items() if count]
    return "lost: " + ", ".join(lost) if lost else "nothing was lost"


def _titled(
    title: str, whole: int, header: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[str] = ()
) -> str:
    lines = list(rows)
    count = "" if len(lines) == whole else f": {_of(len(lines), whole)}"
    return f"{title}{count}\n" + table(header, lines, left=left)


def _of(shown: int, whole: int) -> str:
    return str(whole) if shown == whole else f"{shown} of {whole}"
