"""Which source a name on the command line means, and what it takes to open it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from schedtop.base.units import NS_PER_S
from schedtop.model.rows import GROUPS
from schedtop.model.source import Source
from schedtop.sources.choice import AutoSource, may_load_programs
from schedtop.sources.scope import Scope

FIRST_NS = NS_PER_S // 10
"""The dashboard's first interval is at least this: something must be seen soon. The verdict waits for more."""

PROC_FIRST_NS = NS_PER_S // 4
"""That of /proc, which has to read each task."""


def make_source(
    name: str,
    interval_ns: int,
    threshold_ns: int,
    *,
    scope: Scope,
    group: str = "",
    paced: bool = True,
    measured: bool = False,
    sampled: bool = False,
    interrupts: bool = False,
    say: Callable[[str], None] = lambda words: None,
) -> Source:
    """The source of that name, not yet open.

    `scope`: whose waits count; `group`: one of GROUPS, whose histograms are kept; empty: none;
    `paced`: for the eye, so a synthetic one takes as long as a live one, and the first Frame comes soon;
    `measured`: the kernel programs are timed; `sampled`: the run queues are sampled from the beginning; `interrupts`:
    interrupts are timed; `say`: is told when `auto` has to do without privileges.
    """

    grouping = GROUPS[group] if group else ""
    if name == "synthetic":
        # Late, here and below: a run needs one of these sources, and the kernel's takes 20 ms.
        from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource

        cpus = _synthetic_cpus()
        scenario = Scenario(cpus, tasks=max(40, min(2 * cpus, 1000)), interval_ns=interval_ns, frames=1_000_000)
        source = SyntheticSource(scenario, pace_s=interval_ns / NS_PER_S if paced else 0)
        source.set_threshold(threshold_ns)
        source.set_grouping(grouping)
        source.set_sampling(sampled)
        source.set_interrupts(interrupts)
        return source

    of_proc = partial(_of_proc, interval_ns, threshold_ns, PROC_FIRST_NS if paced else None, scope)
    if name == "proc":
        return of_proc()
    from schedtop.sources.scheduler.source import LiveSource  # late, as above

    first_ns = FIRST_NS if paced else None
    # A screen may ask for groups at any time.
    groups = paced or bool(grouping)
    live = LiveSource(interval_ns, threshold_ns, name, first_ns=first_ns, scope=scope, groups=groups)
    live.set_measuring(measured)
    live.set_sampling(sampled)
    live.set_interrupts(interrupts)
    live.set_grouping(grouping)
    return AutoSource(live, of_proc, say) if name == "auto" else live


def _of_proc(interval_ns: int, threshold_ns: int, first_ns: int | None, scope: Scope) -> Source:
    # Late: only where the kernel lets us load no programs.
    from schedtop.sources.proc.source import ProcSource

    return ProcSource(interval_ns, threshold_ns, first_ns=first_ns, scope=scope)


def _synthetic_cpus() -> int:
    """How many CPUs the made-up host of tests and demonstrations has."""
    wanted = os.environ.get("SCHEDTOP_SYNTHETIC_CPUS", "")
    return min(max(int(wanted), 1), 4096) if wanted.isdecimal() else 2


def opening_words(name: str) -> str:
    """What takes time when the source of that name is opened; nothing if it is quick."""
    return "" if name == "synthetic" or is_proc(name) else "compiling the kernel programs"


def is_proc(name: str) -> bool:
    """Whether the source of that name is /proc alone, as far as can be told before it is opened."""

    return name == "proc" or (name == "auto" and not may_load_programs())
