"""Cost of a context switch while waits are measured with stacks, beside libbpf-tools' offcputime."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from schedtop.model.source import SourceError
from schedtop.offcpu.measurement import Wakers
from schedtop.sources.offcpu.source import LiveOffCpu
from schedtop.sources.scope import Scope
from tests.bench import tools
from tests.bench.attached import Attachment, Tend
from tests.bench.batches import Batches, alternating, minus
from tests.bench.report import Options, Table, Topic, number, share
from tests.bench.switch_cost import PIPE_BATCHES, PIPE_LOOPS, QUICK_PIPE_LOOPS, Costs, run_pipe
from tests.bench.tools import NotHere


def measure(options: Options) -> Topic:
    """Attaches everything in turn, `options.rounds` times, and times the ping-pong; then the same with all detached."""
    costs = {attachment.name: Costs() for attachment in _attachments()}
    detached = Costs()
    for attachment in alternating(_attachments(), options.rounds):
        figures = costs[attachment.name]
        if figures.reason:
            continue
        try:
            with attachment.attach():
                _time(figures, options)
        except NotHere as reason:
            figures.reason = str(reason)
        if attachment.name == "all":
            _time(detached, options)
    return _topic(costs, detached)


def _attachments() -> list[Attachment]:
    ourselves = Scope(tgids=(os.getpid(),))
    return [
        Attachment("nothing", "nothing", _nothing),
        Attachment("all", "schedtop offcpu, all threads, btf", lambda: _offcpu(Scope())),
        Attachment("elsewhere", "schedtop offcpu of another process, btf", lambda: _offcpu(ourselves)),
        Attachment("names", "schedtop, key o, all threads, btf", lambda: _offcpu(Scope(), wakers=Wakers.NAMES)),
        Attachment("wakers", "schedtop offcpu --waker, all, btf", lambda: _offcpu(Scope(), wakers=Wakers.STACKS)),
        Attachment("tracepoint", "schedtop offcpu, all threads, tracepoint", lambda: _offcpu(Scope(), "tracepoint")),
        Attachment("offcputime", "libbpf-tools offcputime, all threads", _offcputime),
        Attachment("offcputime_elsewhere", "libbpf-tools offcputime of another process", _offcputime_elsewhere),
    ]


def _time(figures: Costs, options: Options) -> None:
    for _ in range(PIPE_BATCHES):
        run_pipe(figures, QUICK_PIPE_LOOPS if options.quick else PIPE_LOOPS)


@contextmanager
def _nothing() -> Iterator[Tend]:
    yield lambda: None


@contextmanager
def _offcpu(scope: Scope, front_end: str = "btf", *, wakers: Wakers = Wakers.INTERRUPTS) -> Iterator[Tend]:
    try:
        with LiveOffCpu(scope, source=front_end, wakers=wakers):
            yield lambda: None
    except SourceError as error:
        raise NotHere(str(error)) from error


@contextmanager
def _offcputime() -> Iterator[Tend]:
    with tools.running(tools.offcputime()):
        yield lambda: None


@contextmanager
def _offcputime_elsewhere() -> Iterator[Tend]:
    with tools.running([*tools.offcputime()[:-1], "-p", str(os.getpid()), "600"]):
        yield lambda: None


def _topic(costs: dict[str, Costs], detached: Costs) -> Topic:
    columns = ("attached", "wall, best", "median", "cost", "CPU, best", "median", "cost")
    table = Table("Cost per context switch with stacks: pipe ping-pong on one CPU (ns)", columns)
    base = costs["nothing"]
    for attachment in _attachments():
        figures = costs[attachment.name]
        table.rows.append((attachment.words, *_cells(figures, base)))
        if figures.reason:
            table.notes.append(f"{attachment.words}: {figures.reason}")
    table.rows.append(("schedtop offcpu, detached again", *_cells(detached, base)))
    data: dict[str, Any] = {name: figures.to_data() for name, figures in costs.items()}
    return Topic([table], data | {"detached": detached.to_data()}, [])


def _cells(figures: Costs, base: Costs) -> list[str]:
    def cells(batches: Batches, nothing: Batches) -> list[str]:
        return [number(batches.best), share(batches.spread_ratio), number(minus(batches.best, nothing.best))]

    return [*cells(figures.pipe_ns, base.pipe_ns), *cells(figures.pipe_cpu_ns, base.pipe_cpu_ns)]
