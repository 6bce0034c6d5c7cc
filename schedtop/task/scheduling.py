"""How a task came to run: what woke it and took its CPU, where it ran, and how it is to be treated."""

from __future__ import annotations

from dataclasses import dataclass, replace

from schedtop.model.waits import WokenBy


@dataclass(frozen=True, slots=True)
class Peer:
    """Another task, and how often it woke the task, was woken by it, or took its CPU.

    `wait_ns`: of a preemptor, how long the task then waited until it ran again; of others 0. A waker's tid of 0 is no
    task: an interrupt, or what it leaves to be done afterwards (softirq), as `woken_by` says. A task woken by a softirq
    in the task's time may have been woken on its behalf, or not.
    """

    tid: int
    comm: str
    count: int
    wait_ns: int = 0
    woken_by: WokenBy = WokenBy.TASK

    def __add__(self, later: Peer) -> Peer:
        return replace(later, count=self.count + later.count, wait_ns=self.wait_ns + later.wait_ns)

    @property
    def source(self) -> str:
        """The word for what woke the task: an idle CPU is woken by interrupts alone."""
        return (self.woken_by if self.woken_by or self.tid else WokenBy.INTERRUPT).label

    def words(self, name: str) -> str:
        """`name (tid)`, or what else it is; `name`: its own, as it may be shown."""
        if not self.tid:
            return "an interrupt (softirq)" if self.woken_by is WokenBy.SOFTIRQ else "an interrupt"
        return f"{name} ({self.tid}, softirq)" if self.woken_by is WokenBy.SOFTIRQ else f"{name} ({self.tid})"


@dataclass(frozen=True, slots=True)
class CpuUse:
    """Run time on one CPU, and how often a thread came to run there."""

    cpu: int
    run_ns: int
    timeslices: int

    def __add__(self, later: CpuUse) -> CpuUse:
        return CpuUse(self.cpu, self.run_ns + later.run_ns, self.timeslices + later.timeslices)


@dataclass(frozen=True, slots=True)
class Quota:
    """The CPU quota of its cgroup, or the first one above that has one: `quota_ns` in each `period_ns`.

    `periods` and `throttled_periods` of the interval, `throttled_ns` summed over the CPUs: of the whole group.
    """

    cgroup: str
    quota_ns: int
    period_ns: int
    periods: int = 0
    throttled_periods: int = 0
    throttled_ns: int = 0

    def __add__(self, later: Quota) -> Quota:
        if self.cgroup != later.cgroup:
            return later
        sums = ("periods", "throttled_periods", "throttled_ns")
        return replace(later, **{name: getattr(self, name) + getattr(later, name) for name in sums})


@dataclass(frozen=True, slots=True)
class Attributes:
    """How the scheduler is told to treat it, as of the end of the interval; of a process, its leader.

    `affinity`: a list of CPUs as `taskset -c` takes it, `allowed_cpus` how many they are. `policy`: `other`, `fifo`,
    `rr`, `batch`, `idle`, `deadline`, `ext`; `rt_priority` 0 unless fifo or rr; `nice` -20..19. `cgroup`: its path in
    the hierarchy of the cpu controller, empty if unknown. `sched_class`: one of SCHED_CLASSES; `weight`: its own, of a
    fair task, `cgroup_weight`: that of its cgroup, in shares (1024 if nothing is set); `slice_ns`: for how long the
    fair class lets it run at a time; `None`: none, or not known.
    """

    affinity: str
    allowed_cpus: int
    policy: str
    rt_priority: int
    nice: int
    cgroup: str
    quota: Quota | None = None
    sched_class: str = ""
    weight: int | None = None
    cgroup_weight: int | None = None
    slice_ns: int | None = None
