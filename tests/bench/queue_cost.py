"""What a sample of the run queue costs: the time of the program, and what 99 of them a second are of a CPU."""

from __future__ import annotations

import threading

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.sources.kernel import bpf_syscall as calls
from schedtop.sources.kernel.front_end import SAMPLER, SAMPLING_HZ
from schedtop.sources.scheduler.source import LiveSource
from tests.bench.batches import Batches
from tests.bench.report import Options, Table, Topic, number, share

BATCH_NS = 500 * NS_PER_MS


def measure(options: Options) -> Topic:
    """Batches of half a second, on an otherwise unchanged machine; the kernel times the program."""
    cost = Batches()
    with LiveSource(BATCH_NS, 5 * NS_PER_MS) as source:
        source.set_measuring(True)
        source.set_sampling(True)
        frames = source.frames(threading.Event())
        next(frames)
        for _ in range(2 if options.quick else 4 * options.rounds):
            before = _counted(source)
            next(frames)
            runs, ran_ns = (now - then for now, then in zip(_counted(source), before, strict=True))
            if runs:
                cost.add(ran_ns / runs)
    table = Table(
        "Sampling the run queues, only while somebody looks (ns)",
        ("", "a sample, best", "median", "of a CPU"),
        [("clock_queue", number(cost.best), share(cost.spread_ratio), f"{cost.best * SAMPLING_HZ / NS_PER_S:.4%}")],
        ["the time in the program; the clock's interrupt comes on top of it"],
    )
    return Topic([table], {"sample_ns": cost.to_data()})


def _counted(source: LiveSource) -> tuple[int, int]:
    """Samples so far, and the time that they took."""
    programs = source._programs
    return int(programs.queues["samples"].sum()), calls.ProgramInfo(programs._fds[SAMPLER]).run_ns()
