"""A Lens as a report to read."""

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
from schedtop.model.frame import Host
from schedtop.outputs.plain import blocks_text
from schedtop.outputs.scheduler.table import by_reason, table
from schedtop.task import STATES, Column, Lens, Peer, StateTimes, counts_words, entered, exit_words
from schedtop.verdict.wait import explain

STRIP_COLUMNS = 60
SYSCALLS, PEERS, THREADS, WAITS, CHANGES = 25, 8, 20, 10, 10
"""How many rows of each are shown at most."""

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_COMMAND_CHARACTERS = 160


def to_text(lens: Lens, host: Host, threshold_ns: int | None, ended_early: str = "") -> str:
    """The report; the arguments as in `task_report`."""
    parts = [_head(lens, host, ended_early), _states(lens), _switches(lens), _attributes(lens), _threads(lens)]
    sections: tuple[Callable[[Lens], str], ...] = (
        _waits, _wakers, _preemptors, _cpus, _syscalls, _slow_calls, _ongoing, _faults, _io, _network, _connections,
    )  # fmt: skip
    parts += [section(lens) for section in sections]
    parts += [_slow_waits(lens, threshold_ns), _unavailable(lens), _loss(lens)]
    return blocks_text(parts)


def _head(lens: Lens, host: Host, ended_early: str) -> str:
    facts = [f"schedtop {__version__}", f"host {host.name}", f"kernel {host.kernel}", f"source {host.source}"]
    facts += [iso_time(lens.start_time_ns), f"over {format_ns(lens.interval_ns)}"]
    name = printable(lens.comm)
    who = f"Process {lens.tgid} ({name}), " if lens.whole_process else f"Task {lens.tid} ({name}), "
    lines = ["  ".join(facts), who + (_all_threads(lens) if lens.whole_process else _one_thread(lens))]
    if lens.command_line:
        command = printable(lens.command_line)
        lines.append("  " + command[:_COMMAND_CHARACTERS] + ("..." if len(command) > _COMMAND_CHARACTERS else ""))
    if lens.ended:
        lines.append(f"  It has ended{exit_words(lens.exit_code)}; what follows is up to then.")
    elif ended_early:
        lines.append(f"  This is shorter than it was to be: {ended_early}.")
    return "\n".join(lines)


def _all_threads(lens: Lens) -> str:
    """How many they are: who is looked at."""
    count, started = _thread_count(lens), lens.threads_started
    threads = "its only thread" if count == 1 else f"all {count} threads"
    return f"{threads}, {started} of them started meanwhile" if started else threads


def _one_thread(lens: Lens) -> str:
    """That it is one alone, and who else there is in its process."""
    inside = "" if lens.tid == lens.tgid else f" of process {lens.tgid} ({printable(lens.process)})"
    facts = [f"has {lens.process_threads} threads"] if lens.process_threads > 1 else []
    facts += [f"started {lens.threads_started} meanwhile"] if lens.threads_started else []
    return f"this thread{inside} alone" + (f": the process {' and '.join(facts)} (--process)" if facts else "")


def _states(lens: Lens) -> str:
    """A line for each state: its share, its time, and a bar for each piece of time."""
    columns = _fewer(lens.strip, STRIP_COLUMNS)
    lines = []
    for state in STATES:
        ns = getattr(lens.states, f"{state}_ns")
        if state == "throttled" and "throttled" in lens.unavailable:
            continue
        if not ns and state in ("stopped", "throttled"):
            continue
        bars = "".join(_bar(column.states.ratio(state)) for column in columns)
        lines.append(f"  {state:<15}{format_ratio(lens.states.ratio(state)):>7} {format_ns(ns):>8}  |{bars}|")
    piece = f"; each column is {format_ns(columns[0].duration_ns)}" if columns else ""
    of_threads = ", threads added up" if lens.whole_process and _thread_count(lens) != 1 else ""
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


def _switches(lens: Lens) -> str:
    parts = [
        f"voluntary switches {format_count(lens.voluntary_switches)}",
        f"involuntary {format_count(lens.involuntary_switches)}",
    ]
    if "migrations" not in lens.unavailable:
        parts.append(f"migrations {format_count(lens.migrations)}")
    return "  ".join(parts)


def _attributes(lens: Lens) -> str:
    attributes = lens.attributes
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


def _threads(lens: Lens) -> str:
    if not lens.whole_process or len(lens.threads) < 2:
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
        for thread in lens.threads[:THREADS]
    ]
    return _titled("Threads by run time", _thread_count(lens), header, rows, left=("comm", "now"))


def _thread_count(lens: Lens) -> int:
    return len(lens.threads) + lens.loss.threads_forgotten


def _waits(lens: Lens) -> str:
    waits = lens.waits
    if not waits.count:
        return "Waits for a CPU: none ended"
    times = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
    words = [f"{name} {format_ns(waits.percentile_ns(ratio))}" for name, ratio in times.items()]
    return f"Waits for a CPU: {format_count(waits.count)}  " + "  ".join([*words, f"max {format_ns(waits.max_ns)}"])


def _wakers(lens: Lens) -> str:
    if "wakers" in lens.unavailable:
        return ""
    return f"Woken by: {_peers(lens.wakers)}\nWakes: {_peers(lens.wakees)}"


