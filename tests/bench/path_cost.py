"""Cost of a context switch while the path across tasks is recorded, beside a plain capture; and the memory it takes."""

from __future__ import annotations

import threading
import time
from typing import Any

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.capture.events import Capture
from schedtop.model.source import SourceError
from schedtop.path.paths import find_paths
from schedtop.sources.capture.source import CaptureSource
from tests.bench.attached import Attachment, attachments, path_recording
from tests.bench.batches import alternating, minus
from tests.bench.report import Goal, Options, Table, Topic, number, share
from tests.bench.switch_cost import PIPE_BATCHES, PIPE_LOOPS, QUICK_PIPE_LOOPS, Costs, run_pipe
from tests.bench.tools import NotHere

MOST_NS = 340.0
"""What `schedtop capture` adds to a switch (docs/capture.md): recording the path is to add no more."""

EVENT_BYTES = 32
SWITCHES = 1_000_000
"""Ten seconds of 100,000 a second, which are to fit into 64 MiB."""


def measure(options: Options) -> Topic:
    """Attaches all in turn, `options.rounds` times, and times the ping-pong; then records it once."""
    costs = {attachment.name: Costs() for attachment in _attachments()}
    for attachment in alternating(_attachments(), options.rounds):
        figures = costs[attachment.name]
        if figures.reason:
            continue
        try:
            with attachment.attach() as tend:
                for _ in range(PIPE_BATCHES):
                    tend()
                    run_pipe(figures, QUICK_PIPE_LOOPS if options.quick else PIPE_LOOPS)
        except NotHere as reason:
            figures.reason = str(reason)
    return _topic(costs, _memory(QUICK_PIPE_LOOPS if options.quick else PIPE_LOOPS))


def _attachments() -> list[Attachment]:
    wanted = ("nothing", "floor", "capture_btf")
    known = [attachment for attachment in attachments() if attachment.name in wanted]
    return [*known, Attachment("path", "schedtop path, btf", path_recording)]


def _memory(loops: int) -> dict[str, float]:
    """What a recording of the ping-pong holds, and how long the walk over it takes."""
    load = threading.Thread(target=run_pipe, args=(Costs(), loops))
    try:
        with CaptureSource("btf", path_ns=NS_PER_MS) as source:
            load.start()
            capture: Capture = source.take(NS_PER_S, threading.Event())
    except SourceError:
        return {}
    finally:
        if load.ident:
            load.join()
    counts = capture.counts()
    events = len(capture.events) + len(capture.names) + len(capture.places) + len(capture.held)
    started = time.monotonic()
    paths = find_paths(capture, min_ns=NS_PER_MS)
    seconds = time.monotonic() - started
    return {
        "switches": counts["switches"],
        "events_per_switch": events / max(1, counts["switches"]),
        "lost": capture.lost_total,
        "bytes_for_a_million_switches": events / max(1, counts["switches"]) * EVENT_BYTES * SWITCHES,
        "episodes": len(paths.episodes),
        "walk_s": seconds,
    }


def _topic(costs: dict[str, Costs], memory: dict[str, float]) -> Topic:
    columns = ("attached", "wall, best", "median", "cost", "CPU, best", "median", "cost")
    table = Table("Cost per context switch while the path is recorded: pipe ping-pong on one CPU (ns)", columns)
    base = costs["nothing"]
    for attachment in _attachments():
        figures, cells = costs[attachment.name], []
        for batches, nothing in ((figures.pipe_ns, base.pipe_ns), (figures.pipe_cpu_ns, base.pipe_cpu_ns)):
            cells += [number(batches.best), share(batches.spread_ratio), number(minus(batches.best, nothing.best))]
        table.rows.append((attachment.words, *cells))
        if figures.reason:
            table.notes.append(f"{attachment.words}: {figures.reason}")
    table.notes += [f"{name}: {value:,.2f}" for name, value in memory.items()]
    cost = minus(costs["path"].pipe_cpu_ns.best, base.pipe_cpu_ns.best)
    needs = memory.get("bytes_for_a_million_switches")
    goals = [
        Goal("recording the path adds to a switch (CPU time)", cost, MOST_NS, "ns"),
        Goal("10 s of 100,000 switches a second", needs and needs / (1 << 20), 64, "MiB"),
    ]
    data: dict[str, Any] = {name: figures.to_data() for name, figures in costs.items()}
    return Topic([table], data | {"memory": memory}, goals)
