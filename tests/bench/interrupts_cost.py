"""What timing interrupts costs: the time of the programs, and what a packet over loopback takes more with them."""

from __future__ import annotations

import os
import socket
import time
from contextlib import nullcontext

from schedtop.base.units import NS_PER_S
from schedtop.sources.host.proc import possible_cpus
from schedtop.sources.interrupts.reader import InterruptReader, InterruptReading, difference
from schedtop.sources.kernel import bpf_syscall as calls
from tests.bench.batches import Batches, alternating, minus
from tests.bench.report import Options, Table, Topic, number, share

PACKETS, QUICK_PACKETS = 50_000, 20_000
QUIET_S = 2.0


def measure(options: Options) -> Topic:
    """Floods of loopback with nothing attached and with interrupts timed, in turn; then the programs' own time."""
    packets = QUICK_PACKETS if options.quick else PACKETS
    costs = {name: Batches() for name in ("off", "on", "off again")}
    for name in alternating(list(costs), options.rounds):
        with _reader() if name == "on" else nullcontext():
            for _ in range(4):
                costs[name].add(flood(packets))
    program_ns, hz = Batches(), 0.0
    with _reader() as reader:
        statistics = calls.enable_stats()
        try:
            for _ in range(max(3, options.rounds)):
                before, ran_ns = reader.read(1), reader.run_ns()
                flood(packets)
                if count := _count(before, reader.read(1)):
                    program_ns.add((reader.run_ns() - ran_ns) / count)
            before = reader.read(1)
            time.sleep(QUIET_S)
            hz = _count(before, reader.read(1)) / QUIET_S / len(os.sched_getaffinity(0))
        finally:
            os.close(statistics)
    base = costs["off"]
    table = Table(
        "Timing interrupts: a packet over loopback on one CPU, sent and received (ns)",
        ("", "best", "median", "cost"),
        [
            (name, number(one.best), share(one.spread_ratio), number(minus(one.best, base.best)))
            for name, one in costs.items()
        ],
        ["a packet is one softirq, NET_RX"],
    )
    per_s = (program_ns.best or 0.0) * hz / NS_PER_S
    programs = Table(
        "The two programs of an interrupt, as the kernel times them (ns)",
        ("", "an interrupt, best", "median", "quiet host", "of each CPU"),
        [("begin and end", number(program_ns.best), share(program_ns.spread_ratio), f"{hz:,.0f}/s", f"{per_s:.4%}")],
        ["that the kernel times them is in it, about 40 ns a program"],
    )
    data = {
        **{name.replace(" ", "_"): one.to_data() for name, one in costs.items()},
        "program_ns": program_ns.to_data(),
    }
    return Topic([table, programs], data | {"quiet_hz": hz})


def _reader() -> InterruptReader:
    return InterruptReader(possible_cpus(), None, 1)


def _count(earlier: InterruptReading, later: InterruptReading) -> int:
    table = difference(earlier, later)
    return int(table.counts.sum()) if table else 0


def flood(packets: int) -> float:
    """Nanoseconds a packet takes, sent and received by this process on one CPU."""
    allowed = os.sched_getaffinity(0)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as us,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as them,
    ):
        them.bind(("127.0.0.1", 0))
        us.connect(them.getsockname())
        os.sched_setaffinity(0, {max(allowed)})
        try:
            send, receive, data = us.send, them.recv, b"x" * 64
            began = time.perf_counter_ns()
            for _ in range(packets):
                send(data)
                receive(64)
            return (time.perf_counter_ns() - began) / packets
        finally:
            os.sched_setaffinity(0, allowed)
