"""The weights of cgroups, as the files of the cpu controller tell them."""

from __future__ import annotations

import os

from schedtop.model.weights import IDLE_WEIGHT, shares_of_cpu_weight


def read_group_weight(directory: str, unified: bool) -> int:
    """The weight of the cgroup of a directory in units of cpu.shares (1024 if nothing was set), 0 if not known.

    Documentation/admin-guide/cgroup-v2.rst: cpu.weight of 100 is 1024 shares; cpu.idle is WEIGHT_IDLEPRIO.
    """
    try:
        if _number(f"{directory}/cpu.idle") == 1:
            return IDLE_WEIGHT
    except (OSError, ValueError):
        pass  # before 5.15
    try:
        if unified:
            return shares_of_cpu_weight(_number(f"{directory}/cpu.weight"))
        return _number(f"{directory}/cpu.shares")
    except (OSError, ValueError):
        return 0


def _number(path: str) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return int(os.read(descriptor, 64))
    finally:
        os.close(descriptor)