def _peers(peers: Sequence[Peer]) -> str:
    words = [f"{_name(peer)} ×{format_count(peer.count)}" for peer in peers[:PEERS]]
    words += [f"{len(peers) - PEERS} more"] if len(peers) > PEERS else []
    return ", ".join(words) or "nobody"


def _name(peer: Peer) -> str:
    return f"{printable(peer.comm) or '?'} ({peer.tid})" if peer.tid else "an interrupt"


def _preemptors(lens: Lens) -> str:
    peers = [
        f"{_name(peer)} ×{format_count(peer.count)}, {format_ns(peer.wait_ns)}" for peer in lens.preemptors[:PEERS]
    ]
    return "Preempted by (and for how long): " + "; ".join(peers) if peers else ""


def _cpus(lens: Lens) -> str:
    if not lens.cpus:
        return "CPUs: it did not run"
    most = sorted(lens.cpus, key=lambda use: -use.run_ns)
    words = [f"{use.cpu}: {format_ns(use.run_ns)} in {format_count(use.timeslices)} slices" for use in most[:PEERS]]
    words += [f"{len(most) - PEERS} more"] if len(most) > PEERS else []
    return "CPUs  " + "   ".join(words)


def _syscalls(lens: Lens) -> str:
    if "syscalls" in lens.unavailable:
        return ""
    if not lens.syscalls:
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
        for call in lens.syscalls[:SYSCALLS]
    ]
    return _titled("System calls by time", len(lens.syscalls), header, rows, left=("call", "errors"))


def _slow_calls(lens: Lens) -> str:
    if not lens.slow_calls:
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
        for call in lens.slow_calls
    ]
    return _titled("Slowest single calls", len(rows), header, rows, left=("call", "result"))


def _ongoing(lens: Lens) -> str:
    if lens.ended or "syscalls" in lens.unavailable:
        return ""
    calls = sorted(lens.ongoing, key=lambda call: call.name)
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


def _faults(lens: Lens) -> str:
    if not lens.faults:
        return ""
    time = "" if lens.faults.time_ns is None else f", {format_ns(lens.faults.time_ns)} to handle them"
    return f"Page faults: {format_count(lens.faults.minor)} minor, {format_count(lens.faults.major)} major{time}"


def _io(lens: Lens) -> str:
    if "io" in lens.unavailable or "syscalls" in lens.unavailable:
        return ""
    if not lens.io:
        return "Reads and writes: none"
    rows = [
        (one.direction, one.kind, format_count(one.count), format_bytes(one.bytes), format_ns(one.time_ns),
         format_count(one.errors))
        for one in lens.io
    ]  # fmt: skip
    return "Reads and writes\n" + table(("", "of", "count", "bytes", "time", "errors"), rows, left=("", "of"))


def _network(lens: Lens) -> str:
    if "network" in lens.unavailable:
        return ""
    if not lens.traffic:
        return "Network: nothing sent or received over TCP or UDP"
    words = [
        f"{one.protocol} over {one.family}: sent {format_bytes(one.sent_bytes)} in {format_count(one.sent_messages)}, "
        f"received {format_bytes(one.received_bytes)} in {format_count(one.received_messages)}"
        for one in lens.traffic
    ]
    return "Network\n  " + "\n  ".join(words)


def _connections(lens: Lens) -> str:
    if not lens.transitions:
        return ""
    by_state = ", ".join(f"{state} {format_count(count)}" for state, count in entered(lens.transitions).items())
    whole = sum(one.count for one in lens.transitions)
    sums = f"Connections: {counts_words(lens.transitions) or 'none opened or closed'}\n  changes to {by_state}"
    header = ("time", "", "from", "to", "local", "remote")
    rows = [
        (format_clock_ms(c.time_ns), c.protocol, c.old, c.new, bound(c.local), bound(c.remote))
        for c in lens.connections[-CHANGES:]
    ]
    left = ("", "from", "to", "local", "remote")
    return f"{sums}\n" + _titled("the last changes", whole, header, rows, left=left)


def bound(address: str) -> str:
    """An address with its port, nothing for one that has none yet."""
    return "-" if address.endswith(":0") else address


def _slow_waits(lens: Lens, threshold_ns: int | None) -> str:
    if threshold_ns is None or "slow waits" in lens.unavailable:
        return ""
    rows = sorted(lens.slow_waits, key=lambda row: -int(row["wait_ns"]))
    lines = [f"  {format_clock_ms(int(row['time_ns']))}  {explain(row)}" for row in rows[:WAITS]]
    title = f"Waits of {format_round_ns(threshold_ns)} and more: {_of(len(lines), len(rows))}"
    return "\n".join([title, *lines])


def _unavailable(lens: Lens) -> str:
    return "\n".join(f"not available: {parts}: {why}" for parts, why in by_reason(lens.unavailable))


def _loss(lens: Lens) -> str:
    lost = [f"{name.replace('_', ' ')}: {count}" for name, count in asdict(lens.loss).items() if count]
    return "lost: " + ", ".join(lost) if lost else "nothing was lost"


def _titled(
    title: str, whole: int, header: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[str] = ()
) -> str:
    lines = list(rows)
    count = "" if len(lines) == whole else f": {_of(len(lines), whole)}"
    return f"{title}{count}\n" + table(header, lines, left=left)


def _of(shown: int, whole: int) -> str:
    return str(whole) if shown == whole else f"{shown} of {whole}"
