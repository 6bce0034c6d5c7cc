"""Differences of two readings of the task view's kernel side, as the tables of a TaskFrame. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from schedtop.base.histogram import Histogram
from schedtop.model.rows import Rows, text
from schedtop.model.waits import WokenBy
from schedtop.sources.kernel.constants import TASK
from schedtop.sources.kernel.sockets import address, tcp_state
from schedtop.sources.kernel.syscalls import error_name, errors_between, syscall_name
from schedtop.sources.task.proc import RUNNING, SLEEPING, UNINTERRUPTIBLE
from schedtop.sources.task.programs import TaskReading
from schedtop.task import (
    IO_KINDS,
    STATES,
    ConnectionChange,
    CpuUse,
    Io,
    OngoingCall,
    Peer,
    SlowCall,
    StateTimes,
    Syscall,
    TaskLoss,
    Traffic,
    io_order,
    syscall_order,
)

Times = npt.NDArray[np.int64]

PEER_KINDS = ("wakers", "wakees", "preemptors")
"""`enum peer_kind` of bpf/task/task.h."""

_TRAFFIC = (("tcp", "ipv4"), ("tcp", "ipv6"), ("udp", "ipv4"), ("udp", "ipv6"))
_PROTOCOLS = {6: "tcp", 33: "dccp", 132: "sctp", 262: "mptcp"}

_ADDRESSES = 1 << 32
"""A larger result of a system call is one: that of mmap, of brk."""


def cumulative_states(threads: Rows, now_ns: int) -> Times:
    """Nanoseconds of each thread in each of STATES so far, shape (threads, states): the one under way included."""
    times: Times = threads["state_ns"].astype(np.int64)
    state = threads["state"]
    lives = np.flatnonzero(state < len(STATES))
    times[lives, state[lives]] += np.maximum(now_ns - threads["since_ns"][lives].astype(np.int64), 0)
    return times


def state_times(times: Times) -> StateTimes:
    """A row of nanoseconds in each of STATES as a value."""
    return StateTimes(*(int(ns) for ns in times))


def wait_histogram(earlier: TaskReading, later: TaskReading, ended_epoch: int) -> Histogram:
    """The waits that ended in between; the longest of `ended_epoch`, which is the interval."""
    counts = later.totals["waits"][0].astype(np.int64) - earlier.totals["waits"][0].astype(np.int64)
    total = int(later.totals["wait_ns"][0]) - int(earlier.totals["wait_ns"][0])
    return Histogram(counts, total, _longest(later.totals[0], ended_epoch))


def peers(earlier: TaskReading, later: TaskReading) -> dict[str, tuple[Peer, ...]]:
    """By PEER_KINDS: which task did it how often in between, most often first."""
    before = {_peer_key(row): row for row in earlier.peers}
    found: dict[str, list[Peer]] = {kind: [] for kind in PEER_KINDS}
    for row in later.peers:
        old = before.get(_peer_key(row))
        count, wait = (int(row[name]) - (int(old[name]) if old is not None else 0) for name in ("count", "wait_ns"))
        if count or wait:
            by = WokenBy.known(row["woken_by"]) or WokenBy.TASK
            found[PEER_KINDS[row["kind"]]].append(Peer(int(row["tid"]), text(row["comm"]), count, wait, by))
    return {kind: tuple(sorted(rows, key=lambda peer: (-peer.count, peer.tid))) for kind, rows in found.items()}


def cpu_uses(earlier: TaskReading, later: TaskReading) -> tuple[CpuUse, ...]:
    """What it ran on which CPU, running threads included."""
    run = _run_by_cpu(later) - _run_by_cpu(earlier)
    slices = later.cpus["timeslices"].astype(np.int64) - earlier.cpus["timeslices"].astype(np.int64)
    used = np.flatnonzero((run > 0) | (slices > 0)).tolist()
    return tuple(CpuUse(cpu, max(0, int(run[cpu])), int(slices[cpu])) for cpu in used)


def syscalls(
    earlier: TaskReading, later: TaskReading, names: Mapping[int, str], ended_epoch: int
) -> tuple[Syscall, ...]:
    """What was called in between."""
    blocked = _blocked_by_call(later) - _blocked_by_call(earlier)
    counts = later.calls["count"].astype(np.int64) - earlier.calls["count"].astype(np.int64)
    errors = errors_between(earlier.errors, later.errors)
    found = []
    for number in np.flatnonzero((counts > 0) | (blocked > 0)).tolist():
        row = later.calls[number]
        found.append(
            Syscall(
                number,
                syscall_name(number, names),
                int(counts[number]),
                int(row["total_ns"]) - int(earlier.calls["total_ns"][number]),
                _longest(row, ended_epoch),
                max(0, int(blocked[number])),
                MappingProxyType(errors.get(number, {})),
            )
        )
    return tuple(sorted(found, key=syscall_order))


def ongoing_calls(reading: TaskReading, names: Mapping[int, str]) -> tuple[OngoingCall, ...]:
    """The calls that threads are in, longest first."""
    found = []
    for row in reading.threads[(reading.threads["call"] != TASK.NO_CALL) & (reading.threads["state"] < len(STATES))]:
        known, number = bool(row["call_enter_ns"]), int(row["call"])
        start = int(row["call_enter_ns"]) if known else int(row["since_ns"])
        duration = max(0, reading.time_ns - start)
        found.append(OngoingCall(int(row["tid"]), number, syscall_name(number, names), duration, not known))
    return tuple(sorted(found, key=lambda call: -call.duration_ns))


def slow_calls(rows: Rows, names: Mapping[int, str], clock_offset_ns: int) -> tuple[SlowCall, ...]:
    """Rows of `struct task_slow_call` as values; `clock_offset_ns`: wall clock less CLOCK_MONOTONIC."""
    return tuple(
        SlowCall(
            int(row["end_ns"]) + clock_offset_ns,
            int(row["tid"]),
            int(row["call"]),
            syscall_name(int(row["call"]), names),
            int(row["duration_ns"]),
            int(row["blocked_ns"]),
            _number(int(row["result"])),
            error_name(-int(row["result"])) if -TASK.MOST_ERRNO <= row["result"] < 0 else "",
        )
        for row in rows
    )


def _number(result: int) -> int | None:
    return result if abs(result) < _ADDRESSES else None


def io(earlier: TaskReading, later: TaskReading) -> tuple[Io, ...]:
    """Reads and writes in between, by kind of descriptor."""
    found = []
    for index, (old, new) in enumerate(zip(earlier.io, later.io, strict=True)):
        change = {name: int(new[name]) - int(old[name]) for name in ("count", "bytes", "time_ns", "errors")}
        if change["count"]:
            found.append(Io(IO_KINDS[index % len(IO_KINDS)], ("read", "write")[index // len(IO_KINDS)], **change))
    return tuple(sorted(found, key=io_order))


def traffic(earlier: TaskReading, later: TaskReading) -> tuple[Traffic, ...]:
    """What was sent and received in between."""
    names = ("sent_bytes", "sent_messages", "received_bytes", "received_messages")
    found = []
    for kind, old, new in zip(_TRAFFIC, earlier.traffic, later.traffic, strict=True):
        change = {name: int(new[name]) - int(old[name]) for name in names}
        if any(change.values()):
            found.append(Traffic(*kind, *change.values()))
    return tuple(found)


def connection_changes(rows: Rows, clock_offset_ns: int) -> tuple[ConnectionChange, ...]:
    """Rows of `struct tcp_change` as values."""
    return tuple(
        ConnectionChange(
            int(row["time_ns"]) + clock_offset_ns,
            _PROTOCOLS.get(int(row["protocol"]), f"protocol {row['protocol']}"),
            tcp_state(int(row["old_state"])),
            tcp_state(int(row["new_state"])),
            address(int(row["family"]), row["local"].tobytes(), int(row["local_port"])),
            address(int(row["family"]), row["remote"].tobytes(), int(row["remote_port"])),
        )
        for row in rows
    )


def loss(earlier: TaskReading, later: TaskReading, calls_lost: int, changes_lost: int) -> TaskLoss:
    """What was lost in between."""

    def change(name: str) -> int:
        return int(later.totals[name][0]) - int(earlier.totals[name][0])

    return TaskLoss(
        threads_untracked=change("threads_untracked"),
        peers_untracked=change("peers_untracked"),
        errors_untracked=change("errors_untracked"),
        slow_calls_overwritten=calls_lost,
        connections_overwritten=changes_lost,
        events_missed=later.misses - earlier.misses,
        negative_times=change("negative_times"),
        switches_unseen=change("switches_unseen"),
    )


def _longest(row: Rows, epoch: int) -> int:
    parity = epoch & 1
    return int(row["longest_ns"][parity]) if int(row["longest_epoch"][parity]) == epoch else 0


def _peer_key(row: Rows) -> tuple[int, int, int, bytes]:
    return int(row["tid"]), int(row["kind"]), int(row["woken_by"]), bytes(row["comm"])


def _run_by_cpu(reading: TaskReading) -> Times:
    run: Times = reading.cpus["run_ns"].astype(np.int64)
    rows = reading.threads[(reading.threads["state"] == RUNNING) & (reading.threads["cpu_and_one"] > 0)]
    np.add.at(run, rows["cpu_and_one"].astype(np.int64) - 1, _since(rows, reading.time_ns))
    return run


def _blocked_by_call(reading: TaskReading) -> Times:
    blocked: Times = reading.calls["blocked_ns"].astype(np.int64)
    state, call = reading.threads["state"], reading.threads["call"]
    rows = reading.threads[((state == SLEEPING) | (state == UNINTERRUPTIBLE)) & (call != TASK.NO_CALL)]
    began = np.maximum(rows["since_ns"], rows["call_enter_ns"]).astype(np.int64)  # as account() of bpf/task/task.h
    np.add.at(blocked, rows["call"].astype(np.int64), np.maximum(reading.time_ns - began, 0))
    return blocked


def _since(rows: Rows, now_ns: int) -> Times:
    return np.maximum(now_ns - rows["since_ns"].astype(np.int64), 0)
