"""The weights of the fair class: of a nice value, a policy, a cgroup.

A weight is a share only beside others: two of 1024 get a half each. Nice 0 has 1024, and a step of one changes the
share by about ten per cent. Source: sched_prio_to_weight and WEIGHT_IDLEPRIO of kernel/sched/core.c and sched.h,
cpu_weight_write_u64() of kernel/sched/core.c, proc_sched_autogroup_set_nice() of kernel/sched/autogroup.c.
"""

from __future__ import annotations

# fmt: off
_OF_NICE = (
    88761, 71755, 56483, 46273, 36291,
    29154, 23254, 18705, 14949, 11916,
     9548,  7620,  6100,  4904,  3906,
     3121,  2501,  1991,  1586,  1277,
     1024,   820,   655,   526,   423,
      335,   272,   215,   172,   137,
      110,    87,    70,    56,    45,
       36,    29,    23,    18,    15,
)
# fmt: on

LEAST_NICE, MOST_NICE = -20, 19

IDLE_WEIGHT = 3
"""Of a task of the policy `idle`, whatever its nice value, and of a cgroup with cpu.idle."""

ORDINARY_WEIGHT = 1024
"""Nice 0, cpu.shares of 1024, cpu.weight of 100."""

LEAST_SHARES, MOST_SHARES = 2, 262_144
MOST_CPU_WEIGHT = 10_000
_ORDINARY_CPU_WEIGHT = 100


def nice_weight(nice: int) -> int:
    """The weight of a nice value, -20..19; what lies beyond counts as the nearest."""
    return _OF_NICE[min(max(nice, LEAST_NICE), MOST_NICE) - LEAST_NICE]


def task_weight(policy: str, nice: int) -> int:
    """The weight of a task of the fair class: `batch` has that of its nice value, too."""
    return IDLE_WEIGHT if policy == "idle" else nice_weight(nice)


def nice_of_weight(weight: float) -> int:
    """The least favourable nice value that gives such a weight at least; -20 if none does."""
    return next((nice for nice in range(MOST_NICE, LEAST_NICE, -1) if nice_weight(nice) >= weight), LEAST_NICE)


def shares_of_cpu_weight(cpu_weight: int) -> int:
    """What `cpu.weight` (v2, 1..10000) is in the unit of all other weights."""
    return max(LEAST_SHARES, (cpu_weight * ORDINARY_WEIGHT + _ORDINARY_CPU_WEIGHT // 2) // _ORDINARY_CPU_WEIGHT)


def cpu_weight_of_shares(shares: float) -> int:
    """The nearest `cpu.weight` to a weight."""
    return min(max(round(shares * _ORDINARY_CPU_WEIGHT / ORDINARY_WEIGHT), 1), MOST_CPU_WEIGHT)
