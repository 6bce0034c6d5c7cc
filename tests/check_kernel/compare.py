"""What schedtop says of tasks beside what the kernel says of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from schedtop.model.frame import Frame, merge
from tests.check_kernel.mix import Truth


@dataclass(frozen=True, slots=True)
class CpuCounts:
    """The kernel's count of switches at a moment: by CPU (perf), and `ctxt`."""

    by_cpu: dict[int, int]
    all_cpus: int


_SWITCHES_SHARE, _SWITCHES_MORE = 0.001, 100
"""The two counts are not read in the same instant."""

_TIMESLICES_MORE = 2
_EXEC_TIMESLICES, _EXEC_WAITS, _EXEC_NS = 10, 3, 20_000_000
"""An exec by a thread: the leader's way to its end and the thread's to the leader's number are in one of the counts."""

_BY_CLOCK_SHARE, _BY_CLOCK_EACH_NS, _BY_CLOCK_MORE_NS = 0.05, 20_000, 2_000_000
"""By our own clock a wait begins at the wakeup, by the kernel's when its clock was last updated: that adds up."""

_RUN_SHARE, _RUN_EACH_NS, _RUN_LESS_NS = 0.01, 10_000, 1_000_000
"""Of a wakeup the kernel's run time has the way to the switch in it, where it does not look at the clock again."""

_EMULATED_EACH_NS, _EMULATED_MORE_NS = 2_000_000, 30_000_000
"""The same ways on an emulated processor, which others of its host may take away meanwhile (docs/kernels.md)."""


def differences(
    frames: Sequence[Frame], truth: dict[int, Truth], by_account: bool, emulated: bool = False
) -> Iterator[str]:
    """Each number that is not the kernel's, in words. `by_account`: run delay has to be equal, not close."""
    frame = merge(frames)
    ours, kernels = frame.total("switches"), frame.kernel_switches or 0
    if abs(ours - kernels) > _SWITCHES_SHARE * kernels + _SWITCHES_MORE:
        yield f"switches of all CPUs: {ours:,}, by ctxt {kernels:,}"
    if count := frame.loss.tasks_untracked:  # those that are evicted have ended, and may be anybody's
        yield f"tasks_untracked: {count}, so what follows may be no fault"
    rows = {int(tid): frame.tasks[frame.tasks["tid"] == tid] for tid in np.unique(frame.tasks["tid"])}
    for tid, kernel in truth.items():
        if tid not in rows:
            if kernel.timeslices:
                yield f"{kernel.comm} {tid}: it was not seen at all"
            continue
        slow_ns = _EMULATED_EACH_NS * kernel.timeslices + _EMULATED_MORE_NS if emulated else 0
        unseen = frame.loss.switches_unseen
        yield from _of_task(f"{kernel.comm} {tid}", rows[tid][-1], kernel, by_account, unseen, slow_ns)
    yield from _eternal(frames[-1], truth)


def kernel_switches() -> int:
    """`ctxt` of /proc/stat."""
    return int(Path("/proc/stat").read_text().partition("\nctxt ")[2].split()[0])


def cpu_differences(frames: Sequence[Frame], first: CpuCounts, last: CpuCounts, cpus: set[int]) -> Iterator[str]:
    """Switches of each of these CPUs that are not perf's. The counts are those of right before and after the Frames."""
    if not frames or not cpus:
        return
    frame = merge(frames)
    # How far the moments of the counters are from those of the Frames, by what happened in between.
    apart = abs(last.all_cpus - first.all_cpus - (frame.kernel_switches or 0))
    ours = frame.cpus.column("switches")
    for cpu in sorted(cpus):
        kernels = last.by_cpu[cpu] - first.by_cpu[cpu]
        if abs(int(ours[cpu]) - kernels) > _SWITCHES_SHARE * kernels + _SWITCHES_MORE + apart:
            yield f"switches of CPU {cpu}: {ours[cpu]:,}, by perf {kernels:,}"


def _of_task(name: str, row: np.void, kernel: Truth, by_account: bool, unseen: int, slow_ns: int) -> Iterator[str]:
    slices, delay = int(row["timeslices"]), int(row["run_delay_ns"])
    # Through tracepoints and by clock a switch that the kernel hides (switches_unseen) may be of any task.
    more = _TIMESLICES_MORE + _EXEC_TIMESLICES * kernel.execs
    missing = more + (0 if by_account else unseen)
    if not -missing <= slices - kernel.timeslices <= more:
        yield f"{name}: {slices:,} timeslices, by schedstat {kernel.timeslices:,}"
    # Ours has in it what the hypervisor and interrupts took. Through tracepoints a slice that the kernel hides is lost.
    least_ns = (1 - _RUN_SHARE) * kernel.run_ns - _RUN_EACH_NS * kernel.timeslices
    least_ns -= _RUN_LESS_NS * (1 + _EXEC_TIMESLICES * kernel.execs) + slow_ns
    if by_account and int(row["run_ns"]) < least_ns:
        yield f"{name}: run time {row['run_ns'] / 1e6:,.3f} ms, by schedstat {kernel.run_ns / 1e6:,.3f} ms"
    allowed = _BY_CLOCK_SHARE * kernel.run_delay_ns + _BY_CLOCK_EACH_NS * kernel.timeslices + _BY_CLOCK_MORE_NS
    # With a hidden switch the whole wait before it is gone, which may be a long one.
    allowed = 0 if by_account else allowed + slow_ns + (2 * int(row["max_wait_ns"]) if unseen else 0)
    allowed += kernel.execs * (_EXEC_WAITS * int(row["max_wait_ns"]) + _EXEC_NS)
    # What a task waits for its quota is no run delay of ours where the kernel tells one from the other.
    if not -allowed - kernel.throttled_ns <= delay - kernel.run_delay_ns <= allowed:
        more_ms = (delay - kernel.run_delay_ns) / 1e6
        yield (
            f"{name}: run delay {delay / 1e6:,.3f} ms, by schedstat {kernel.run_delay_ns / 1e6:,.3f} ms "
            f"({more_ms:+,.3f} ms in {kernel.timeslices:,} timeslices)"
        )


def _eternal(last: Frame, truth: dict[int, Truth]) -> Iterator[str]:
    """At the end the tasks stand still: none of them waits for a CPU."""
    for row in last.tasks:
        if int(row["tid"]) in truth and row["waiting_ns"]:
            waited = row["waiting_ns"] / 1e6
            yield f"{truth[int(row['tid'])].comm} {row['tid']}: it is stopped, and said to wait since {waited:,.0f} ms"
