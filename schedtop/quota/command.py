"""The command that sets the quota of a group."""

from __future__ import annotations

import shlex


def quota_command(weight_file: str, path: str, quota_us: int) -> str:
    """Sets a quota, and leaves the period. `weight_file`: of any group, `{}` for its path; empty: not known.

    The files: Documentation/scheduler/sched-bwc.rst (v1) and Documentation/admin-guide/cgroup-v2.rst (cpu.max).
    """
    if not weight_file or not path:
        return f"echo {quota_us} > cpu.max (v1: cpu.cfs_quota_us)"
    directory, _, name = weight_file.replace("{}", path).rpartition("/")
    file = "cpu.cfs_quota_us" if name == "cpu.shares" else "cpu.max"
    return f"echo {quota_us} > {shlex.quote(f'{directory}/{file}')}"
